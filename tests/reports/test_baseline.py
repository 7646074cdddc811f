"""Baselines as files: small, sorted, whole, and never made of a part of a run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_heta.errors import ReportError
from pytest_heta.records import EvaluationReport, GoldLabel, KnowledgeBaseReport
from pytest_heta.reports.baseline import Baseline, baseline_of, read_baseline, write_baseline
from tests.reports.samples import MODE, errored, finished, not_run, report_of

METRICS = ("beir_ndcg@10", "beir_map@10")


def _report(**fields: Any) -> EvaluationReport:
    cases = [
        finished("10", {METRICS[0]: 1 / 3, METRICS[1]: 1.0}, query="q", gold=(GoldLabel(document_id="d"),)),
        finished("9", {METRICS[0]: 0.0, METRICS[1]: None}),
        errored("2"),
    ]
    base = KnowledgeBaseReport(unit_id="corpus", name="kb", manifest={"documents_digest": "abc"})
    defaults: dict[str, Any] = {
        "knowledge_bases": (base,),
        "selection": {"cases": 9, "sample": 3},
        "metadata": {"evaluators": {METRICS[0]: "linear gain"}},
    }
    return report_of(cases, METRICS, **(defaults | fields))


def test_a_baseline_file_is_sorted_and_has_a_line_a_case(tmp_path: Path) -> None:
    """Only what a comparison needs, six digits, whole numbers without a point, null where there is no value."""
    write_baseline(tmp_path / "made" / "baseline.json", baseline_of(_report()))
    lines = (tmp_path / "made" / "baseline.json").read_text("utf-8").split("\n")
    start = lines.index(' "cases": {')
    assert lines[start + 1 :] == [
        '  "corpus": {',
        '   "10": ["d4bcf6da", [[1, 0.333333]]],',
        '   "2": [null, [null]],',
        '   "9": ["7e09e12a", [[null, 0]]]',
        "  }",
        " }",
        "}",
        "",
    ]
    assert json.loads("\n".join(lines)) | {"cases": {}} == {
        "schema_version": 1,
        "benchmark": {"name": "beir_scifact", "version": "official", "split": "test"},
        "recipe": "vector",
        "selection": {"sample": 3},
        "modes": [MODE],
        "metrics": {"beir_map@10": "beir_map@10", "beir_ndcg@10": "linear gain"},
        "means": {f"{MODE}.beir_map@10": 0.5, f"{MODE}.beir_ndcg@10": 0.111111},
        "documents": {"corpus": "abc"},
        "cases": {},
    }
    assert [path.name for path in (tmp_path / "made").iterdir()] == ["baseline.json"]


def test_a_baseline_reads_back(tmp_path: Path) -> None:
    """What was written is what is read."""
    baseline = baseline_of(_report())
    write_baseline(tmp_path / "b.json", baseline)
    assert read_baseline(tmp_path / "b.json") == baseline
    assert baseline.values(MODE)["corpus", "10"] == {"beir_map@10": 1.0, "beir_ndcg@10": 0.333333}
    assert baseline.values(MODE)["corpus", "2"] == {}
    assert baseline.values("other") == {}


def test_the_order_of_a_run_does_not_show(tmp_path: Path) -> None:
    """Two runs that finish in different orders give the same bytes."""
    report = _report()
    for name, cases in (("a", report.cases), ("b", report.cases[::-1])):
        write_baseline(tmp_path / name, baseline_of(report.model_copy(update={"cases": cases})))
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_a_case_is_known_by_its_query_and_its_gold_labels() -> None:
    """Another query, another label or another grade is another case."""
    gold = GoldLabel(document_id="d")
    variants: list[dict[str, Any]] = [
        {"query": "q", "gold": (gold,)},
        {"query": "p", "gold": (gold,)},
        {"query": "q", "gold": (GoldLabel(document_id="e"),)},
        {"query": "q", "gold": (GoldLabel(document_id="d", relevance=2),)},
        {"query": "q", "gold": ()},
    ]
    digests = [baseline_of(report_of([finished("1", {}, **fields)], ())).digests() for fields in variants]
    assert len({digest["corpus", "1"] for digest in digests}) == len(variants)
    texted = finished("1", {}, query="q", gold=(GoldLabel(document_id="d", text="kept"),))
    assert baseline_of(report_of([texted], ())).digests() == digests[0]


@pytest.mark.parametrize(
    ("report", "words"),
    [
        (report_of([finished("1", {}), not_run("2")], ()), "2 results, 1 case not run and 0 left out"),
        (_report(selection={"planned": 9, "selected": 3}), "3 results, 0 cases not run and 6 left out"),
        (report_of([], ()), "0 results"),
    ],
)
def test_a_part_of_a_run_is_no_baseline(report: EvaluationReport, words: str) -> None:
    """What was not run or was deselected would be missing ever after."""
    with pytest.raises(ReportError, match=words):
        baseline_of(report)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"schema_version": 2}, "schema_version: Input should be 1"),
        ({"metrics": ["a"]}, "metrics: Input should be an object"),
        ({"cases": {"corpus": {"1": [None, [[1.0]]]}}}, "case 1 of run unit corpus has not one value for each"),
        ({"modes": []}, "has not one value for each mode and metric"),
    ],
)
def test_a_damaged_baseline_is_refused(tmp_path: Path, change: dict[str, Any], words: str) -> None:
    """The message names the file and the first fault."""
    path = tmp_path / "b.json"
    path.write_text(json.dumps(baseline_of(_report()).model_dump() | change))
    with pytest.raises(ReportError, match=words) as caught:
        read_baseline(path)
    assert str(path) in str(caught.value)


def test_a_baseline_that_cannot_be_read_or_written_says_so(tmp_path: Path) -> None:
    """The message names the file and the reason; a merge conflict is no JSON."""
    with pytest.raises(ReportError, match=r"b\.json: the baseline cannot be read: No such file"):
        read_baseline(tmp_path / "b.json")
    with pytest.raises(ReportError, match="the baseline cannot be written: "):
        write_baseline(tmp_path, baseline_of(_report()))
    (tmp_path / "c.json").write_text("<<<<<<< HEAD\n{}")
    with pytest.raises(ReportError, match=r"not a baseline .*; make it anew with --heta-update-baseline"):
        read_baseline(tmp_path / "c.json")


def test_a_baseline_holds_every_mode() -> None:
    """A case has a row of values for each mode, in the order of the names."""
    cases = [finished("1", {"a": value}, mode=mode) for mode, value in (("z", 1.0), ("b", 0.25))]
    baseline = baseline_of(report_of(cases, ("a",), ("z", "b")))
    assert isinstance(baseline, Baseline)
    assert baseline.modes == ("b", "z")
    assert baseline.cases["corpus"]["1"][1] == ((0.25,), (1.0,))
