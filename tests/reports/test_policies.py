"""Policies: their text, and their verdict on one comparison."""

from __future__ import annotations

import pytest

from pytest_heta.errors import UnknownNameError, UsageError
from pytest_heta.reports.paired import PairedResult
from pytest_heta.reports.policies import Policy, PolicyKind, parse_policy, resolve_policies
from pytest_heta.reports.slices import Slice

NDCG = "beir_ndcg@10"


def _change(difference: float, low: float = -1.0, before: float = 0.5) -> PairedResult:
    return PairedResult(300, before, before + difference, difference, low, 1.0, 0.5, 10, 270, 20)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ndcg@10=0.01", Policy("max_drop", "ndcg@10", 0.01)),
        ("vector_search.ndcg@10 = 2%", Policy("max_drop", "ndcg@10", 0.02, relative=True, mode="vector_search")),
        ("f1 where kind=a b = 0", Policy("max_drop", "f1", 0.0, where=Slice("kind", "a b"))),
    ],
)
def test_a_policy_is_read(text: str, expected: Policy) -> None:
    """An amount or a share, with a mode and a slice or without."""
    assert parse_policy(text, "max_drop") == expected


@pytest.mark.parametrize("text", ["ndcg@10", "ndcg@10=-0.1", "ndcg@10=nan", "ndcg@10=x%", "=1"])
def test_a_bad_policy_shows_the_right_form(text: str) -> None:
    """One message with the text that was given and how to write it."""
    with pytest.raises(UsageError, match=r"write METRIC=AMOUNT or METRIC=AMOUNT%") as caught:
        parse_policy(text, "significant")
    assert repr(text) in str(caught.value)


@pytest.mark.parametrize(
    ("kind", "difference", "low", "p", "holds"),
    [
        ("max_drop", -0.01, -1.0, 0.0001, True),  # the bound itself is allowed
        ("max_drop", -0.0101, 0.0, 1.0, False),
        ("max_drop", 0.2, 0.1, 0.0001, True),
        ("significant", -0.02, -0.04, 0.06, True),  # beyond, but not significant
        ("significant", -0.009, -0.02, 0.0001, True),  # significant, but allowed
        ("significant", -0.02, -0.04, 0.05, False),
        ("significant", 0.02, 0.01, 0.0001, True),
        ("non_inferior", 0.02, -0.0101, 0.0001, False),  # better, but maybe not
        ("non_inferior", -0.005, -0.01, 0.0001, True),
    ],
)
def test_each_kind_judges_as_it_says(kind: PolicyKind, difference: float, low: float, p: float, holds: bool) -> None:
    """A drop beyond the amount; that and significance; an interval that reaches beyond the amount."""
    assert Policy(kind, NDCG, 0.01).holds(_change(difference, low), p) is holds


def test_a_share_is_one_of_the_mean_before() -> None:
    """2 % of 0.5 is 0.01."""
    policy = Policy("max_drop", NDCG, 0.02, relative=True)
    assert policy.holds(_change(-0.01), 1.0)
    assert not policy.holds(_change(-0.0101), 1.0)
    assert policy.text == "ndcg@10 drop <= 2%"


def test_binary_fractions_break_no_bound() -> None:
    """0.5 - 0.49 is a drop of 0.01, whatever a float makes of it."""
    assert Policy("max_drop", NDCG, 0.01).holds(_change(0.49 - 0.5), 1.0)


@pytest.mark.parametrize(
    ("kind", "p", "expected"),
    [
        ("max_drop", 1.0, "ndcg@10 went from 0.500 to 0.480: a drop of 0.020, more than the allowed 0.010"),
        (
            "significant",
            0.25,
            "ndcg@10 went from 0.500 to 0.480: a drop of 0.020, more than the allowed 0.010, "
            "not significant (p = 0.2500)",
        ),
        (
            "non_inferior",
            1.0,
            "ndcg@10 went from 0.500 to 0.480: a drop of up to 0.040 is in the 95 % interval, more than the allowed "
            "0.010",
        ),
    ],
)
def test_a_verdict_gives_the_facts(kind: PolicyKind, p: float, expected: str) -> None:
    """Both means, the drop, what is allowed, and the evidence where it counts."""
    assert Policy(kind, NDCG, 0.01).verdict(_change(-0.02, -0.04), p) == expected


def test_a_rise_is_no_drop() -> None:
    """Nothing is said of a bound that is not touched."""
    verdict = Policy("max_drop", NDCG, 0.01).verdict(_change(0.02), 1.0)
    assert verdict == "ndcg@10 went from 0.500 to 0.520: no drop"


def test_policies_are_refused_before_the_run() -> None:
    """Names are completed; unknown ones list the known; the same policy twice is one."""
    policies = [parse_policy("ndcg@10=0.01", "max_drop"), parse_policy("beir_ndcg@10=0.010", "max_drop")]
    assert resolve_policies(policies, (NDCG,), ("m",)) == (Policy("max_drop", NDCG, 0.01),)
    with pytest.raises(UnknownNameError, match="unknown metric 'map@3'"):
        resolve_policies([Policy("max_drop", "map@3", 0.1)], (NDCG,), ("m",))
    with pytest.raises(UnknownNameError, match="unknown mode 'x'"):
        resolve_policies([Policy("max_drop", NDCG, 0.1, mode="x")], (NDCG,), ("m",))
