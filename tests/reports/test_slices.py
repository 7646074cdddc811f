"""Slices: the cases of one label judged by themselves."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pytest_heta.errors import UnknownNameError, UsageError
from pytest_heta.records import EvaluationReport
from pytest_heta.reports.gates import check_report, resolve_gates
from pytest_heta.reports.slices import Slice, check_slices, label_values, with_slices
from pytest_heta.reports.summary import summary_lines
from pytest_heta.reports.text import cells
from pytest_heta.reports.thresholds import Threshold, check_case, parse_threshold
from tests.reports.samples import MODE, errored, finished, not_run, report_of

NDCG = "beir_ndcg@10"


def _report(**fields: Any) -> EvaluationReport:
    cases = [
        finished("1", {NDCG: 1.0}, labels={"kind": "inference_query"}, latency_ms=1.0),
        finished("2", {NDCG: 0.5}, labels={"kind": "inference_query"}, latency_ms=9.0),
        errored("3", labels={"kind": "inference_query"}),
        finished("4", {NDCG: 0.25}, labels={"kind": "null_query"}, latency_ms=1.0),
        finished("5", {NDCG: 0.75}),
    ]
    return report_of(cases, (NDCG,), query_seconds={MODE: 1.0}, **fields)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("text ", ("text",)),
        (3, ("3",)),
        (True, ("true",)),
        (["a", "b", "a"], ("a", "b")),
        ({"b": 1, "a": None}, ('{"a": null, "b": 1}',)),
        (None, ("",)),
        ([], ("",)),
    ],
)
def test_a_label_of_any_kind_names_its_slices(value: Any, expected: tuple[str, ...]) -> None:
    """A text by itself, a list by its members, the rest as JSON; every case belongs to at least one slice."""
    assert label_values({"kind": value}, "kind") == expected
    assert label_values({}, "kind") == ("",)


def test_a_threshold_on_a_slice_is_read_and_judged() -> None:
    """The mean is that of the cases of the slice, with its failures as 0."""
    threshold = parse_threshold("ndcg@10 where kind=inference_query = 0.4", "min")
    assert threshold == Threshold("ndcg@10", "min", 0.4, where=Slice("kind", "inference_query"))
    (gate,) = check_report([threshold], _report())
    assert (gate.name, gate.value, gate.passed) == (f"{MODE}.ndcg@10 where kind=inference_query >= 0.4", 0.5, True)
    assert gate.reason == (
        "ndcg@10 where kind=inference_query = 0.500, at least 0.400 "
        "(beir_scifact, vector_search, 2 cases and 1 errored as 0)"
    )


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("m.f1 where a b = c d =0.5", Slice("a b", "c d")),
        ("f1 where kind==0.5", Slice("kind", "")),
        ("f1  where  kind = where = 0.5", Slice("kind", "where")),
        ("f1 where kind=a=b = 0.5", Slice("kind", "a=b")),
    ],
)
def test_labels_and_values_may_hold_white_space(text: str, where: Slice) -> None:
    """White space around the parts does not matter; nothing stands for the cases without the label."""
    assert parse_threshold(text, "min").where == where


@pytest.mark.parametrize("text", ["f1 where kind = 0.5", "f1 where = a = 0.5", "f1 where kind=a="])
def test_a_bad_slice_shows_the_right_form(text: str) -> None:
    """A slice needs a label and a value before the bound."""
    with pytest.raises(UsageError, match=r"for a slice METRIC where LABEL=MEMBER = VALUE"):
        parse_threshold(text, "min")


@pytest.mark.parametrize(
    ("text", "value", "passed"),
    [
        ("error_rate where kind=inference_query = 0.4", 1 / 3, True),
        ("error_rate where kind=null_query = 0", 0.0, True),
        ("errored where kind=inference_query = 0", 1.0, False),
        ("latency_p50_ms where kind=null_query = 2", 1.0, True),
        ("ndcg@10 where kind= = 0.7", 0.75, False),
    ],
)
def test_quantities_have_slices(text: str, value: float, passed: bool) -> None:
    """Rates, counts and percentiles are those of the slice."""
    (gate,) = check_report([parse_threshold(text, "max")], _report())
    assert (gate.value, gate.passed) == (value, passed)


@pytest.mark.parametrize("name", ["build_seconds", "index_bytes"])
def test_what_belongs_to_the_whole_run_has_no_slice(name: str) -> None:
    """It is refused before the run."""
    with pytest.raises(UsageError, match=f"{name} belongs to no slice: leave out 'where kind=a'"):
        resolve_gates([parse_threshold(f"{name} where kind=a = 1", "max")], (NDCG,), (MODE,))


def test_an_empty_slice_passes_no_gate() -> None:
    """No case, no value."""
    (gate,) = check_report([parse_threshold("ndcg@10 where kind=x = 0", "min")], _report())
    assert (gate.passed, gate.value) == (False, None)


def test_a_case_that_was_not_run_closes_the_gates_of_its_slice_only() -> None:
    """Its labels are known though nobody asked it."""
    lost = not_run("2").model_copy(update={"labels": {"kind": "b"}})
    report = report_of([finished("1", {NDCG: 1.0}, labels={"kind": "a"}), lost])
    texts = ("ndcg@10 where kind=a = 0.5", "ndcg@10 where kind=b = 0")
    gates = check_report([parse_threshold(text, "min") for text in texts], report)
    assert [gate.passed for gate in gates] == [True, False]


def test_case_thresholds_have_slices() -> None:
    """A case outside of the slice is not bound."""
    threshold = parse_threshold("ndcg@10 where kind=a = 0.5", "min")
    misses = [
        check_case([threshold], finished("1", {NDCG: 0.1}, labels={"kind": kind}), "beir_x") for kind in ("a", "b")
    ]
    assert misses == [
        ("ndcg@10 where kind=a = 0.100, below the minimum 0.500 (beir_x, case 1, vector_search)",),
        (),
    ]


def test_unknown_labels_and_values_are_refused_before_the_run() -> None:
    """The message lists the labels, or the values of the label."""
    labels = [{"kind": "a"}, {"kind": "b", "subset": "fin"}]
    check_slices(["subset"], [Slice("kind", "b"), None], labels)
    with pytest.raises(UnknownNameError, match=r"unknown label 'kin'; did you mean 'kind'\? \(known: kind, subset\)"):
        check_slices(["kin"], [], labels)
    with pytest.raises(UnknownNameError, match=r"unknown value of kind 'c' \(known: a, b\)"):
        check_slices([], [Slice("kind", "c")], labels)


def test_a_report_holds_the_figures_of_its_slices() -> None:
    """Means and counts as those of the whole, by label and value, in JSON; without labels nothing changes."""
    report = with_slices(_report(metadata={"concurrency": 8}), ["kind"])
    slices = json.loads(report.model_dump_json())["metadata"]["slices"]["kind"]
    key = f"{MODE}.{NDCG}"
    assert {value: figures["score_summary"] for value, figures in slices.items()} == {
        "": {key: 0.75},
        "inference_query": {key: 0.5},
        "null_query": {key: 0.25},
    }
    counts = {"planned": 3, "scored": 2, "unscored": 0, "errored": 1, "not_run": 0}
    assert slices["inference_query"]["counts"] == {key: counts}
    assert report.metadata["concurrency"] == 8
    assert with_slices(_report(), []) == _report()


def test_the_summary_shows_the_slices() -> None:
    """A row a value with cases, failures and one depth of each metric family; no line too wide."""
    lines = [line.text for line in summary_lines(with_slices(_report(), ["kind"]), 60)]
    start = next(number for number, line in enumerate(lines) if line.startswith("  by kind"))
    assert lines[start : start + 4] == [
        "  by kind           cases  failed  ndcg@10",
        "  (no label)            1       0   0.7500",
        "  inference_query       3       1   0.5000",
        "  null_query            1       0   0.2500",
    ]
    assert max(map(cells, lines)) <= 60


def test_of_each_family_the_depth_nearest_to_ten_is_shown() -> None:
    """The report has them all."""
    scores = {"beir_ndcg@3": 0.5, "beir_ndcg@100": 0.5, "f1": 0.5}
    report = report_of([finished("1", scores, labels={"kind": "a"})], tuple(scores))
    lines = [line.text for line in summary_lines(with_slices(report, ["kind"]))]
    assert "  by kind   cases  failed  ndcg@3      f1" in lines
