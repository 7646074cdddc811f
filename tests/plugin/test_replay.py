"""--heta-replay: recorded responses are judged again, and nothing is built or asked."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.plugin.noting import EVALUATION, forget_notes, notes, ran, write_noting
from tests.plugin.project import Project

METRICS = """
from pytest_heta import BeirRetrievalMetric

def pytest_heta_evaluators(config, benchmark):
    return [BeirRetrievalMetric({metric})]
"""


def run(project: Project, *args: str) -> pytest.RunResult:
    """Run the evaluation."""
    result = project.run(*EVALUATION, *args)
    ran(result)
    return result


def recorded(project: Project) -> Path:
    """Run once, and return the folder of the evaluation."""
    write_noting(project, units=2, cases=20)
    run(project).assert_outcomes(passed=40)
    forget_notes(project)
    (folder,) = (project.path / ".heta/runs").glob("*/*")
    return folder


@pytest.mark.parametrize("source", ["report", "folder", "journal"])
def test_a_recording_is_judged_by_other_thresholds(spread: Project, source: str) -> None:
    """From a report, a run's folder, or what a killed run has left there: the same scores, without a build or query."""
    folder = recorded(spread)
    first = spread.report()
    (spread.path / "out.json").rename(spread.path / "first.json")
    if source == "journal":
        (folder / "report.json").unlink()
    path = "first.json" if source == "report" else str(folder)
    result = run(spread, f"--heta-replay={path}", "--heta-min=ndcg@1=0.9", "--heta-case-min=mrr@3=0.4")
    result.assert_outcomes(passed=20, failed=21)  # 20 cases are below, and the gate
    assert notes(spread) == []
    again = spread.report()
    assert again.score_summary == first.score_summary
    assert again.counts == first.counts
    assert [case.hits for case in again.cases] == [case.hits for case in first.cases]
    assert [gate.passed for gate in again.gates] == [False]


def test_a_recording_is_judged_by_other_metrics(project: Project) -> None:
    """As deep as it was recorded."""
    recorded(project)
    (project.path / "out.json").rename(project.path / "first.json")
    project.write("conftest.py", METRICS.format(metric='"recall", 2'))
    run(project, "--heta-replay=first.json").assert_outcomes(passed=40)
    assert project.report().score_summary == {"words.beir_recall@2": 0.5}
    assert notes(project) == []


def test_what_looks_deeper_is_refused(spread: Project) -> None:
    """It says how deep the recording is, and which metric is too deep."""
    recorded(spread)
    (spread.path / "out.json").rename(spread.path / "first.json")
    spread.write("conftest.py", METRICS.format(metric='"ndcg", 10'))
    result = run(spread, "--heta-replay=first.json")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert "first.json holds 3 results a query, and beir_ndcg@10 looks deeper" in ran(result)
    assert notes(spread) == []
    assert not (spread.path / "out.json").exists()


def test_a_case_that_was_not_recorded_is_an_error(project: Project) -> None:
    """It is not left out, and not asked."""
    write_noting(project, cases=10)
    run(project, "--heta-limit=8")
    (project.path / "out.json").rename(project.path / "first.json")
    forget_notes(project)
    result = run(project, "--heta-replay=first.json")
    result.assert_outcomes(passed=8, errors=2)
    assert "first.json holds no response to this case" in ran(result)
    assert {count.errored for count in project.report().counts.values()} == {2}
    assert notes(project) == []
