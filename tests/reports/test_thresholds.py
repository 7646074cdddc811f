"""The text of thresholds, the metric they mean, and their verdict on a case."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_heta.errors import UnknownNameError, UsageError
from pytest_heta.reports.thresholds import (
    Threshold,
    check_case,
    parse_threshold,
    resolve_metric,
    resolve_threshold,
    short_name,
)
from tests.reports.samples import MODE, errored, finished, not_run

BEIR = ("beir_ndcg@1", "beir_ndcg@10", "beir_recall@10")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ndcg@10=0.65", Threshold("ndcg@10", "min", 0.65)),
        ("beir_ndcg@10=0.65", Threshold("beir_ndcg@10", "min", 0.65)),
        ("vector_search.ndcg@10=0.65", Threshold("ndcg@10", "min", 0.65, "vector_search")),
        ("  ndcg@10  =  1e-3 ", Threshold("ndcg@10", "min", 0.001)),
        ("full-text.f1=-1", Threshold("f1", "min", -1.0, "full-text")),
    ],
)
def test_a_threshold_is_read(text: str, expected: Threshold) -> None:
    """METRIC=VALUE, with a mode before it or not, and with white space or not."""
    assert parse_threshold(text, "min") == expected


@pytest.mark.parametrize(
    "text",
    ["", "ndcg@10", "=0.5", "ndcg@10=", "ndcg@10=high", "ndcg@10>=0.5", "ndcg@10=0,65", "a=nan", "a=inf", "a=1=2"],
)
def test_a_bad_threshold_shows_the_right_form(text: str) -> None:
    """One message with the text that was given and how to write it."""
    with pytest.raises(
        UsageError, match=r"write METRIC=VALUE or MODE\.METRIC=VALUE .* such as ndcg@10=0\.65"
    ) as caught:
        parse_threshold(text, "max")
    assert repr(text) in str(caught.value)


@pytest.mark.parametrize(
    ("name", "metrics", "expected"),
    [
        ("ndcg@10", BEIR, "beir_ndcg@10"),
        ("beir_ndcg@10", BEIR, "beir_ndcg@10"),
        ("uda_f1", ("f1",), "f1"),
        ("f1", ("uda_f1", "f1"), "f1"),
        ("hits@4", ("multihop_hits@4",), "multihop_hits@4"),
    ],
)
def test_a_metric_is_found_with_or_without_its_family(name: str, metrics: tuple[str, ...], expected: str) -> None:
    """The very name wins; otherwise the one that differs by a family prefix."""
    assert resolve_metric(name, metrics) == expected


def test_an_unknown_metric_lists_the_known_ones() -> None:
    """Also a right metric with another family's prefix is unknown."""
    with pytest.raises(
        UnknownNameError, match=r"unknown metric 'uda_ndcg@10'.*beir_ndcg@1, beir_ndcg@10, beir_recall@10"
    ):
        resolve_metric("uda_ndcg@10", BEIR)


def test_an_ambiguous_metric_names_the_candidates() -> None:
    """Two families with the same metric ask for the whole name."""
    with pytest.raises(UsageError, match="'f1' could be any of uda_f1, multihop_f1"):
        resolve_metric("f1", ("uda_f1", "multihop_f1"))


def test_a_dot_belongs_to_the_metric_where_there_is_such_a_metric() -> None:
    """``f0.5`` is a metric, not the metric ``5`` in a mode ``f0``; otherwise an unknown mode lists the modes."""
    threshold = parse_threshold("f0.5=0.3", "min")
    assert resolve_threshold(threshold, ("uda_f0.5",), (MODE,)) == Threshold("uda_f0.5", "min", 0.3)
    with pytest.raises(UnknownNameError, match=r"unknown mode 'f0' \(known: vector_search\)"):
        resolve_threshold(threshold, BEIR, (MODE,))


def test_a_family_prefix_alone_is_a_name() -> None:
    """Nothing is cut down to an empty name."""
    assert short_name("beir_") == "beir_"


@given(st.floats(allow_nan=False, allow_infinity=False), st.floats(allow_nan=False, allow_infinity=False))
def test_a_verdict_is_exact_and_shows_the_difference(value: float, limit: float) -> None:
    """No tolerance; and unequal numbers never look equal, nor in the wrong order."""
    threshold = Threshold("a", "min", limit)
    assert threshold.holds(value) == (value >= limit)
    shown = threshold.verdict(value).replace("below the minimum", "at least").removeprefix("a = ").split(", at least ")
    first, second = map(float, shown)
    assert (first < second) == (value < limit)
    assert (first > second) == (value > limit)


def test_a_bound_itself_is_allowed() -> None:
    """The minimum and the maximum hold at their own value, and not one float beyond."""
    assert Threshold("a", "min", 0.35).holds(0.35)
    assert Threshold("a", "max", 0.35).holds(0.35)
    assert not Threshold("a", "min", 0.35).holds(math.nextafter(0.35, 0))
    assert not Threshold("a", "max", 0.35).holds(math.nextafter(0.35, 1))


def test_all_misses_of_a_case_come_at_once() -> None:
    """One line a miss, in the order of the thresholds, with place; what holds or bounds another mode is silent."""
    case = finished("42", {"beir_ndcg@10": 0.214, "beir_recall@10": 0.9})
    thresholds = [
        Threshold("recall@10", "max", 0.5),
        Threshold("beir_recall@10", "min", 0.9),
        Threshold("ndcg@10", "min", 0.35),
        Threshold("ndcg@10", "min", 0.9, "other"),
    ]
    assert check_case(thresholds, case, "beir_scifact") == (
        "recall@10 = 0.900, above the maximum 0.500 (beir_scifact, case 42, vector_search)",
        "ndcg@10 = 0.214, below the minimum 0.350 (beir_scifact, case 42, vector_search)",
    )


def test_a_near_miss_shows_as_many_digits_as_it_takes() -> None:
    """A value that would be rounded to its threshold is shown below it."""
    case = finished("7", {"a": 0.34999999})
    assert check_case([Threshold("a", "min", 0.35)], case, "b") == (
        "a = 0.34999999, below the minimum 0.35000000 (b, case 7, vector_search)",
    )


def test_an_unscored_metric_is_no_miss_but_a_lost_score_is_one() -> None:
    """A case without a gold label cannot miss; an evaluator that left nothing has failed."""
    case = finished("1", {"a": None})
    assert check_case([Threshold("a", "min", 0.5)], case, "x") == ()
    assert check_case([Threshold("b", "min", 0.5)], case, "x") == (
        "b has no score: its evaluator failed, so b >= 0.5 does not hold (x, case 1, vector_search)",
    )


def test_a_case_that_did_not_finish_is_not_judged_twice() -> None:
    """An error, or not having been run, is reported by itself."""
    threshold = Threshold("a", "min", 0.5)
    assert check_case([threshold], errored("1"), "x") == check_case([threshold], not_run("1"), "x") == ()
