"""The run store."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_heta.errors import ReportError, UsageError
from pytest_heta.reports.history import RunStore, read_head
from pytest_heta.reports.json_file import write_report
from tests.reports.samples import finished, report_of

REPORT = report_of([finished("1", {"beir_ndcg@10": 0.5}, query=' "cases": [')])


def _store(folder: Path) -> RunStore:
    """Two runs; the second has two evaluations and one that was cut short."""
    for run, evaluation in (("2026a", "bm25"), ("2026b", "bm25"), ("2026b", "bm25-large")):
        write_report(folder / run / evaluation / "report.json", REPORT)
    (folder / "2026b" / "killed").mkdir()
    (folder / "stray.txt").write_text("x")
    return RunStore(folder)


def test_runs_and_evaluations_are_listed(tmp_path: Path) -> None:
    """The oldest run first; an evaluation without a report is listed as unfinished."""
    store = _store(tmp_path)
    assert store.run_ids() == ["2026a", "2026b"]
    found = store.evaluations("2026b")
    assert [one.name for one in found] == ["2026b/bm25", "2026b/bm25-large", "2026b/killed"]
    assert found[0].head == REPORT.model_copy(update={"cases": ()})
    assert (found[2].head, found[2].problem) == (None, "unfinished")


def test_no_folder_is_no_run(tmp_path: Path) -> None:
    """A store that does not exist yet is empty."""
    assert RunStore(tmp_path / "none").run_ids() == []


def test_names_may_be_shortened(tmp_path: Path) -> None:
    """To any beginning that only one has; the whole name wins over longer ones."""
    store = _store(tmp_path)
    assert store.report("2026a") == REPORT
    assert [one.name for one in store.find("2026b/bm25")] == ["2026b/bm25"]
    assert [one.name for one in store.find("2026b/bm")] == ["2026b/bm25", "2026b/bm25-large"]
    assert store.report("2026b/bm25-") == REPORT
    assert store.report(str(tmp_path / "2026a" / "bm25" / "report.json")) == REPORT


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("2027", "no run in .* has an id that begins with '2027'"),
        ("", "no run in .* has an id that begins with ''"),
        ("2026", "several runs begin with '2026': 2026a, 2026b"),
        ("2026a/vector", "run 2026a in .* has no evaluation whose name begins with 'vector'"),
        ("2026b/bm", "2026b/bm holds several evaluations, name one: 2026b/bm25, 2026b/bm25-large"),
        ("../2026a", "no run in .* has an id that begins with '..'"),
    ],
)
def test_names_that_name_nothing_or_too_much(tmp_path: Path, name: str, message: str) -> None:
    """One message that lists what there is to choose from."""
    with pytest.raises(UsageError, match=message):
        _store(tmp_path).report(name)


def test_a_run_is_removed_whole(tmp_path: Path) -> None:
    """By its beginning; others stay, and an ambiguous one removes nothing."""
    store = _store(tmp_path)
    with pytest.raises(UsageError, match="several runs"):
        store.remove("2026")
    assert store.remove("2026b") == "2026b"
    assert store.run_ids() == ["2026a"]


def test_a_head_is_read_without_the_cases(tmp_path: Path) -> None:
    """Also of a file that was formatted anew; a broken one says what is wrong."""
    head = REPORT.model_copy(update={"cases": ()})
    path = tmp_path / "report.json"
    write_report(path, REPORT)
    assert read_head(path) == head
    whole = path.read_bytes()
    path.write_bytes(whole[: whole.rindex(b'"unit_id"')])  # cut within the cases, which are not looked at
    assert read_head(path) == head
    path.write_text(REPORT.model_dump_json(indent=4))
    assert read_head(path) == head
    path.write_text('{"schema_version": 1}')
    with pytest.raises(ReportError, match="not an evaluation report"):
        read_head(path)
    path.write_bytes(whole.replace(b'"schema_version": 1', b'"schema_version": 999'))
    with pytest.raises(ReportError, match="schema version 999"):
        read_head(path)


def test_a_broken_report_does_not_hide_the_others(tmp_path: Path) -> None:
    """It is listed with what is wrong with it."""
    store = _store(tmp_path)
    (tmp_path / "2026a" / "bm25" / "report.json").write_text("{")
    (broken,) = store.evaluations("2026a")
    assert broken.head is None
    assert "not an evaluation report" in broken.problem
