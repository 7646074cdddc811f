"""Workers that die, Ctrl-C, -x: what finished is kept, what did not is counted, and everything is closed."""

from __future__ import annotations

import os
import signal
import time

import pytest

from pytest_heta.engine.journal import read_journal
from tests.plugin.noting import EVALUATION, IN_BATCHES, SYNCHRONOUS, noted, ran, started, write_noting
from tests.plugin.project import ALONE, N2, Project, statuses

WINDOW = 32
"""How many cases are asked ahead one by one at most, the one that is waited for included."""


def run(project: Project, *args: str) -> pytest.RunResult:
    """Run the evaluation."""
    result = project.run(*EVALUATION, *args)
    ran(result)
    return result


DYING = """
DIED = Path(__file__).with_name("died.txt")
ask = Base.query

async def query(self, text, **options):
    if text == "query u0-c20" and not DIED.exists():
        DIED.write_text("{when}")
        os.kill(os.getpid(), 9)
    return await ask(self, text, **options)

Base.query = query
recipe.max_concurrency = 1
"""


def test_the_cases_of_a_worker_that_dies_are_run_by_another(project: Project) -> None:
    """But for the one that it was running, which fails and is not scored; the report counts it, and the run fails."""
    ids = write_noting(project, units=2, cases=40, recipe=DYING)
    project.spread = N2
    result = run(project)
    result.assert_outcomes(passed=79, failed=1)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    found = statuses(project.report())
    assert list(found) == ids
    assert sorted(found.values()) == ["finished"] * 79 + ["not_run"]
    assert {(count.planned, count.scored, count.not_run) for count in project.report().counts.values()} == {(80, 79, 1)}
    assert "79 scored, 0 unscored, 0 errored, 1 not run" in ran(result)


def test_without_a_replacement_the_cases_are_not_run(project: Project) -> None:
    """What finished before is in the report and in the journal, and --heta-resume goes on from there."""
    ids = write_noting(project, cases=60, recipe=DYING)
    project.spread = ("-p", "xdist", "-n1", "--max-worker-restart=0")
    assert run(project).ret != pytest.ExitCode.OK
    found = statuses(project.report())
    assert list(found) == ids
    done = [case_id for case_id, status in found.items() if status == "finished"]
    assert 0 < len(done) <= 20
    (folder,) = (project.path / ".heta/runs").glob("*/*")
    assert {case.case_id for case in read_journal(folder)[1]} == set(done)
    project.spread = ALONE
    run(project, "--heta-resume").assert_outcomes(passed=60)


def test_a_worker_that_dies_while_it_builds_leaves_nothing_that_is_trusted(project: Project) -> None:
    """Another builds anew."""
    dying = """
def save(self, directory):
    (directory / "name.txt").write_text("half")
    if not (died := Path(__file__).with_name("died.txt")).exists():
        died.write_text("")
        os.kill(os.getpid(), 9)

Base.save = save
"""
    write_noting(project, cases=40, recipe=dying)
    project.spread = N2
    result = run(project)
    result.assert_outcomes(passed=39, failed=1)
    assert noted(project, "build") == ["many-r"] * 2
    assert [kb.error for kb in project.report().knowledge_bases] == [None]


def interrupted(project: Project, event: str, count: int) -> str:
    """Start a run, press Ctrl-C when so much was noted, and return its output when it has ended."""
    process = started(project)
    deadline = time.monotonic() + 60
    while len(noted(project, event)) < count and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.005)
    os.killpg(process.pid, signal.SIGINT)
    assert process.wait(timeout=30) == pytest.ExitCode.INTERRUPTED
    return (project.path / "output.txt").read_text()


@pytest.mark.parametrize("synchronous", [False, True])
def test_ctrl_c_stops_queries_and_closes_knowledge_bases(project: Project, synchronous: bool) -> None:
    """The report holds what finished and counts the rest as not run."""
    slow = (SYNCHRONOUS if synchronous else "") + "SECONDS = 0.05\n"
    ids = write_noting(project, units=2, cases=100, recipe=slow)
    output = interrupted(project, "answer", 20)
    assert "KeyboardInterrupt" in output
    assert "INTERNALERROR" not in output
    assert len(noted(project, "open")) == len(noted(project, "close")) >= 1
    found = list(statuses(project.report()).values())
    assert len(found) == len(ids)
    assert set(found) == {"finished", "not_run"}
    assert len(noted(project, "ask")) <= found.count("finished") + WINDOW + 1


def test_ctrl_c_under_xdist(project: Project) -> None:
    """The workers close their knowledge bases too."""
    write_noting(project, units=2, cases=100, recipe="SECONDS = 0.05\n")
    project.spread = N2
    output = interrupted(project, "answer", 20)
    assert "INTERNALERROR" not in output
    deadline = time.monotonic() + 20
    while len(noted(project, "close")) < len(noted(project, "open")) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert len(noted(project, "open")) == len(noted(project, "close")) >= 2
    assert set(statuses(project.report()).values()) == {"finished", "not_run"}


def test_ctrl_c_ends_a_build(project: Project) -> None:
    """However long it would take; the next run builds anew."""
    slow = """
build_now = Recipe.build

async def build(self, **options):
    note("begin", "build")
    if not Path(__file__).with_name("quick.txt").exists():
        await asyncio.sleep(100)
    return build_now(self, **options)

Recipe.build = build
"""
    write_noting(project, recipe=slow)
    interrupted(project, "begin", 1)
    assert set(statuses(project.report()).values()) == {"not_run"}
    project.write("quick.txt", "")
    run(project).assert_outcomes(passed=30)
    assert noted(project, "build") == ["many-r"]


@pytest.mark.parametrize("stop", ["-x", "--maxfail=1"])
def test_stopping_at_a_failure_stops_the_queries(spread: Project, stop: str) -> None:
    """No case is asked beyond the bounded look-ahead; the rest is counted as not run; all is closed."""
    ids = write_noting(spread, units=2, cases=100, recipe="SECONDS = 0.01\n")
    result = run(spread, "--heta-case-min=ndcg@1=0.5", stop)
    assert result.ret != pytest.ExitCode.OK
    found = list(statuses(spread.report()).values())
    workers = 2 if spread.spread == N2 else 1
    assert len(found) == len(ids)
    assert 2 <= found.count("finished") <= 4 * workers
    assert len(noted(spread, "ask")) <= found.count("finished") + WINDOW * workers
    assert len(noted(spread, "open")) == len(noted(spread, "close"))


def test_batches_are_asked_ahead_no_further_than_two(project: Project) -> None:
    """That of the case, and the next."""
    write_noting(project, cases=300, recipe=IN_BATCHES)
    run(project, "--heta-case-min=ndcg@1=0.5", "-x").assert_outcomes(passed=1, failed=1)
    assert noted(project, "batch") == ["64", "64"]
    assert noted(project, "ask") == []
