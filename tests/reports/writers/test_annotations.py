"""Workflow commands of GitHub."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_heta.records import EvaluationReport, GateResult
from pytest_heta.reports.writers.annotations import gate_annotations
from tests.reports.samples import finished, report_of


def _report(verdicts: Sequence[bool], reason: str = "too low") -> EvaluationReport:
    gates = tuple(
        GateResult(
            name=f"m.a >= {number}",
            mode="m",
            metric="a",
            bound="min",
            threshold=number,
            value=0.5,
            passed=passed,
            reason=reason,
        )
        for number, passed in enumerate(verdicts)
    )
    return report_of([finished("1", {})], (), gates=gates)


def test_each_failed_gate_is_one_error() -> None:
    """A gate that passed is none."""
    assert gate_annotations([_report([True, False])]) == [
        "::error title=beir_scifact@test (official)%2C vector%3A m.a >= 1::too low"
    ]


def test_no_text_can_begin_a_command_or_end_the_title() -> None:
    """Line breaks become spaces, percent signs and the marks of properties are escaped."""
    (line,) = gate_annotations([_report([False], "50%\n::set-output name=x::y")])
    assert line.endswith("::50%25 ::set-output name=x::y")
    assert "\n" not in line


def test_more_than_github_shows_are_counted() -> None:
    """Ten at most, over all reports; the last says how many are left out."""
    lines = gate_annotations([_report([False] * 7), _report([False] * 7)])
    assert len(lines) == 10
    assert lines[-1] == "::error title=heta::5 further gates failed, see the report"
    assert len(gate_annotations([_report([False] * 10)])) == 10
