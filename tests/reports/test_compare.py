"""Several results of one benchmark in one table."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_heta.__main__ import main
from pytest_heta.errors import UsageError
from pytest_heta.records import EvaluationReport
from pytest_heta.reports.compare import comparison_lines
from pytest_heta.reports.json_file import write_report
from pytest_heta.reports.text import cells
from tests.reports.samples import MODE, errored, finished, report_of

NDCG = "beir_ndcg@10"


def _report(name: str, *values: float, failures: int = 0, modes: tuple[str, ...] = (MODE,)) -> EvaluationReport:
    cases = [
        finished(str(n), {NDCG: value}, mode=mode, latency_ms=2.0) for mode in modes for n, value in enumerate(values)
    ]
    cases += [errored(str(len(values) + n), mode=mode) for mode in modes for n in range(failures)]
    return report_of(cases, modes=modes, recipe={"name": name})


def test_each_recipe_and_mode_is_a_column_with_its_difference_to_the_first() -> None:
    """Means with signed differences, then what a reader must know before trusting them."""
    reports = [
        _report("bm25", 0.5, 0.75),
        _report("vector", 0.25, failures=1),
        _report("two", 0.75, 0.75, modes=("a", "b")),
    ]
    assert [line.text for line in comparison_lines(reports)] == [
        "beir_scifact@test (official): 4 results compared",
        "  [1] bm25, vector_search (the others are compared with it)",
        "  [2] vector, vector_search",
        "  [3] two, a",
        "  [4] two, b",
        "",
        "                    [1]             [2]             [3]             [4]",
        "ndcg@10          0.6250  0.1250 -0.5000  0.7500 +0.1250  0.7500 +0.1250",
        "latency p95, ms    2.00               -            2.00            2.00",
        "finished cases        2               1               2               2",
        "errored cases         0               1               0               0",
        "not run cases         0               0               0               0",
    ]


def test_columns_that_do_not_fit_are_shown_below_with_the_first_one_again() -> None:
    """Every column is next to the one that it is compared with, and no line is too wide."""
    lines = comparison_lines([_report(f"r{n}", n / 10) for n in range(6)], width=60)
    assert [line.text.split() for line in lines if line.text.lstrip().startswith("[1]  ")] == [
        ["[1]", "[2]", "[3]"],
        ["[1]", "[4]", "[5]"],
        ["[1]", "[6]"],
    ]
    assert max(cells(line.text) for line in lines) <= 60


def test_a_metric_that_one_side_lacks_has_no_difference() -> None:
    """Metrics are the union; an absent value is a dash, not a 0."""
    other = report_of([finished("0", {"f1": 0.5})], ("f1",), recipe={"name": "qa"})
    text = [line.text for line in comparison_lines([_report("bm25", 0.5), other])]
    assert "ndcg@10          0.5000       -       -" in text
    assert "f1                    -  0.5000       -" in text


def test_stars_say_which_differences_are_more_than_noise() -> None:
    """20 of 20 cases worse is significant, 10 of 20 each way is not; every cell makes room for the longest stars."""
    first = report_of([finished(str(n), {NDCG: 0.5, "f1": 0.5}) for n in range(20)], (NDCG, "f1"))
    second = report_of([finished(str(n), {NDCG: 0.25, "f1": n % 2}) for n in range(20)], (NDCG, "f1"))
    text = [line.text for line in comparison_lines([first, second])]
    assert "ndcg@10          0.5000  0.2500 -0.2500***" in text
    assert "f1               0.5000  0.5000 +0.0000" in text
    assert text[-2:] == [
        "* p <= 0.05, ** p <= 0.01, *** p <= 0.001: paired permutation test against [1],",
        "    Holm's correction over the metrics",
    ]


def test_a_difference_is_one_of_the_common_cases() -> None:
    """A case that only one side has moves its mean, but not the difference."""
    text = [line.text for line in comparison_lines([_report("a", 0.5, 0.5), _report("b", 0.5, 0.5, 1.0)])]
    assert "ndcg@10          0.5000  0.6667 +0.0000" in text


def test_runs_of_another_kind_are_marked() -> None:
    """Other gold labels, documents or definitions under the same names make means that do not compare."""
    other = report_of([finished("0", {NDCG: 0.5}, query="another")])
    (warning,) = [line for line in comparison_lines([_report("a", 0.5), other]) if line.style == "bad"]
    assert warning.text == "[1] does not compare with [2]: 1 case had another query or other gold labels (0)"


def test_the_command_compares_report_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """``compare A B`` prints the same table; what is no report is an error."""
    paths = [str(tmp_path / name) for name in ("a.json", "b.json")]
    for path, value in zip(paths, (0.5, 0.75), strict=True):
        write_report(Path(path), _report(path, value))
    assert main(["compare", *paths]) == 0
    assert "ndcg@10          0.5000  0.7500 +0.2500" in capsys.readouterr().out
    assert main(["compare", *paths, str(tmp_path / "none.json")]) == 1
    assert "none.json: the report cannot be read" in capsys.readouterr().err


def test_results_on_different_cases_are_marked() -> None:
    """Means over other cases do not compare, so the table says which column has them."""
    (warning,) = [
        line for line in comparison_lines([_report("a", 0.5, 0.5), _report("b", 0.5, 0.5, 0.5)]) if line.style == "bad"
    ]
    assert warning.text == "[2] lacks 0 of the cases of [1] and has 1 others"


def test_reports_of_different_benchmarks_are_refused() -> None:
    """The message names both; no report at all is no comparison either."""
    report = _report("a", 0.5)
    other = report.model_copy(update={"benchmark": report.benchmark.model_copy(update={"split": "dev"})})
    with pytest.raises(UsageError, match=r"beir_scifact@test \(official\), beir_scifact@dev \(official\)"):
        comparison_lines([report, other])
    with pytest.raises(UsageError, match="not of none"):
        comparison_lines([])
