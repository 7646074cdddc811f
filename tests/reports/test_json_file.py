"""The report file: whole or not at all, readable, and read back as it was."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_heta.errors import ReportError
from pytest_heta.records import EvaluationReport, RankedHit
from pytest_heta.reports.gates import check_report
from pytest_heta.reports.json_file import read_report, write_report
from pytest_heta.reports.thresholds import parse_threshold
from tests.reports.samples import errored, finished, not_run, report_of


def _report(**fields: Any) -> EvaluationReport:
    hits = (RankedHit(id="d1#0", document_id="d1", score=0.1 + 0.2), RankedHit(id="d2#1"))
    case = finished("1", {"a": 1 / 3, "b": None}, hits=hits, query="où\u2028est \U0001f980?", latency_ms=1.25)
    report = report_of([case, errored("2"), not_run("3")], ("a", "b"), **fields)
    return report.model_copy(update={"gates": check_report([parse_threshold("a=0.1", "min")], report)})


def test_a_report_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    """Every value survives, to the last bit of a float, and folders are made."""
    path = tmp_path / "deep" / "er" / "report.json"
    report = _report()
    write_report(path, report)
    assert read_report(path) == report
    assert [file.name for file in path.parent.iterdir()] == ["report.json"]


def test_the_file_is_plain_json_with_one_case_a_line(tmp_path: Path) -> None:
    """UTF-8, LF, no BOM; the fields in the record's order with the cases last; defaults are left out of cases only."""
    path = tmp_path / "report.json"
    write_report(path, _report())
    text = path.read_bytes().decode("utf-8")
    fields = json.loads(text)
    assert list(fields) == [*(name for name in EvaluationReport.model_fields if name != "cases"), "cases"]
    assert fields["metadata"] == {}
    lines = text.split("\n")
    first = lines.index(' "cases": [') + 1
    assert [json.loads(line.rstrip(",")) for line in lines[first : first + 3]] == fields["cases"]
    assert lines[first + 3 :] == [" ]", "}", ""]
    assert "où\u2028est \U0001f980?" in lines[first]
    assert lines[first + 2] == '  {"unit_id":"corpus","case_id":"3","mode":"vector_search","status":"not_run"}'


def test_the_same_report_gives_the_same_bytes(tmp_path: Path) -> None:
    """Two runs that differ in nothing give files that differ in nothing."""
    write_report(tmp_path / "a.json", _report())
    write_report(tmp_path / "b.json", _report())
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()


def test_a_report_without_cases_is_valid(tmp_path: Path) -> None:
    """An empty list of cases is still JSON, and reads back."""
    report = report_of([])
    write_report(tmp_path / "report.json", report)
    assert read_report(tmp_path / "report.json") == report


def test_json_never_holds_nan_or_infinity(tmp_path: Path) -> None:
    """In labels and manifests they become null."""
    path = tmp_path / "report.json"
    report = _report(recipe={"name": "r", "alpha": float("inf")})
    case = report.cases[0].model_copy(update={"labels": {"x": float("nan"), "y": [float("-inf"), 1.5]}})
    write_report(path, report.model_copy(update={"cases": (case,)}))

    def refuse(word: str) -> None:
        raise AssertionError(word)

    fields = json.loads(path.read_bytes(), parse_constant=refuse)
    assert fields["recipe"]["alpha"] is None
    assert fields["cases"][0]["labels"] == {"x": None, "y": [None, 1.5]}


def test_what_is_not_json_is_named_and_the_old_file_stays(tmp_path: Path) -> None:
    """A failure half way through leaves the older report whole and no temporary file."""
    path = tmp_path / "report.json"
    report = _report()
    write_report(path, report)
    before = path.read_bytes()
    bad = report.cases[1].model_copy(update={"metadata": {"x": object()}})
    with pytest.raises(ReportError, match=r"case 2 \(vector_search\) holds something that is not JSON"):
        write_report(path, report.model_copy(update={"cases": (report.cases[0], bad)}))
    with pytest.raises(ReportError, match="report r1 holds something that is not JSON"):
        write_report(path, report.model_copy(update={"recipe": {"x": object()}}))
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_a_path_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    """A folder in the place of the file, or a file in the place of a folder; nothing is left behind."""
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("x")
    for path in (tmp_path / "folder", tmp_path / "file" / "report.json"):
        with pytest.raises(ReportError) as caught:
            write_report(path, _report())
        assert str(caught.value).startswith(f"{path}: the report cannot be written: ")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["file", "folder"]


def test_another_schema_version_is_refused(tmp_path: Path) -> None:
    """A newer file is not misread, even where it has fields that are unknown here."""
    path = tmp_path / "report.json"
    path.write_text(json.dumps({"schema_version": 2, "news": []}))
    with pytest.raises(ReportError, match="schema version 2 is not the 1 that this pytest-heta reads"):
        read_report(path)


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (b"", "Invalid JSON: EOF"),
        (b'{"schema_version": 1', "Invalid JSON: EOF"),
        (b"\xff{}", "Invalid JSON"),
        (b"[]", "valid dictionary or object|Input should be an object"),
        (b"{}", "schema_version: Field required"),
        (b'{"schema_version": 1}', "report_id: Field required"),
    ],
)
def test_a_malformed_file_says_what_is_wrong(tmp_path: Path, content: bytes, fault: str) -> None:
    """One message with the path and the first fault."""
    path = tmp_path / "report.json"
    path.write_bytes(content)
    with pytest.raises(ReportError, match=f"report.json: not an evaluation report: .*({fault})"):
        read_report(path)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    """Reading what is not there says so."""
    with pytest.raises(ReportError, match=r"none\.json: the report cannot be read: No such file"):
        read_report(tmp_path / "none.json")
