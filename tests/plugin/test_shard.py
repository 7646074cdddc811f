"""--heta-shard: the parts of a run on several machines, merged, are the whole run."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_heta.__main__ import main
from pytest_heta.records import EvaluationReport
from pytest_heta.reports.json_file import read_report
from tests.plugin.noting import EVALUATION, forget_notes, noted, ran, write_noting
from tests.plugin.project import Project
from tests.plugin.test_workers import lasting


def run(project: Project, *args: str) -> EvaluationReport:
    """Run the evaluation, and return its report."""
    ran(project.run(*EVALUATION, *args))
    return project.report()


def merge(project: Project, *names: str) -> int:
    """Merge runs as the command does, and return its exit code."""
    merged = str(project.path / "merged.json")
    return main(["merge", *names, "--runs", str(project.path / ".heta/runs"), "--report", merged])


def run_shards(project: Project, *args: str) -> list[str]:
    """Run all three shards, and return the names of their runs; no case is in two."""
    names, cases = list[str](), list[str]()
    for shard in (1, 2, 3):
        cases += [case.case_id for case in run(project, f"--heta-shard={shard}/3", *args).cases]
        names += [path.name for path in (project.path / ".heta/runs").iterdir() if path.name not in names]
    assert len(cases) == len(set(cases))
    return names


def comparable(report: EvaluationReport) -> Any:
    """Return a report without what differs between runs, and what a merged one says of its shards beside."""
    found = lasting(report.model_dump())
    found["metadata"].pop("shards", None)
    return found


@pytest.fixture
def units(spread: Project) -> Project:
    """A project with several units."""
    write_noting(spread, units=3, cases=20)
    return spread


def test_three_shards_merge_into_one_run(units: Project, capsys: pytest.CaptureFixture[str]) -> None:
    """With the same cases in the same order, scores, counts and gates; each case was asked in one shard."""
    gate = "--heta-min=ndcg@1=0.2"
    names = run_shards(units, gate)
    assert sorted(noted(units, "ask")) == sorted(f"u{unit}-c{case}" for unit in range(3) for case in range(20))
    assert merge(units, *names) == 0
    merged, whole = read_report(units.path / "merged.json"), run(units, gate)
    assert [gate.passed for gate in merged.gates] == [True]
    assert comparable(merged) == comparable(whole)
    assert "60 planned: 60 scored" in capsys.readouterr().out


def test_shards_can_be_merged_from_their_report_files(project: Project) -> None:
    """As artifacts of a CI matrix bring them, in any order."""
    write_noting(project, units=2, cases=20)
    for shard in (3, 1, 2):
        run(project, f"--heta-shard={shard}/3")
        (project.path / "out.json").rename(project.path / f"part{shard}.json")
    assert merge(project, *(str(project.path / f"part{shard}.json") for shard in (3, 1, 2))) == 0
    assert comparable(read_report(project.path / "merged.json")) == comparable(run(project))


def test_a_missed_gate_fails_the_merge_and_no_shard(project: Project) -> None:
    """A mean over a third of the cases says nothing."""
    write_noting(project, cases=30)
    gate = "--heta-min=ndcg@1=0.9"
    for shard in (1, 2, 3):
        assert project.run(*EVALUATION, gate, f"--heta-shard={shard}/3").ret == pytest.ExitCode.OK
    assert merge(project, *(path.name for path in (project.path / ".heta/runs").iterdir())) == 1
    assert [gate.passed for gate in read_report(project.path / "merged.json").gates] == [False]


def test_a_missing_shard_is_told_and_counted(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    """Its cases are not run, and the merge fails."""
    write_noting(project, cases=30)
    names = run_shards(project)
    assert merge(project, names[0], names[2]) == 1
    assert "missing: shard 2" in capsys.readouterr().out
    report = read_report(project.path / "merged.json")
    assert [case.case_id for case in report.cases] == [f"u0-c{case}" for case in range(30)]
    assert {count.not_run > 0 for count in report.counts.values()} == {True}


@pytest.mark.parametrize("text", ["0/3", "4/3", "x"])
def test_another_shard_is_refused(project: Project, text: str) -> None:
    """With the form to write."""
    result = project.run(*EVALUATION, f"--heta-shard={text}")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert "shard" in ran(result)


def test_an_interrupted_shard_is_resumed_as_itself(project: Project) -> None:
    """Only the rest of its own cases is asked."""
    write_noting(project, cases=30)
    first = run(project, "--heta-shard=1/3", "--heta-case-min=ndcg@1=0.5", "-x")
    done = [case.case_id for case in first.cases if case.status == "finished"]
    forget_notes(project)
    second = run(project, "--heta-shard=1/3", "--heta-resume")
    assert [case.case_id for case in second.cases] == [case.case_id for case in first.cases]
    assert sorted([*done, *noted(project, "ask")]) == sorted(case.case_id for case in first.cases)
