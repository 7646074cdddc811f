"""The figures of MultiHop-RAG (Tang and Yang 2024, arXiv:2401.15391): retrieval of facts, and word-overlap answers.

``official`` counts as the scripts of the paper do; ``strict`` mends what is odd in them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal, get_args

from pytest_heta.evaluators.checks import ScoringMode, check_cutoff, check_known, check_mode, suffix_of
from pytest_heta.evaluators.evidence import Hit
from pytest_heta.evaluators.texts import squeeze, whole_tokens
from pytest_heta.records import BenchmarkCase, BenchmarkEvidence, EvaluationScore, QueryResponse, QueryResult

MultiHopMeasure = Literal["hits", "map", "mrr"]
MULTIHOP_MEASURES: tuple[MultiHopMeasure, ...] = get_args(MultiHopMeasure)

_QUOTED_ANSWER = re.compile(r'The answer to the question is "(.*?)"')
_BLANKS = str.maketrans("", "", " \n")


class MultiHopRetrievalMetric:
    """One retrieval figure, named ``multihop_{metric}@{k}``, in strict mode with ``_strict`` at the end.

    ``official``: a fact is found by a chunk that contains it, spaces and newlines removed from both. ``hits`` is
    1 where any of the first ``k`` chunks has a fact; ``mrr`` is the reciprocal rank of the first that has; ``map`` is
    the sum over the ranks of (facts found for the first time there / rank), divided by min(facts, k), where a fact
    that is given twice is found once but counted twice.

    ``strict``: a fact counts once, and is found only by a hit of its own article, as ``EvidenceRecallAtK`` matches.
    ``hits`` is the share of the facts found within ``k``; ``map`` is average precision, in which a fact first found at
    rank r has the precision min(1, facts found up to r / r).

    A null query, which has no facts, is unscored.

    Raises:
        UnknownNameError: There is no such metric or mode.
        UsageError: ``k`` is not positive.
    """

    def __init__(self, metric: MultiHopMeasure, k: int, mode: ScoringMode = "official") -> None:
        check_known("MultiHop-RAG metric", metric, MULTIHOP_MEASURES)
        check_mode(mode)
        check_cutoff(f"multihop_{metric}", k)
        self.metric, self.k, self.mode = metric, k, mode
        self.name = f"multihop_{metric}@{k}" + suffix_of(mode)
        self.definition = f"{self.name}: MultiHop-RAG, {mode}"

    async def evaluate(self, *, case: BenchmarkCase, response: QueryResponse) -> EvaluationScore:
        """Return the figure, in [0, 1]."""
        facts = [evidence for evidence in case.expected.evidence if evidence.text is not None]
        if not facts:
            return EvaluationScore.unscored(self.name, "the case has no facts (a null query)")
        measure = _strict_measure if self.mode == "strict" else _official_measure
        value = measure(self.metric, facts, response.results[: self.k], self.k)
        return EvaluationScore(name=self.name, value=value, metadata={"mode": self.mode})


class WordOverlapAnswer:
    """1 where a gold answer and the answer share a word, else 0: the answer accuracy of MultiHop-RAG's script.

    Named ``multihop_answer_overlap``. Words are split at white space in lower case; an answer of the form 'The answer
    to the question is "…"' is what stands between the quotes. In strict mode (``multihop_answer_overlap_strict``) all
    words of a gold answer must occur, without punctuation. A missing answer is 0; a case without a gold answer is
    unscored.

    Raises:
        UnknownNameError: There is no such mode.
    """

    def __init__(self, mode: ScoringMode = "official") -> None:
        check_mode(mode)
        self.mode = mode
        self.name = "multihop_answer_overlap" + suffix_of(mode)
        self.definition = f"{self.name}: MultiHop-RAG, {mode}"

    async def evaluate(self, *, case: BenchmarkCase, response: QueryResponse) -> EvaluationScore:
        """Return 1 or 0."""
        golds = case.expected.answers
        if not golds:
            return EvaluationScore.unscored(self.name, "the case has no gold answer")
        if response.answer is None:
            reason = {"mode": self.mode, "reason": "the response has no answer"}
            return EvaluationScore(name=self.name, value=0.0, metadata=reason)
        quoted = _QUOTED_ANSWER.search(response.answer)
        answer = quoted[1] if quoted else response.answer
        value = float(any(self._agree(answer, gold) for gold in golds))
        return EvaluationScore(name=self.name, value=value, metadata={"mode": self.mode})

    def _agree(self, answer: str, gold: str) -> bool:
        if self.mode == "strict":
            wanted = set(whole_tokens(gold))
            return bool(wanted) and wanted <= set(whole_tokens(answer))
        return not set(answer.lower().split()).isdisjoint(gold.lower().split())


def _official_measure(
    metric: MultiHopMeasure, facts: Sequence[BenchmarkEvidence], results: Sequence[QueryResult], k: int
) -> float:
    texts = [result.text.translate(_BLANKS) for result in results]
    distinct = {(fact.text or "").translate(_BLANKS) for fact in facts}
    ranks = [rank for fact in distinct if (rank := _first_rank([fact in text for text in texts]))]
    if metric == "map":
        return sum(1 / rank for rank in ranks) / min(len(facts), k)
    return _reciprocal(ranks) if metric == "mrr" else float(bool(ranks))


def _strict_measure(
    metric: MultiHopMeasure, facts: Sequence[BenchmarkEvidence], results: Sequence[QueryResult], k: int
) -> float:
    hits = [Hit(result) for result in results]
    distinct = list({squeeze(fact.text or ""): fact for fact in facts}.values())
    ranks = sorted(rank for fact in distinct if (rank := _first_rank([hit.matches(fact) for hit in hits])))
    if metric == "map":
        return sum(min(1.0, sum(one <= rank for one in ranks) / rank) for rank in ranks) / len(distinct)
    return _reciprocal(ranks) if metric == "mrr" else len(ranks) / len(distinct)


def _first_rank(found: Sequence[bool]) -> int | None:
    """Return the 1-based rank of the first hit."""
    return found.index(True) + 1 if True in found else None


def _reciprocal(ranks: Sequence[int]) -> float:
    return 1 / min(ranks) if ranks else 0.0
