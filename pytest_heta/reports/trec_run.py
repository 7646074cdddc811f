"""A TREC run scored with our evaluators, so that they can be checked on public runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from pytest_heta.datasets.lines import read_lines
from pytest_heta.datasets.qrels import read_qrels
from pytest_heta.errors import DataError
from pytest_heta.evaluators.ranking import BeirRetrievalMetric
from pytest_heta.records import (
    BenchmarkCase,
    BenchmarkEvidence,
    BenchmarkExpected,
    BenchmarkManifest,
    EvaluationCaseResult,
    EvaluationError,
    EvaluationReport,
    GoldLabel,
    QueryResponse,
    QueryResult,
    RankedHit,
)
from pytest_heta.reports.aggregate import latency_summary, summarize_scores

UNIT = "corpus"
MODE = "run"

Ranking = list[tuple[str, float]]
"""Documents and their scores, best first."""


def read_run(path: Path) -> dict[str, Ranking]:
    """Return the ranking of each query of a TREC run file (``query Q0 document rank score tag``).

    Documents are ordered as trec_eval does it: by score as a 32-bit float, then by id, both falling; the rank in the
    file means nothing.

    Raises:
        DataError: The file cannot be read, is empty, a line is malformed or a query ranks a document twice.
    """
    import numpy as np

    found: dict[str, dict[str, float]] = {}
    for line, text in read_lines(path):
        fields = text.split()
        if len(fields) != 6:
            raise DataError.at(
                path, line, f"expected query, Q0, document, rank, score, tag, found {len(fields)} columns"
            )
        query_id, document, score = fields[0], fields[2], _score(path, line, fields[4])
        ranking = found.setdefault(query_id, {})
        if document in ranking:
            raise DataError.at(path, line, f"query {query_id!r} has document {document!r} twice")
        ranking[document] = float(np.float32(score))
    if not found:
        raise DataError.at(path, None, "holds no ranking")
    return {
        query_id: sorted(ranking.items(), key=lambda pair: (pair[1], pair[0]), reverse=True)
        for query_id, ranking in found.items()
    }


def _score(path: Path, line: int, text: str) -> float:
    try:
        score = float(text)
    except ValueError:
        raise DataError.at(path, line, f"score {text!r} is not a number") from None
    if score != score or abs(score) > 3.4e38:
        raise DataError.at(path, line, f"score {text!r} is not a finite 32-bit float")
    return score


async def score_run(qrels: Path, run: Path, metrics: Sequence[BeirRetrievalMetric]) -> EvaluationReport:
    """Return the report of a run: a case for each judged query, errored where the run does not rank for it.

    Its means are thus those of ``trec_eval -c``; over the scored cases alone (``official_summary``) those of trec_eval.
    A query that is ranked but not judged plays no part.

    Raises:
        DataError: A file cannot be read or is malformed.
    """
    judged, rankings = read_qrels(qrels), read_run(run)
    cases = [await _result(query_id, grades, rankings.get(query_id), metrics) for query_id, grades in judged.items()]
    names = [metric.name for metric in metrics]
    summary, counts = summarize_scores(cases, (MODE,), names)
    return EvaluationReport(
        report_id=f"score-{run.name}",
        created_at="",
        knowledge_base_name=run.name,
        benchmark=BenchmarkManifest(
            name=qrels.name, version="qrels", split="all", task_type="retrieval", build_scope="corpus"
        ),
        recipe={"name": run.name},
        query_modes=(MODE,),
        metrics=tuple(names),
        score_summary=summary,
        counts=counts,
        latency=latency_summary(cases, (MODE,)),
        cases=tuple(cases),
        selection={"unjudged_queries": len(rankings.keys() - judged.keys())},
    )


async def _result(
    query_id: str, grades: Mapping[str, int], ranking: Ranking | None, metrics: Sequence[BeirRetrievalMetric]
) -> EvaluationCaseResult:
    gold = tuple(GoldLabel(document_id=document, relevance=grade) for document, grade in grades.items() if grade > 0)
    if ranking is None and gold:
        error = EvaluationError(message="the run ranks nothing for this query", error_type="NoRanking")
        return EvaluationCaseResult(unit_id=UNIT, case_id=query_id, mode=MODE, status="errored", gold=gold, error=error)
    evidence = tuple(
        BenchmarkEvidence(reference_id=document, metadata={"relevance": grade}) for document, grade in grades.items()
    )
    case = BenchmarkCase(case_id=query_id, query=query_id, expected=BenchmarkExpected(evidence=evidence))
    hits = tuple(RankedHit(id=document, document_id=document, score=score) for document, score in ranking or ())
    response = QueryResponse(mode=MODE, results=tuple(QueryResult(id=hit.id, kind="document") for hit in hits))
    scores = [await metric.evaluate(case=case, response=response) for metric in metrics]
    return EvaluationCaseResult(
        unit_id=UNIT, case_id=query_id, mode=MODE, status="finished", scores=tuple(scores), hits=hits, gold=gold
    )
