"""How good a ranking of documents is: the measures of trec_eval, and MRR as BEIR defines it."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping
from itertools import accumulate
from math import log2
from typing import Literal, NamedTuple, get_args

from pytest_heta.errors import DataError
from pytest_heta.evaluators.checks import check_cutoff, check_known
from pytest_heta.keys import document_id_of, document_id_of_key, safe_document_id
from pytest_heta.records import BenchmarkCase, BenchmarkEvidence, EvaluationScore, QueryResponse, QueryResult

RankingMeasure = Literal["ndcg", "map", "recall", "precision", "mrr"]
RANKING_MEASURES: tuple[RankingMeasure, ...] = get_args(RankingMeasure)

# An id that is its own safe form, and one that is the safe form of another.
_PLAIN = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,149}")
_ESCAPED = re.compile(r"(?!\.)(?=.{1,150}$)(?:[A-Za-z0-9._-]|=[0-9A-F]{2}|=~[0-9a-f]{64})+")
_BOTH_IDS = {"beir_doc_id", "beir_document_id"}


class JudgedRanking(NamedTuple):
    """Where the relevant documents stand in one ranking; all measures at all cut-offs follow from it.

    ``ranks`` (1-based, ascending) has one entry for each relevant document that was found, as have the cumulative
    ``precisions`` (at those ranks) and ``dcg``; the cumulative ``ideal_dcg`` has one for each that exists.
    """

    ranks: list[int]
    precisions: list[float]
    dcg: list[float]
    ideal_dcg: list[float]

    @classmethod
    def judge(cls, gains: Mapping[str, float], ranking: Iterable[str]) -> JudgedRanking:
        """Judge distinct documents, best first, by grades; a grade <= 0 or none is not relevant."""
        relevant = {document: gain for document, gain in gains.items() if gain > 0}
        ranks = [(rank, relevant[document]) for rank, document in enumerate(ranking, 1) if document in relevant]
        ideal = enumerate(sorted(relevant.values(), reverse=True), 1)
        return cls(
            ranks=[rank for rank, _ in ranks],
            precisions=list(accumulate(nth / rank for nth, (rank, _) in enumerate(ranks, 1))),
            dcg=list(accumulate(gain / log2(rank + 1) for rank, gain in ranks)),
            ideal_dcg=list(accumulate(gain / log2(rank + 1) for rank, gain in ideal)),
        )

    def value(self, metric: RankingMeasure, k: int) -> float:
        """Return one measure at cut-off ``k``, in [0, 1]; 0 where no relevant document is within it."""
        found, relevant = bisect_right(self.ranks, k), len(self.ideal_dcg)
        if not found:
            return 0.0
        if metric == "ndcg":
            return self.dcg[found - 1] / self.ideal_dcg[min(k, relevant) - 1]
        if metric == "map":
            return self.precisions[found - 1] / relevant
        if metric == "recall":
            return found / relevant
        return found / k if metric == "precision" else 1 / self.ranks[0]


def ranking_measure(metric: RankingMeasure, gains: Mapping[str, float], ranking: Iterable[str], k: int) -> float:
    """Return one measure, in [0, 1], of the first ``k`` documents of ``ranking`` (best first).

    ``gains`` maps a document to its grade; a grade <= 0 is not relevant. A document that comes again is ignored.
    ``ndcg``, ``map``, ``recall`` and ``precision`` are trec_eval's ``ndcg_cut`` (linear gain, discount log2(rank + 1)),
    ``map_cut`` (divided by the number of all relevant documents), ``recall`` and ``P`` (divided by ``k``, however few
    were found); ``mrr`` is BEIR's: the reciprocal rank of the first relevant document within ``k``.

    Raises:
        UnknownNameError: There is no such metric.
        UsageError: ``k`` is not positive.
    """
    _check(metric, k)
    return JudgedRanking.judge(gains, dict.fromkeys(ranking)).value(metric, k)


def rank_documents(case: BenchmarkCase, response: QueryResponse, drop_query_id: bool = True) -> list[str]:
    """Return the distinct documents of a response in rank order, by their safe ids.

    A hit that names no document keeps its place as ``?{hit id}``, so that nothing below it rises. With
    ``drop_query_id`` the document that has the case's own id is left out.
    """
    own = case.case_id if _PLAIN.fullmatch(case.case_id) else safe_document_id(case.case_id)
    aliases = _aliases(case)
    aliases[case.case_id] = own
    ranking: dict[str, None] = {}
    for result in response.results:
        found = document_id_of(result)
        if found is None:
            found = f"?{result.id}"
        elif (alias := aliases.get(found, found)) != found and not _names_key(result):
            found = alias
        elif not _PLAIN.fullmatch(found):
            found = _safe_form(found)
        ranking[found] = None
    if drop_query_id:
        ranking.pop(own, None)
    return list(ranking)


def relevant_documents(case: BenchmarkCase) -> dict[str, float]:
    """Return the grade of each relevant document (safe form): evidence metadata ``relevance``, by default 1.

    Of several evidences for one document the highest grade counts; a grade <= 0 and evidence without a document
    never do.

    Raises:
        DataError: A grade is not a number.
    """
    gains: dict[str, float] = {}
    for evidence in case.expected.evidence:
        document, grade = _evidence_document(evidence), evidence.metadata.get("relevance", 1)
        if not isinstance(grade, int | float):
            raise DataError(f"case {case.case_id!r}: relevance must be a number, not {grade!r}")
        if document is not None and grade > 0:
            gains[document] = max(grade, gains.get(document, 0))
    return gains


class BeirRetrievalMetric:
    """One trec_eval measure on the ranking of distinct documents, named ``beir_{metric}@{k}``.

    Chunk hits stand for their documents, each at its best place in the KB's order; ties are not broken anew. For the
    formulas see ``ranking_measure``. ``drop_query_id`` leaves the document with the query's own id out before the cut,
    as BEIR does. A case without a relevant document is unscored.

    Raises:
        UnknownNameError: There is no such metric.
        UsageError: ``k`` is not positive.
    """

    distinct_documents = True

    def __init__(self, metric: RankingMeasure, k: int, drop_query_id: bool = True) -> None:
        _check(metric, k)
        self.metric: RankingMeasure = metric
        self.k, self.drop_query_id = k, drop_query_id
        self.name = f"beir_{metric}@{k}"

    @property
    def definition(self) -> str:
        """Everything that changes the values."""
        own = "dropped" if self.drop_query_id else "kept"
        return (
            f"{self.name}: trec_eval (mrr: BEIR), linear gain, distinct documents, document with the query's id {own}"
        )

    async def evaluate(self, *, case: BenchmarkCase, response: QueryResponse) -> EvaluationScore:
        """Return the measure, in [0, 1]."""
        judged = _judgements.judge(case, response, self.drop_query_id)
        if not judged.ideal_dcg:
            return EvaluationScore.unscored(self.name, "the case has no relevant document")
        return EvaluationScore(name=self.name, value=judged.value(self.metric, self.k))


class _LastJudgement:
    """Remembers the newest judgement: the metrics of one response follow each other and share its ranking.

    The slot is one tuple that holds the objects themselves, so that an identity cannot be taken over by another object
    and a thread sees either the old or the new one.
    """

    def __init__(self) -> None:
        self._slot: tuple[BenchmarkCase, QueryResponse, bool, JudgedRanking] | None = None

    def judge(self, case: BenchmarkCase, response: QueryResponse, drop_query_id: bool) -> JudgedRanking:
        slot = self._slot
        if slot is not None and slot[1] is response and slot[0] is case and slot[2] is drop_query_id:
            return slot[3]
        judged = JudgedRanking.judge(relevant_documents(case), rank_documents(case, response, drop_query_id))
        self._slot = (case, response, drop_query_id, judged)
        return judged


_judgements = _LastJudgement()


def _check(metric: str, k: int) -> None:
    check_known("ranking metric", metric, RANKING_MEASURES)
    check_cutoff(metric, k)


def _evidence_document(evidence: BenchmarkEvidence) -> str | None:
    """Return the safe id of the document that evidence is about, if it is about one."""
    locator = evidence.locator
    if "beir_document_id" in evidence.metadata:
        return str(evidence.metadata["beir_document_id"])
    for field in ("source_key", "object_key", "source_key_prefix"):
        found = document_id_of_key(str(locator.get(field, "")))
        if found is not None:
            return found
    named = locator.get("document_id", evidence.reference_id)
    return None if named is None else _safe_form(str(named))


def _aliases(case: BenchmarkCase) -> dict[str, str]:
    """Map the original ids of gold documents, where they are known, to the safe forms."""
    known = (evidence.metadata for evidence in case.expected.evidence)
    return {str(ids["beir_doc_id"]): str(ids["beir_document_id"]) for ids in known if ids.keys() >= _BOTH_IDS}


def _names_key(result: QueryResult) -> bool:
    """Tell whether the hit's document id comes from a raw key, where it can only be a safe form."""
    keys = (place.get(field) for place in (result.source, result.metadata) for field in ("source_key", "object_key"))
    return any(document_id_of_key(str(key or "")) for key in keys)


def _safe_form(document_id: str) -> str:
    """Return the safe form of an id that may be one already."""
    is_safe = _PLAIN.fullmatch(document_id) or _ESCAPED.fullmatch(document_id)
    return document_id if is_safe else safe_document_id(document_id)
