"""``python -m pytest_heta runs``."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_heta.__main__ import main
from pytest_heta.reports.gates import check_report
from pytest_heta.reports.json_file import write_report
from pytest_heta.reports.thresholds import parse_threshold
from tests.reports.samples import finished, report_of

METRIC = "beir_ndcg@10"
GIT = {"commit": "0123456789abcdef", "branch": "main", "dirty": True}


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """Two finished runs and one that was killed."""
    for run, value in (("r1", 0.25), ("r2", 0.75)):
        report = report_of([finished("1", {METRIC: value})], report_id=run, metadata={"git": GIT})
        gates = check_report([parse_threshold("ndcg@10=0.5", "min")], report)
        write_report(tmp_path / "runs" / run / "bm25" / "report.json", report.model_copy(update={"gates": gates}))
    (tmp_path / "runs" / "r3" / "bm25").mkdir(parents=True)
    return tmp_path / "runs"


def test_list(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each run with its evaluations: benchmark, recipe, time, commit, gates, headline means."""
    assert main(["runs", "list", "--runs", str(store)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[:4] == [
        "r1",
        "  bm25",
        "    beir_scifact@test (official) with vector, 2026-01-02T03:04:05Z, 012345678...",
        "    vector_search: ndcg@10 0.2500",
    ]
    assert lines[-3:] == ["r3", "  bm25: unfinished", f"3 runs in {store}"]


def test_a_wide_terminal_shows_the_commit(
    store: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the branch, whether files differed from it, and the gates."""
    monkeypatch.setenv("COLUMNS", "200")
    main(["runs", "list", "--runs", str(store)])
    assert ", 0123456789 on main (dirty), 0 of 1 gate\n" in capsys.readouterr().out


def test_show(store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The summary of the run, and the report in other formats."""
    assert main(["runs", "show", "r2", "--runs", str(store), "--report", str(tmp_path / "out.md")]) == 0
    out = capsys.readouterr().out
    assert "gates: 1 of 1 passed" in out
    assert f"report: {store / 'r2' / 'bm25' / 'report.json'}" in out
    assert (tmp_path / "out.md").read_text(encoding="utf-8").startswith("### ✅ beir_scifact")


def test_a_report_file_is_of_one_evaluation(store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Where a run holds several, none is written over another: the message lists them."""
    write_report(store / "r1" / "vector" / "report.json", report_of([finished("1", {METRIC: 1.0})]))
    assert main(["runs", "show", "r1", "--runs", str(store), "--report", str(tmp_path / "out.md")]) == 2
    assert "r1 holds several evaluations, name one: r1/bm25, r1/vector" in capsys.readouterr().err
    assert not (tmp_path / "out.md").exists()


def test_compare(store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The others against the first, in the terminal and in a file; a path names a report too."""
    path = str(store / "r2" / "bm25" / "report.json")
    page = tmp_path / "out.html"
    assert main(["runs", "compare", "r1", path, "--runs", str(store), "--report", str(page)]) == 0
    out = capsys.readouterr().out
    assert "2 results compared" in out
    assert "0.7500 +0.5000" in out
    assert f"report: {page}" in out
    assert "vector, vector_search (r2)" in page.read_text(encoding="utf-8")


def test_rm(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The runs go with all that they hold."""
    assert main(["runs", "rm", "r1", "r3", "--runs", str(store)]) == 0
    assert capsys.readouterr().out == "removed r1\nremoved r3\n"
    assert [entry.name for entry in store.iterdir()] == ["r2"]


def test_an_unknown_run_is_bad_usage(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 2 and one line."""
    assert main(["runs", "show", "x", "--runs", str(store)]) == 2
    assert capsys.readouterr().err == f"error: no run in {store} has an id that begins with 'x'\n"


def test_an_unfinished_run_has_nothing_to_show(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 1, and the file that is missing."""
    assert main(["runs", "show", "r3", "--runs", str(store)]) == 1
    assert "report.json: the report cannot be read: No such file" in capsys.readouterr().err


def test_an_unknown_format_is_bad_usage(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Said before anything is done."""
    with pytest.raises(SystemExit) as exit_:
        main(["runs", "show", "r1", "--runs", str(store), "--report", "out.pdf"])
    assert exit_.value.code == 2
    assert "out.pdf: no report format has this suffix" in capsys.readouterr().err
