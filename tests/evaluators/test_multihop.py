"""The figures of MultiHop-RAG."""

from __future__ import annotations

import json

import pytest

from pytest_heta.errors import UnknownNameError, UsageError
from pytest_heta.evaluators import MultiHopRetrievalMetric, WordOverlapAnswer
from pytest_heta.evaluators.multihop import MULTIHOP_MEASURES
from pytest_heta.records import BenchmarkCase, BenchmarkEvidence
from tests.evaluators.builders import answered, evidenced, folder, hit, response, score, texts, values
from tests.shared_data import shared_data

OFFICIAL = [
    MultiHopRetrievalMetric("hits", 10),
    MultiHopRetrievalMetric("hits", 4),
    MultiHopRetrievalMetric("map", 10),
    MultiHopRetrievalMetric("mrr", 10),
]
STRICT = [MultiHopRetrievalMetric(metric, 10, mode="strict") for metric in MULTIHOP_MEASURES]


def facts(*found: str) -> BenchmarkCase:
    """Make a case of facts that may lie anywhere."""
    return evidenced(*(BenchmarkEvidence(text=fact) for fact in found))


def test_the_official_figures_by_hand() -> None:
    """Of three facts, one at rank 2, the next at ranks 2 and 5: both count at rank 2, never again."""
    case = facts("first fact", "second fact", "third fact")
    found = texts("nothing", "secondfact and first\nfact", "x", "x", "second fact")
    assert values(OFFICIAL, case, response(*found)) == {
        "multihop_hits@10": 1.0,
        "multihop_hits@4": 1.0,
        "multihop_map@10": pytest.approx((1 / 2 + 1 / 2) / 3),
        "multihop_mrr@10": 0.5,
    }


def test_the_official_map_counts_a_fact_given_twice_in_the_denominator() -> None:
    """A fact given twice is found once and divided by two; the strict form counts it once."""
    case, found = facts("a fact", "a fact"), response(*texts("a fact"))
    assert score(OFFICIAL[2], case, found).value == 0.5
    assert score(STRICT[1], case, found).value == 1.0


def test_the_official_map_divides_by_no_more_than_k() -> None:
    """Twelve facts in one chunk at rank 1 are divided by ten, so that the figure passes 1, as in the script."""
    names = [f"fact {letter}" for letter in "abcdefghijkl"]
    assert score(OFFICIAL[2], facts(*names), response(*texts(" ".join(names)))).value == pytest.approx(1.2)


def test_what_lies_below_the_cut_does_not_count() -> None:
    """Rank 5 counts for ten and not for four; rank 11 counts for none."""
    fifth = values(OFFICIAL, facts("the fact"), response(*texts(*"xxxx", "the fact")))
    assert (fifth["multihop_hits@10"], fifth["multihop_hits@4"], fifth["multihop_mrr@10"]) == (1.0, 0.0, 0.2)
    eleventh = values(OFFICIAL, facts("the fact"), response(*texts(*"xxxxxxxxxx", "the fact")))
    assert set(eleventh.values()) == {0.0}


def test_the_strict_figures_by_hand() -> None:
    """Facts count in their own article only: found at ranks 2 and 3 of three, one of them elsewhere at rank 1."""
    case = evidenced(
        *(
            BenchmarkEvidence(locator={"source_key": f"{folder(article)}{article}.txt"}, text=fact)
            for article, fact in (("a", "First fact"), ("b", "second fact"), ("c", "third fact"))
        )
    )
    found = response(hit("z", text="first fact"), hit("a", text="the  FIRST fact"), hit("b", text="second fact"))
    assert values(STRICT, case, found) == {
        "multihop_hits@10_strict": pytest.approx(2 / 3),
        "multihop_map@10_strict": pytest.approx((1 / 2 + 2 / 3) / 3),
        "multihop_mrr@10_strict": 0.5,
    }


@pytest.mark.parametrize("metric", [*OFFICIAL, *STRICT])
def test_a_null_query_is_unscored_for_retrieval(metric: MultiHopRetrievalMetric) -> None:
    """A query without facts has no value but a reason."""
    got = score(metric, evidenced(), response(*texts("x")))
    assert (got.value, got.metadata) == (None, {"reason": "the case has no facts (a null query)"})


def test_every_official_row() -> None:
    """All figures equal the official script's on every published row."""
    for line in shared_data("multihop_rag/official_scores.jsonl").read_text("utf-8").splitlines():
        row = json.loads(line)
        got = values(OFFICIAL, facts(*row["gold"]), response(*texts(*row["retrieved"])))
        expected = {f"multihop_{name.lower()}": value for name, value in row["official"].items()}
        assert got == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(
    ("gold", "answer", "official", "strict"),
    [
        ("Sam Bankman-Fried", "It was Sam Altman", 1.0, 0.0),
        ("Sam Bankman-Fried", "sam bankman-fried.", 1.0, 1.0),
        ("Yes", "yes, they do", 0.0, 1.0),
        ("no", "I know", 0.0, 0.0),
        ("Google", 'Apple sued. The answer to the question is "Google".', 1.0, 1.0),
        ("Apple", 'Apple sued. The answer to the question is "Google".', 0.0, 0.0),
    ],
)
def test_word_overlap(gold: str, answer: str, official: float, strict: float) -> None:
    """Officially one shared word is enough and punctuation belongs to words; strictly all words must be there."""
    got = values([WordOverlapAnswer(), WordOverlapAnswer("strict")], answered(gold), response(answer=answer))
    assert got == {"multihop_answer_overlap": official, "multihop_answer_overlap_strict": strict}


def test_word_overlap_without_answer_or_gold() -> None:
    """A missing answer is 0 with a reason; a missing gold answer is no score."""
    missing = score(WordOverlapAnswer(), answered("x"), response())
    assert (missing.value, missing.metadata["reason"]) == (0.0, "the response has no answer")
    assert score(WordOverlapAnswer(), answered(), response(answer="x")).value is None


def test_bad_parameters_are_usage_errors() -> None:
    """An unknown metric or mode lists the known ones; a cut that is not positive is refused."""
    with pytest.raises(UnknownNameError, match="known: hits, map, mrr"):
        MultiHopRetrievalMetric("ndcg", 10)  # type: ignore[arg-type]
    with pytest.raises(UnknownNameError, match="known: official, strict"):
        WordOverlapAnswer("lenient")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="k must be at least 1"):
        MultiHopRetrievalMetric("hits", 0)
