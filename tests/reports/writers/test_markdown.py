"""Markdown for pull requests and step summaries."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_heta.errors import ReportError
from pytest_heta.records import GoldLabel
from pytest_heta.reports.gates import check_report
from pytest_heta.reports.thresholds import parse_threshold
from pytest_heta.reports.writers import write_report_file
from pytest_heta.reports.writers.markdown import STEP_SUMMARY_LIMIT, append_step_summary, escaped, markdown
from tests.reports.samples import errored, finished, not_run, report_of

METRIC = "beir_ndcg@10"


def test_verdict_gates_and_means_come_first(tmp_path: Path) -> None:
    """A failed gate is marked with its reason; a report beside another shows the difference of each mean."""
    report = report_of([finished("1", {METRIC: 0.75}), finished("2", {METRIC: 0.5})])
    report = report.model_copy(update={"gates": check_report([parse_threshold("ndcg@10=0.9", "min")], report)})
    other = report_of([finished("1", {METRIC: 0.5})], recipe={"name": "bm25"})
    (path,) = write_report_file(tmp_path / "out.md", report, others=[other])
    lines = path.read_text(encoding="utf-8").splitlines()
    assert lines[0] == "### ❌ beir_scifact@test (official) with vector"
    assert lines[2].startswith("2 cases, 1 mode, 0 of 1 gate passed; report `r1` of 2026-01-02")
    gate = "vector_search.ndcg@10 &gt;= 0.9"
    reason = "ndcg@10 = 0.625, below the minimum 0.900 (beir_scifact, vector_search, 2 cases)"
    assert f"| ❌ | {gate} | {reason} |" in lines
    assert "|  | vector, vector_search | bm25, vector_search | difference |" in lines
    assert "| ndcg@10 | 0.6250 | 0.5000 | -0.1250 |" in lines


def test_what_the_means_are_over_is_said_where_it_is_not_every_case() -> None:
    """Errored and missing cases make the verdict bad and show their counts."""
    report = report_of([finished("1", {METRIC: 1.0}), errored("2", "no *luck*"), not_run("3")])
    text = markdown(report)
    assert text.startswith("### ❌ ")
    assert f"| vector_search.{METRIC} | 3 | 1 | 0 | 1 | 1 |" in text
    assert "**1 error**\n\n- 1 × QueryError: no &#42;luck&#42; (first: case 2 (vector_search))" in text
    assert "planned" not in markdown(report_of([finished("1", {METRIC: 1.0})]))


def test_the_lowest_cases_show_what_was_expected() -> None:
    """In a folded part, with query and gold under their original ids; the best are not among them."""
    gold = (GoldLabel(document_id="a=2Fb", original_id="a/b"), *(GoldLabel(document_id=str(n)) for n in range(6)))
    text = markdown(report_of([finished("x", {METRIC: 0.1}, query="a | b", gold=gold), finished("y", {METRIC: 0.9})]))
    assert "| vector_search | 0.1000 | x | a &#124; b | a/b, 0, 1, 2, 3 and 2 more |" in text
    assert "| y |" not in text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("beir_scifact@test, ndcg@10", "beir_scifact@test, ndcg@10"),
        ("a|b\nc", "a&#124;b c"),
        ("<img src=x onerror=alert(1)>", "&lt;img src=x onerror=alert(1)&gt;"),
        ("[x](http://evil)", "&#91;x&#93;(http://evil)"),
        ("@team _now_ `x` #12 C#", "&#64;team &#95;now&#95; &#96;x&#96; &#35;12 C#"),
        ("x" * 300, "x" * 197 + "..."),
    ],
)
def test_foreign_text_is_shown_as_it_is(text: str, shown: str) -> None:
    """No markup, no mention, no reference to an issue; what means nothing in Markdown stays readable."""
    assert escaped(text) == shown


def test_a_step_summary_is_appended(tmp_path: Path) -> None:
    """What other steps have written stays."""
    path = tmp_path / "summary.md"
    path.write_text("before\n")
    append_step_summary(path, "# now\n")
    append_step_summary(path, "# and now\n")
    assert path.read_text() == "before\n# now\n# and now\n"


@pytest.mark.parametrize("before", [0, 500_000, STEP_SUMMARY_LIMIT - 40, STEP_SUMMARY_LIMIT + 10])
def test_a_step_summary_stays_below_one_mebibyte(tmp_path: Path, before: int) -> None:
    """It is cut at the end of a line and says where the rest is, as far as there is room at all."""
    path = tmp_path / "summary.md"
    path.write_bytes(b"x" * before)
    append_step_summary(path, "é line\n" * 300_000, "out.md")
    written = path.read_bytes()[before:].decode("utf-8", "strict")
    assert before + len(written.encode()) < max(STEP_SUMMARY_LIMIT, before + 1)
    if before <= 500_000:
        assert written.endswith("é line\n\n*Cut here: a summary may hold 1 MiB. The rest is in out.md.*\n")


def test_a_step_summary_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    """One message with the path."""
    with pytest.raises(ReportError, match="the step summary cannot be written"):
        append_step_summary(tmp_path, "x")
