"""The rows for other tools."""

from __future__ import annotations

import csv
import sys
from pathlib import Path
from typing import Any

import pytest

from pytest_heta.errors import ReportError, UsageError
from pytest_heta.records import EvaluationReport
from pytest_heta.reports.json_file import read_report
from pytest_heta.reports.writers import WRITERS, write_report_file, writer_of
from pytest_heta.reports.writers.table import Row
from tests.reports.samples import MODE, errored, finished, not_run, report_of

AWKWARD = 'a "quoted", text\nin two lines'


def _report(**fields: Any) -> EvaluationReport:
    first = finished("1", {"a": 1 / 3, "b": None}, latency_ms=1.5, labels={"kind": AWKWARD, "n": 2})
    return report_of([first, errored("2", AWKWARD), not_run("3")], ("a", "b"), **fields)


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_every_case_mode_and_metric_is_one_row(tmp_path: Path) -> None:
    """Nothing that was planned is absent, whatever became of it, and each row says what did."""
    write_report_file(tmp_path / "r.csv", _report())
    rows = _rows(tmp_path / "r.csv")
    assert [(row["case_id"], row["metric"], row["status"], row["value"]) for row in rows] == [
        ("1", "a", "finished", repr(1 / 3)),
        ("1", "b", "finished", ""),
        ("2", "a", "errored", ""),
        ("2", "b", "errored", ""),
        ("3", "a", "not_run", ""),
        ("3", "b", "not_run", ""),
    ]
    assert [rows[place]["reason"] for place in (0, 1, 2)] == ["", "no label", ""]
    assert rows[2]["error"] == f"QueryError: {AWKWARD}"
    assert rows[0]["labels"] == '{"kind": "a \\"quoted\\", text\\nin two lines", "n": 2}'
    assert (rows[0]["mode"], rows[0]["hits"], rows[0]["latency_ms"], rows[0]["shallow"]) == (MODE, "1", "1.5", "false")
    assert list(rows[0]) == list(Row._fields)


def test_the_rows_of_other_reports_follow(tmp_path: Path) -> None:
    """Recipe and report id tell them apart."""
    other = _report(report_id="r2", recipe={"name": "bm25"})
    write_report_file(tmp_path / "r.csv", _report(), others=[other])
    assert [(row["recipe"], row["report_id"]) for row in _rows(tmp_path / "r.csv")] == [("vector", "r1")] * 6 + [
        ("bm25", "r2")
    ] * 6


def test_parquet_holds_the_same_rows_typed(tmp_path: Path) -> None:
    """Numbers are numbers, booleans booleans, and what is absent is null."""
    parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")
    write_report_file(tmp_path / "r.parquet", _report())
    rows = parquet.read_table(tmp_path / "r.parquet").to_pylist()
    assert [list(row) for row in rows] == [list(Row._fields)] * 6
    assert [row["value"] for row in rows] == [1 / 3, None, None, None, None, None]
    assert (rows[0]["hits"], rows[0]["amortised"], rows[0]["latency_ms"], rows[2]["latency_ms"]) == (
        1,
        False,
        1.5,
        None,
    )


def test_parquet_without_pyarrow_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One message with the command, and no file."""
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(UsageError, match=r"pip install 'pytest-heta\[parquet\]'"):
        write_report_file(tmp_path / "r.parquet", _report())
    assert list(tmp_path.iterdir()) == []


def test_a_report_without_cases_is_a_table_without_rows(tmp_path: Path) -> None:
    """The header alone is left."""
    write_report_file(tmp_path / "r.csv", report_of([]))
    assert (tmp_path / "r.csv").read_text() == ",".join(Row._fields) + "\n"


def test_the_suffix_names_the_format(tmp_path: Path) -> None:
    """In any case of its letters; JSON is the report itself."""
    assert write_report_file(tmp_path / "deep" / "R.JSON", _report()) == (tmp_path / "deep" / "R.JSON",)
    assert read_report(tmp_path / "deep" / "R.JSON") == _report()


def test_an_unknown_suffix_is_refused() -> None:
    """The message names the file and lists the formats."""
    with pytest.raises(UsageError, match=r"out\.pdf: no report format has this suffix \(known: \.json, \.html"):
        writer_of(Path("out.pdf"))


@pytest.mark.parametrize("suffix", [suffix for suffix in WRITERS if suffix != ".parquet"])
def test_a_path_that_cannot_be_written_is_named(tmp_path: Path, suffix: str) -> None:
    """Every format says which file it was, and leaves nothing behind."""
    (tmp_path / "file").write_text("x")
    path = tmp_path / "file" / f"report{suffix}"
    with pytest.raises(ReportError) as caught:
        write_report_file(path, _report())
    assert str(caught.value).startswith(f"{path}: the report cannot be written: ")
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize("suffix", list(WRITERS))
def test_the_same_report_gives_the_same_bytes(tmp_path: Path, suffix: str) -> None:
    """Nothing of the time or place of writing gets into a file."""
    if suffix == ".parquet":
        pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    paths = [write_report_file(tmp_path / f"{name}{suffix}", _report())[0] for name in "ab"]
    assert paths[0].read_bytes() == paths[1].read_bytes()
