"""A report is made of an evaluation and its results, and hides none of them."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from pytest_heta.engine.scoring import not_run_result
from pytest_heta.records import EvaluationCaseResult, EvaluationReport
from pytest_heta.reports.assemble import RunFacts, assemble_report, busy_seconds, versions
from pytest_heta.reports.thresholds import parse_threshold
from tests.engine.toys import MODE, ToyRecipe, cases, evaluation_of, plan_of

FACTS = RunFacts("r1", "2026-01-02T03:04:05Z", {"total": 2.0}, {"limit": 2}, {"command": ["pytest"]})


def assembled(*bounds: str, **changes: Any) -> EvaluationReport:
    """Assemble the report of two finished cases and one that was not run."""

    class Secretive(ToyRecipe):
        manifest = {"name": "toy", "api_key": "abc123"}  # noqa: RUF012 - as a user would write it

    async def story() -> EvaluationReport:
        plan = await plan_of(cases=cases(3))
        evaluation, unit = evaluation_of(plan, Secretive()), plan.units[0]
        results = [await evaluation.result(unit, one, MODE) for one in unit.cases[:2]]
        results.append(not_run_result("corpus", unit.cases[2], MODE))
        thresholds = [parse_threshold(text, "min") for text in bounds]
        await evaluation.aclose()
        bases = evaluation.pool.reports.values()
        return assemble_report(evaluation, results, bases, FACTS, thresholds)

    return asyncio.run(story())


def test_the_report_says_what_was_run() -> None:
    """Benchmark, recipe, modes, metrics, depth and the facts of the run."""
    report = assembled()
    assert (report.report_id, report.created_at, report.knowledge_base_name) == ("r1", FACTS.created_at, "kb")
    assert (report.benchmark.name, report.query_modes, report.metrics) == ("toy", (MODE,), ("beir_recall@2",))
    assert (report.durations, report.selection) == ({"total": 2.0}, {"limit": 2})
    assert report.metadata["concurrency"] == 8
    assert report.metadata["top_k"] == 2
    assert report.metadata["command"] == ["pytest"]
    assert [base.unit_id for base in report.knowledge_bases] == ["corpus"]


def test_every_planned_case_is_counted() -> None:
    """Also the one that was not run."""
    report = assembled()
    assert [one.status for one in report.cases] == ["finished", "finished", "not_run"]
    counts = report.counts[f"{MODE}.beir_recall@2"]
    assert (counts.planned, counts.scored, counts.not_run) == (3, 2, 1)
    assert report.score_summary == {f"{MODE}.beir_recall@2": 1.0}


def test_thresholds_are_judged_on_the_whole() -> None:
    """And none passes while a case was not run."""
    gate = assembled("recall@2=0.5").gates[0]
    assert (gate.metric, gate.value, gate.passed) == ("beir_recall@2", 1.0, False)
    assert "1 case not run" in gate.reason


def test_secrets_do_not_leave_the_run() -> None:
    """What a recipe declares under a secret name is masked."""
    assert assembled().recipe == {"name": "toy", "api_key": "***"}


def result(asked_at: float | None, latency_ms: float | None) -> EvaluationCaseResult:
    """A case with these times."""
    return EvaluationCaseResult(
        unit_id="u", case_id="c", mode=MODE, status="finished", asked_at=asked_at, latency_ms=latency_ms
    )


@pytest.mark.parametrize(
    ("spans", "seconds"),
    [
        ([], 0.0),
        ([(None, None), (5.0, None)], 0.0),
        ([(10.0, 2000.0)], 2.0),
        ([(10.0, 2000.0), (11.0, 2000.0)], 3.0),
        ([(10.0, 5000.0), (11.0, 1000.0)], 5.0),
        ([(20.0, 1000.0), (10.0, 2000.0), (12.0, 1000.0)], 4.0),
    ],
)
def test_busy_is_when_any_query_was_under_way(spans: list[tuple[Any, Any]], seconds: float) -> None:
    """Overlaps count once and pauses not at all."""
    assert busy_seconds(result(*span) for span in spans) == pytest.approx(seconds)


def test_versions_are_those_of_installed_libraries() -> None:
    """Those that the recipe names among them; one that is not installed is left out."""

    class Naming:
        libraries = ("hypothesis", "no-such-library")

    found = versions(Naming())
    assert {"python", "pytest-heta", "numpy", "hypothesis"} <= found.keys()
    assert "no-such-library" not in found
