"""A run that was killed is taken up where it was; one of something else is not."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pytest_heta.engine.journal import JournalHeader, JournalWriter
from pytest_heta.engine.resume import finished_results
from pytest_heta.errors import ReportError
from pytest_heta.records import EvaluationCaseResult, EvaluationError, EvaluationScore

HEADER = JournalHeader.model_validate(
    {"benchmark": "toy@test", "benchmark_digest": "d1", "recipe": "bm25", "recipe_fingerprint": "f1"}
    | {"modes": ("search",), "evaluators": {"recall@2": "recall"}, "depth": 2}
)
ERROR = EvaluationError(message="no", error_type="QueryError")


def result(case_id: str, status: str = "finished", error: EvaluationError | None = None) -> EvaluationCaseResult:
    """A result with a score of its own."""
    scores = (EvaluationScore(name="recall@2", value=0.5),) if status == "finished" else ()
    return EvaluationCaseResult.model_validate(
        {"unit_id": "u", "case_id": case_id, "mode": "search", "status": status, "scores": scores, "error": error}
    )


def write(folder: Path, *results: EvaluationCaseResult, header: JournalHeader = HEADER) -> Path:
    """Write one file of a journal and return its path."""
    with JournalWriter(folder, "main", header) as journal:
        for one in results:
            journal.write(one.model_dump_json())
    return journal.path


def test_only_what_finished_without_an_error_is_done(tmp_path: Path) -> None:
    """What errored, was not run or lacks a score is asked again."""
    write(
        tmp_path,
        result("1"),
        result("2", "errored", ERROR),
        result("3", "not_run"),
        result("4", error=ERROR),
    )
    notices: list[str] = []
    assert finished_results(tmp_path, HEADER, notice=notices.append) == {("u", "1", "search"): result("1")}
    assert notices == []


def test_a_run_that_was_resumed_before_is_read_as_one(tmp_path: Path) -> None:
    """Each of its journals counts, and a second answer to a case that had errored wins."""
    write(tmp_path, result("1"), result("2", "errored", ERROR))
    write(tmp_path, result("2"), result("3"))
    found = finished_results(tmp_path, HEADER, notice=print)
    assert [key[1] for key in found] == ["1", "2", "3"]


def test_another_selection_does_not_matter(tmp_path: Path) -> None:
    """The same case has the same result."""
    write(tmp_path, result("1"), header=HEADER.model_copy(update={"selection": {"limit": 5}}))
    assert len(finished_results(tmp_path, HEADER, notice=print)) == 1


@pytest.mark.parametrize(
    ("change", "difference"),
    [
        ({"benchmark_digest": "d2"}, "benchmark digest: 'd1' before, 'd2' now"),
        ({"recipe_fingerprint": "f2"}, "recipe fingerprint: 'f1' before, 'f2' now"),
        ({"modes": ("search", "other")}, r"modes: \('search',\) before, \('search', 'other'\) now"),
        ({"evaluators": {"recall@2": "other"}}, "evaluators: recall@2 differ"),
        ({"depth": 5}, "depth: 2 before, 5 now"),
    ],
)
def test_another_evaluation_is_not_taken_over(tmp_path: Path, change: dict[str, object], difference: str) -> None:
    """It says what differs."""
    write(tmp_path, result("1"))
    notices: list[str] = []
    assert finished_results(tmp_path, HEADER.model_copy(update=change), notice=notices.append) == {}
    with pytest.raises(AssertionError, match=f"was another evaluation, so everything is asked anew: {difference}"):
        raise AssertionError(*notices)


def test_an_empty_folder_says_so(tmp_path: Path) -> None:
    """As of a run that was killed at once, or that evaluated something else; one that cannot be read is an error."""
    notices: list[str] = []
    assert finished_results(tmp_path, HEADER, notice=notices.append) == {}
    assert notices == [f"{tmp_path} holds no journal, so nothing can be resumed: everything is asked anew"]
    assert finished_results(tmp_path / "other", HEADER, notice=notices.append) == {}
    assert notices[1].startswith(f"{tmp_path / 'other'} holds no journal")
    (tmp_path / "file").write_text("")
    with pytest.raises(ReportError, match="cannot be read"):
        finished_results(tmp_path / "file", HEADER, notice=print)


def test_a_torn_line_costs_its_case_alone(tmp_path: Path) -> None:
    """And is told."""
    path = write(tmp_path, result("1"), result("2"))
    path.write_bytes(path.read_bytes()[:-20])
    notices: list[str] = []
    assert [key[1] for key in finished_results(tmp_path, HEADER, notice=notices.append)] == ["1"]
    assert len(notices) == 1
    assert "a line of the journal is not whole" in notices[0]


PROGRAM = """
import sys
from pathlib import Path
from pytest_heta.engine.journal import JournalHeader, JournalWriter
from pytest_heta.engine.resume import finished_results

folder, header, result = Path(sys.argv[1]), JournalHeader.model_validate_json(sys.argv[2]), sys.argv[3]
done = finished_results(folder, header, notice=lambda message: None)
with JournalWriter(folder, "main", header) as journal:
    print("ready", flush=True)
    for case in map(str, range(100_000)):
        if ("u", case, "search") not in done:
            journal.write(result.replace("CASE", case))
            print(case, flush=True)
"""


def test_killed_at_any_moment_nothing_is_lost_and_nothing_asked_twice(tmp_path: Path) -> None:
    """kill -9, 20 times at random moments: what a run has told is done for the next, which goes on behind it."""
    told: list[str] = []
    source = random.Random(4)
    for _ in range(20):
        process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, tmp_path, HEADER.model_dump_json(), result("CASE").model_dump_json()],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        time.sleep(source.uniform(0, 0.02))
        process.send_signal(signal.SIGKILL)
        told += process.stdout.read().split()
        process.stdout.close()
        process.wait()
    found = [key[1] for key in finished_results(tmp_path, HEADER, notice=lambda message: None)]
    assert len(told) > 20
    assert set(told) <= set(found)
    assert len(told) == len(set(told))
