"""--heta-resume: what a run has finished is never lost and never asked again, however the run ended."""

from __future__ import annotations

import os
import random
import signal
import time
from pathlib import Path

import pytest

from pytest_heta.engine.journal import read_journal
from tests.plugin.noting import EVALUATION, forget_notes, noted, ran, started, write_noting
from tests.plugin.project import ALONE, N2, Project
from tests.plugin.test_workers import lasting

SLOW = "SECONDS = 0.005\nrecipe.max_concurrency = 1\n"


def run(project: Project, *args: str) -> pytest.RunResult:
    """Run the evaluation."""
    result = project.run(*EVALUATION, *args)
    ran(result)
    return result


def run_folder(project: Project) -> Path | None:
    """Return the folder of the one run and its one evaluation, if it got as far as that."""
    return next(iter((project.path / ".heta/runs").glob("*/*")), None)


def finished(project: Project) -> set[str]:
    """Return the cases that the journal holds."""
    folder = run_folder(project)
    return {result.case_id for result in read_journal(folder)[1]} if folder else set()


def clear(project: Project) -> None:
    """Forget all runs."""
    forget_notes(project)
    if (project.path / ".heta").exists():
        (project.path / ".heta").rename(project.path / f"old-{time.monotonic_ns()}")


def kill(project: Project, at_least: int, seconds: float) -> None:
    """Kill a run with all its processes, so many seconds after its first queries."""
    process = started(project)
    deadline = time.monotonic() + 60
    while len(noted(project, "ask")) < at_least and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.002)
    time.sleep(seconds)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def check_killed_and_resumed(project: Project, ids: list[str], whole: object, rng: random.Random) -> int:
    """Kill a run, go on with it; return how many cases it had finished."""
    clear(project)
    kill(project, rng.choice([0, 1, 1, 1, 10, 20]), rng.uniform(0, 0.15))
    done = finished(project)
    forget_notes(project)
    run(project, *(["--heta-resume"] if run_folder(project) else [])).assert_outcomes(passed=len(ids))
    assert sorted([*done, *noted(project, "ask")]) == sorted(ids)
    assert lasting(project.report().model_dump()) == whole
    return len(done)


def test_killed_at_any_moment_a_run_goes_on_where_it_was(project: Project) -> None:
    """kill -9, 20 times at random: the report is that of an uninterrupted run, no finished case is asked again."""
    ids = write_noting(project, recipe=SLOW)
    run(project)
    whole = lasting(project.report().model_dump())
    rng = random.Random(time.time_ns())
    done = [check_killed_and_resumed(project, ids, whole, rng) for _ in range(20)]
    assert any(0 < count < len(ids) for count in done)


def test_killed_with_all_workers_a_run_goes_on_with_other_ones(project: Project) -> None:
    """The journals of all workers count, and another number of them may go on."""
    ids = write_noting(project, units=2, recipe="SECONDS = 0.02\nrecipe.max_concurrency = 1\n")
    run(project)
    whole = lasting(project.report().model_dump())
    clear(project)
    project.spread = ("-p", "xdist", "-n3")
    kill(project, 10, 0.1)
    done = finished(project)
    assert 0 < len(done) < len(ids)
    forget_notes(project)
    project.spread = N2
    run(project, "--heta-resume").assert_outcomes(passed=60)
    assert sorted([*done, *noted(project, "ask")]) == sorted(ids)
    assert lasting(project.report().model_dump()) == whole


def torn(project: Project) -> Path:
    """Run, then tear the last line of the journal, as a killed writer leaves it; return the file."""
    run(project)
    forget_notes(project)
    folder = run_folder(project)
    assert folder is not None
    (folder / "report.json").unlink()
    (journal,) = folder.glob("main.*.journal.jsonl")
    data = journal.read_bytes()
    journal.write_bytes(data[:-40])
    return journal


def test_a_torn_line_costs_one_case(spread: Project) -> None:
    """It is told, even where warnings are errors, and that case is asked again."""
    ids = write_noting(spread)
    others, spread.spread = spread.spread, ALONE
    journal = torn(spread)
    spread.spread = others
    result = run(spread, "--heta-resume", "-Werror")
    result.assert_outcomes(passed=30)
    assert result.parseoutcomes()["warnings"] == 1
    assert noted(spread, "ask") == ids[-1:]
    assert f"{journal}:31: a line of the journal is not whole" in ran(result)
    assert [case.status for case in spread.report().cases] == ["finished"] * 30


def test_a_finished_run_that_is_resumed_builds_and_asks_nothing(spread: Project) -> None:
    """It is judged once more, by other thresholds too; the knowledge bases are those of the run."""
    write_noting(spread, units=2)
    run(spread)
    first = spread.report()
    forget_notes(spread)
    run(spread, "--heta-resume", "--heta-case-min=ndcg@1=0.5").assert_outcomes(passed=16, failed=44)
    assert noted(spread, "ask") == noted(spread, "open") == []
    assert spread.report().cases == first.cases
    assert spread.report().knowledge_bases == first.knowledge_bases


def test_another_recipe_is_asked_anew(spread: Project) -> None:
    """It says what differs; the new run can be resumed in turn."""
    ids = write_noting(spread)
    run(spread)
    write_noting(spread, recipe="# another\n")
    forget_notes(spread)
    result = run(spread, "--heta-resume")
    assert "was another evaluation, so everything is asked anew: recipe fingerprint: '" in ran(result)
    assert sorted(noted(spread, "ask")) == sorted(ids)
    forget_notes(spread)
    run(spread, "--heta-resume")
    assert noted(spread, "ask") == []


EVALUATORS = """
from pytest_heta import BeirRetrievalMetric

class Mine(BeirRetrievalMetric):
    definition = "{definition}"

def pytest_heta_evaluators(config, benchmark):
    return [Mine("ndcg", 1)]
"""


def test_another_definition_of_a_metric_is_asked_anew(project: Project) -> None:
    """A score of the same name that means something else is not taken over."""
    ids = write_noting(project)
    for definition, asked in (("one", ids), ("one", []), ("two", ids)):
        project.write("conftest.py", EVALUATORS.format(definition=definition))
        forget_notes(project)
        result = run(project, *(["--heta-resume"] if run_folder(project) else []))
        assert noted(project, "ask") == asked
    assert "so everything is asked anew: evaluators: beir_ndcg@1 differ" in ran(result)


def test_an_unknown_run_is_refused(spread: Project) -> None:
    """With the runs that there are; also where a suite file comes to light in the workers."""
    write_noting(spread)
    result = spread.run(*EVALUATION, "--heta-resume=nope")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert "ERROR: unknown run in" in ran(result)
    run(spread)
    known = run_folder(spread)
    assert known is not None
    spread.write("s.heta.toml", 'benchmark = "jsonl:many"\nrecipe = "r.py"\n')
    for args in (EVALUATION, ("s.heta.toml",)):
        result = spread.run(*args, "--heta-resume=nope")
        assert result.ret != 0
        assert known.parent.name in ran(result)
        assert "Traceback" not in ran(result)


def test_a_run_is_resumed_by_its_name(project: Project) -> None:
    """Not the last one, but the named one, and only what is selected."""
    ids = write_noting(project)
    run(project, "--heta-limit=20")
    first = run_folder(project)
    assert first is not None
    run(project, "--heta-limit=5")
    forget_notes(project)
    run(project, f"--heta-resume={first.parent.name}", "--heta-limit=25").assert_outcomes(passed=25)
    assert noted(project, "ask") == ids[20:25]
    assert len(project.report().cases) == 25


FAILING = """
BROKEN = Path(__file__).with_name("broken.txt")
ask = Base.query

async def query(self, text, **options):
    if BROKEN.exists() and text.endswith("3"):
        note("ask", text)
        raise ValueError("no")
    return await ask(self, text, **options)

Base.query = query
"""


def test_what_errored_is_asked_again(spread: Project) -> None:
    """And counts as it then comes out."""
    write_noting(spread, recipe=FAILING)
    broken = spread.write("broken.txt", "")
    run(spread).assert_outcomes(passed=27, errors=3)
    forget_notes(spread)
    run(spread, "--heta-resume").assert_outcomes(passed=27, errors=3)
    assert sorted(noted(spread, "ask")) == ["u0-c13", "u0-c23", "u0-c3"]
    broken.unlink()
    run(spread, "--heta-resume").assert_outcomes(passed=30)
    forget_notes(spread)
    run(spread, "--heta-resume").assert_outcomes(passed=30)
    assert noted(spread, "ask") == []
    assert {count.scored for count in spread.report().counts.values()} == {30}
