"""The report in TREC's formats, so that trec_eval and its kin can score it again.

Scored with trec_eval's ``-c`` (a query without a ranking counts 0) these files give the report's means.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from pytest_heta.errors import ReportError
from pytest_heta.evaluators.ranking import rank_documents, relevant_documents
from pytest_heta.keys import original_document_id, safe_document_id
from pytest_heta.records import (
    BenchmarkCase,
    BenchmarkEvidence,
    BenchmarkExpected,
    EvaluationCaseResult,
    EvaluationReport,
    GoldLabel,
    QueryResponse,
    QueryResult,
)
from pytest_heta.reports.quantities import cases_of
from pytest_heta.reports.text import recipe_name
from pytest_heta.reports.whole_file import write_whole

_SPACE = re.compile(r"\s")


class TrecIds:
    """What queries and documents of a report are called in its TREC files: by their original ids.

    TREC's columns are parted by white space. Where any id of a kind holds some, all ids of that kind are written in
    their safe form, so that no two can collide. A case id that several run units share follows its unit's id.
    """

    def __init__(self, report: EvaluationReport) -> None:
        self._known = {
            gold.document_id: gold.original_id
            for case in report.cases
            for gold in case.gold
            if gold.document_id is not None and gold.original_id is not None
        }
        units = {(case.unit_id, case.case_id) for case in report.cases}
        self._with_unit = len(units) > len({case_id for _, case_id in units})
        self._safe_queries = any(map(_SPACE.search, (text for unit in units for text in unit)))
        self._safe_documents = any(_SPACE.search(self._original(document)) for document in _documents(report))

    def query(self, case: EvaluationCaseResult) -> str:
        """Return the name of a case."""
        name = f"{case.unit_id}:{case.case_id}" if self._with_unit else case.case_id
        return safe_document_id(name) if self._safe_queries else name

    def document(self, document_id: str) -> str:
        """Return the name of a document, of which ``document_id`` is the id in the report."""
        if self._safe_documents:
            return safe_document_id(document_id) if _SPACE.search(document_id) else document_id
        return self._original(document_id)

    def _original(self, document_id: str) -> str:
        return self._known.get(document_id) or original_document_id(document_id)


def _documents(report: EvaluationReport) -> set[str]:
    found = {hit.document_id or hit.id for case in report.cases for hit in case.hits}
    return found | {gold.document_id for case in report.cases for gold in case.gold if gold.document_id is not None}


def write_run(path: Path, report: EvaluationReport, others: Sequence[EvaluationReport]) -> tuple[Path, ...]:
    """Write the rankings, ``query Q0 document rank score tag``: of one mode to ``path``, of several to one file a mode
    (``name.{mode}.run``).

    The rankings are those that the ranking metrics judge: distinct documents, without the one that has the query's own
    id. Scores fall strictly, also as the 32-bit floats that trec_eval compares: where the knowledge base's do not, the
    next lower float is written, so that the order stays the knowledge base's.

    Raises:
        ReportError: A file cannot be written.
    """
    ids, several = TrecIds(report), len(report.query_modes) > 1
    names = [f".{safe_document_id(mode)}{path.suffix}" if several else path.suffix for mode in report.query_modes]
    paths = [path.with_suffix(name) for name in names]
    for target, mode in zip(paths, report.query_modes, strict=True):
        tag = _SPACE.sub("_", f"{recipe_name(report)}-{mode}")
        write_whole(target, (line.encode() for case in cases_of(report, mode) for line in _run_lines(case, ids, tag)))
    return tuple(paths)


def _run_lines(case: EvaluationCaseResult, ids: TrecIds, tag: str) -> Iterator[str]:
    documents = rank_documents(_case_of(case), _response_of(case))
    best: dict[str, float | None] = {}
    for hit in case.hits:
        best.setdefault(hit.document_id or f"?{hit.id}", hit.score)
    scores = strictly_falling([best.get(document) for document in documents])
    query = ids.query(case)
    for rank, (document, score) in enumerate(zip(documents, scores, strict=True), 1):
        yield f"{query} Q0 {ids.document(document)} {rank} {score:.9g} {tag}\n"


def strictly_falling(scores: Sequence[float | None]) -> list[float]:
    """Return 32-bit floats in strictly falling order, equal to the given scores where those fall.

    Where a score is missing or beyond the range of such floats, all are replaced by the ranks from the end: n, …, 1.
    """
    import numpy as np

    largest = float(np.finfo(np.float32).max)
    given = [score for score in scores if score is not None and math.fabs(score) <= largest / 2]
    if len(given) < len(scores):
        return [float(place) for place in range(len(scores), 0, -1)]
    falling: list[float] = []
    lowest = np.float32(np.inf)
    for score in given:
        lowest = min(np.float32(score), np.nextafter(lowest, np.float32(-np.inf)))
        falling.append(float(lowest))
    return falling


def write_qrels(path: Path, report: EvaluationReport, others: Sequence[EvaluationReport]) -> tuple[Path, ...]:
    """Write the gold labels that name a document, ``query 0 document grade``, of all cases that were run.

    Raises:
        ReportError: The file cannot be written.
    """
    ids = TrecIds(report)
    ran = {(case.unit_id, case.case_id): case for case in report.cases if case.status != "not_run"}
    write_whole(path, (line.encode() for case in ran.values() for line in _qrels_lines(case, ids)))
    return (path,)


def _qrels_lines(case: EvaluationCaseResult, ids: TrecIds) -> Iterable[str]:
    query = ids.query(case)
    for document, grade in relevant_documents(_case_of(case)).items():
        if grade != int(grade):
            raise ReportError(f"case {case.case_id}: TREC qrels hold whole grades only, not {grade:g} ({document})")
        yield f"{query} 0 {ids.document(document)} {int(grade)}\n"


def _case_of(case: EvaluationCaseResult) -> BenchmarkCase:
    """Return as much of the case as the ranking metrics look at."""
    evidence = tuple(_evidence(gold) for gold in case.gold if gold.document_id)
    return BenchmarkCase(case_id=case.case_id, query=case.query or "?", expected=BenchmarkExpected(evidence=evidence))


def _evidence(gold: GoldLabel) -> BenchmarkEvidence:
    ids = {"beir_doc_id": gold.original_id, "beir_document_id": gold.document_id} if gold.original_id else {}
    return BenchmarkEvidence(reference_id=gold.document_id, metadata={"relevance": gold.relevance, **ids})


def _response_of(case: EvaluationCaseResult) -> QueryResponse:
    results = (
        QueryResult(id=hit.id, source={"document_id": hit.document_id} if hit.document_id else {}) for hit in case.hits
    )
    return QueryResponse(mode=case.mode, results=tuple(results))
