"""The journal keeps what finished, whatever happens to its writers."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_heta.engine.journal import JournalHeader, JournalWriter, explain_difference, read_journal
from pytest_heta.errors import ReportError
from pytest_heta.records import EvaluationCaseResult, EvaluationError, EvaluationScore, RankedHit

HEADER = JournalHeader(
    benchmark="beir_scifact official test",
    benchmark_digest="d1",
    recipe="recipes/bm25.py",
    recipe_fingerprint="f1",
    modes=("full_text_search",),
    evaluators={"beir_ndcg@10": "linear gain", "beir_map@10": "trec_eval"},
    selection={"limit": 10},
)


def result(case: str, *, mode: str = "full_text_search", value: float = 0.5) -> EvaluationCaseResult:
    """Make the result of a finished case."""
    return EvaluationCaseResult(
        unit_id="corpus",
        case_id=case,
        mode=mode,
        status="finished",
        query="Wärme\u2028und\nLicht?",
        scores=(EvaluationScore(name="beir_ndcg@10", value=value), EvaluationScore.unscored("x", "no gold answer")),
        hits=(RankedHit(id="c1", document_id="dé", score=1.25),),
        latency_ms=3.5,
    )


def errored(case: str) -> EvaluationCaseResult:
    """Make the result of a case whose query failed."""
    return EvaluationCaseResult(
        unit_id="corpus",
        case_id=case,
        mode="full_text_search",
        status="errored",
        error=EvaluationError(message="timed out", error_type="TimeoutError", retryable=True, attempts=4),
    )


def write(folder: Path, writer: str, *results: EvaluationCaseResult, header: JournalHeader = HEADER) -> Path:
    """Write a journal file and return its path."""
    with JournalWriter(folder, writer, header) as journal:
        for one in results:
            journal.write(one.model_dump_json())
    return journal.path


def test_round_trip(tmp_path: Path) -> None:
    """What several writers wrote comes back whole and sorted, with the header, and the lines are the wire's bytes."""
    path = write(tmp_path, "gw1", result("3"), errored("1"))
    write(tmp_path, "gw0", result("2"), result("2", mode="vector_search"))
    header, results = read_journal(tmp_path)
    assert header == HEADER
    assert results == (errored("1"), result("2"), result("2", mode="vector_search"), result("3"))
    assert path.read_text(encoding="utf-8").split("\n")[1:] == [
        result("3").model_dump_json(),
        errored("1").model_dump_json(),
        "",
    ]


def test_writers_never_share_a_file(tmp_path: Path) -> None:
    """A writer with the name of an earlier one, as after a resume, gets a file of its own."""
    first, second = write(tmp_path, "main", result("1")), write(tmp_path, "main", result("2"))
    assert first != second
    assert [one.case_id for one in read_journal(tmp_path)[1]] == ["1", "2"]


def test_line_is_there_at_once(tmp_path: Path) -> None:
    """A line can be read as soon as it is written, before the journal is closed."""
    with JournalWriter(tmp_path, "main", HEADER) as journal:
        journal.write(result("1").model_dump_json())
        assert read_journal(tmp_path)[1] == (result("1"),)


def test_same_case_counts_once(tmp_path: Path) -> None:
    """A case that finished twice counts once: a finished result before an errored one, else the first writer's."""
    write(tmp_path, "a", errored("1"), result("2", value=0.25))
    write(tmp_path, "b", result("1", value=0.75), result("2", value=1.0), errored("2"))
    assert read_journal(tmp_path)[1] == (result("1", value=0.75), result("2", value=0.25))


def test_torn_at_every_byte(tmp_path: Path) -> None:
    """A file cut at any byte yields exactly the results whose lines are whole, and tells where one is not."""
    path = write(tmp_path, "main", result("1"), errored("2"))
    data = path.read_bytes()
    lines = data.split(b"\n")[:-1]
    ends = [len(b"\n".join(lines[: number + 1])) for number in range(len(lines))]
    for cut in range(len(data) + 1):
        path.write_bytes(data[:cut])
        notices: list[str] = []
        header, results = read_journal(tmp_path, notice=notices.append)
        whole = sum(end <= cut for end in ends)
        assert (header is None) == (whole == 0)
        assert results == (result("1"), errored("2"))[: max(0, whole - 1)]
        torn = cut not in (0, *ends, *(end + 1 for end in ends))
        assert [notice.split(": ")[0] for notice in notices] == ([f"{path}:{whole + 1}"] if torn else [])


WHOLE = [HEADER.model_dump_json().encode(), *(result(str(case)).model_dump_json().encode() for case in range(5))]


@given(st.lists(st.tuples(st.integers(1, 5), st.one_of(st.none(), st.integers(1, 400))), max_size=12))
def test_torn_lines_in_the_middle(
    tmp_path_factory: pytest.TempPathFactory, parts: list[tuple[int, int | None]]
) -> None:
    """Lines torn in the middle of a file cost only themselves."""
    folder = tmp_path_factory.mktemp("journal")
    lines = [WHOLE[case] if cut is None else WHOLE[case][: min(cut, len(WHOLE[case]) - 1)] for case, cut in parts]
    (folder / "main.1.journal.jsonl").write_bytes(b"\n".join([WHOLE[0], *lines]))
    notices: list[str] = []
    _, results = read_journal(folder, notice=notices.append)
    assert {one.case_id for one in results} == {str(case - 1) for case, cut in parts if cut is None}
    assert len(notices) == sum(cut is not None for _, cut in parts)


WRITER = """
import itertools, sys
from pathlib import Path
from tests.engine.test_journal import HEADER, result
from pytest_heta.engine.journal import JournalWriter
with JournalWriter(Path(sys.argv[1]), sys.argv[2], HEADER) as journal:
    print("ready", flush=True)
    for number in itertools.count():
        journal.write(result(f"{number:06}").model_dump_json())
        print(number, flush=True)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL on Windows")
def test_killed_writer(tmp_path: Path) -> None:
    """Everything that a writer reported as written before kill -9 is read again, wherever the kill hit."""
    command = [sys.executable, "-c", WRITER, str(tmp_path), "main"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        time.sleep(0.05)
        process.send_signal(signal.SIGKILL)
        reported = [int(line) for line in process.stdout.read().split("\n")[:-1]]
    _, results = read_journal(tmp_path)
    assert len(reported) > 0
    assert len(results) in (len(reported), len(reported) + 1)
    assert [one.case_id for one in results] == [f"{number:06}" for number in range(len(results))]


LIMITED = """
import resource, sys
from pathlib import Path
from tests.engine.test_journal import HEADER, result
from pytest_heta.engine.journal import JournalWriter
from pytest_heta.errors import ReportError
journal = JournalWriter(Path(sys.argv[1]), "main", HEADER)
hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
resource.setrlimit(resource.RLIMIT_FSIZE, (2000, hard))
for number in range(100):
    try:
        journal.write(result(str(number)).model_dump_json())
    except ReportError as error:
        print(number, error)
        break
resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
journal.write(result("after").model_dump_json())
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no limit on the size of a file")
def test_no_room_in_the_middle_of_a_line(tmp_path: Path) -> None:
    """A line that does not fit is a ReportError; what was there before is kept, and writing can go on later."""
    command = [sys.executable, "-c", LIMITED, str(tmp_path)]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    number, message = printed.split(" ", 1)
    assert message.startswith(f"{tmp_path / 'main.1.journal.jsonl'}: the journal cannot be written: File too large.")
    notices: list[str] = []
    _, results = read_journal(tmp_path, notice=notices.append)
    assert {one.case_id for one in results} == {*map(str, range(int(number))), "after"}
    assert len(notices) == 1


def test_folder_that_cannot_be_made(tmp_path: Path) -> None:
    """A folder that cannot be made, or is not there to read, is a ReportError that names it."""
    (tmp_path / "file").write_text("")
    with pytest.raises(ReportError, match="run: the journal cannot be created: Not a directory"):
        JournalWriter(tmp_path / "file" / "run", "main", HEADER)
    with pytest.raises(ReportError, match="none: the journal cannot be read: No such file or directory"):
        read_journal(tmp_path / "none")


def test_empty_folder(tmp_path: Path) -> None:
    """A run in which nobody wrote anything has no header and no results."""
    assert read_journal(tmp_path) == (None, ())


def test_files_of_different_evaluations(tmp_path: Path) -> None:
    """Files of different evaluations in one folder are an error that says what differs; selections may differ."""
    write(tmp_path, "a", result("1"))
    write(tmp_path, "b", result("2"), header=HEADER.model_copy(update={"selection": {"limit": 20}}))
    assert len(read_journal(tmp_path)[1]) == 2
    write(tmp_path, "c", header=HEADER.model_copy(update={"recipe_fingerprint": "f2"}))
    with pytest.raises(ReportError, match=r"different evaluations: recipe fingerprint: 'f1' before, 'f2' now"):
        read_journal(tmp_path)


def test_explain_difference() -> None:
    """Each field that differs is explained, evaluators by name; ignored fields are not."""
    changes = {
        "modes": ("vector_search",),
        "evaluators": {
            "beir_ndcg@10": "exponential gain",
            "beir_mrr@10": "reciprocal rank",
            "beir_map@10": "trec_eval",
        },
        "selection": {},
    }
    other = HEADER.model_copy(update=changes)
    assert explain_difference(HEADER, HEADER) == []
    assert explain_difference(HEADER, other, ignore=("selection",)) == [
        "modes: ('full_text_search',) before, ('vector_search',) now",
        "evaluators: beir_mrr@10, beir_ndcg@10 differ",
    ]
    assert explain_difference(HEADER, other)[-1] == "selection: limit differ"
