"""Suite files say in a file what the options say, and are collected like tests."""

from __future__ import annotations

import json
import re

import pytest

from tests.plugin.project import Project, clean, node

SUITE = """
benchmark = "../data"
recipe = ["../r.py", "../s.py"]
limit = 3
top-k = 2
[min]
"ndcg@1" = 0.4
[case-max]
"ndcg@1" = 0.9
"""


def test_a_suite_is_collected_and_run(spread: Project) -> None:
    """Paths start at the suite file; bounds, depth and limit are its own; each recipe has a node and a report."""
    spread.write("suites/small.heta.toml", SUITE)
    spread.write("s.py", "def search(query, top_k): return ['d2', 'd1', 'd3'][:top_k]\n")
    spread.write("test_own.py", "def test_own(): pass\n")
    result = spread.run("--heta-report=out.json")
    result.assert_outcomes(passed=1 + 1 + 2 + 1, failed=2 + 1 + 1)
    assert "ndcg@1 = 1.000, above the maximum 0.900 (beir_data, case q1, search)" in clean(result)
    reports = {name: spread.report(f"out-beir_data-{name}.json") for name in "rs"}
    assert {name: report.gates[0].passed for name, report in reports.items()} == {"r": True, "s": False}
    assert {name: max(len(case.hits) for case in report.cases) for name, report in reports.items()} == {"r": 2, "s": 2}
    assert [case.case_id for case in reports["s"].cases] == ["q1", "q2", "GS/2016 x"]
    assert reports["s"].selection["limit"] == 3


def test_ids_below_a_suite_can_be_pasted_from_anywhere(project: Project) -> None:
    """The node ids begin with the suite file, and choose their case; with one recipe they do not name it."""
    project.write("suites/small.heta.toml", SUITE.replace(', "../s.py"', ""))
    ids = project.collected("suites")
    assert ids == [node(case_id, anchor="suites/small.heta.toml") for case_id in ("q1", "q2", "GS/2016 x")]
    project.run(ids[1], "--heta-report=out.json").assert_outcomes(passed=2 - 1, failed=1)
    assert [case.case_id for case in project.report().cases] == ["q2"]


def test_options_win_over_a_suite(project: Project) -> None:
    """Modes, depth and limit are replaced; a bound of the command line comes on top."""
    project.write("small.heta.toml", SUITE.replace("../", "").replace(', "s.py"', ""))
    result = project.run("--heta-limit=1", "--heta-top-k=1", "--heta-max=ndcg@1=0.5", "--heta-report=out.json")
    result.assert_outcomes(passed=1, failed=2)
    report = project.report()
    assert [len(case.hits) for case in report.cases] == [1]
    assert [(gate.bound, gate.passed) for gate in report.gates] == [("min", True), ("max", False)]


BAD = {
    "no-toml": ("benchmark = ", "small.heta.toml: Invalid value"),
    "unknown key": ('benchmrk = "data"\nrecipe = "r.py"', "unknown key 'benchmrk' (known: benchmark, recipe"),
    "no benchmark": ('recipe = "r.py"', "benchmark is missing"),
    "no recipe": ('benchmark = "data"', "recipe is missing"),
    "wrong type": ('benchmark = 5\nrecipe = "r.py"', "benchmark must be a text or a list of texts, not 5"),
    "missing recipe": ('benchmark = "data"\nrecipe = "none.py"', "recipe 'none.py': no such file: "),
    "no python": ('benchmark = "data"\nrecipe = "r.txt"', "recipe 'r.txt': expected FILE.py"),
    "missing data": ('benchmark = "../none"\nrecipe = "r.py"', "there is no such folder"),
    "unknown benchmark": ('benchmark = "beir:scifcat"\nrecipe = "r.py"', "scifact"),
    "bad limit": ('benchmark = "data"\nrecipe = "r.py"\nlimit = 0', "limit must be a whole number from 1, not 0"),
    "bad depth": ('benchmark = "data"\nrecipe = "r.py"\ntop-k = true', "top-k must be a whole number from 1, not True"),
    "bad modes": ('benchmark = "data"\nrecipe = "r.py"\nmodes = [1]', "modes must be a text or a list of texts"),
    "unknown mode": (
        'benchmark = "data"\nrecipe = "r.py"\nmodes = "none"',
        "unknown query mode 'none' (known: search)",
    ),
    "unknown metric": (
        'benchmark = "data"\nrecipe = "r.py"\n[min]\n"ndgc@1" = 1',
        "unknown metric 'ndgc@1' (known: beir_ndcg@1, ",
    ),
    "bad bound": ('benchmark = "data"\nrecipe = "r.py"\n[min]\n"ndcg@1" = "x"', "cannot read the threshold 'ndcg@1=x'"),
    "no table": ('benchmark = "data"\nrecipe = "r.py"\nmin = 1', "[min] must be a table of METRIC = VALUE"),
    "twice": ('benchmark = ["data", "./data"]\nrecipe = "r.py"', "have the same name: beir_data@test"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_suite_is_a_collection_error(project: Project, name: str) -> None:
    """One message names the suite file and what is wrong in it, and other tests are still collected."""
    text, told = BAD[name]
    project.write("small.heta.toml", text + "\n")
    project.write("test_own.py", "def test_own(): pass\n")
    result = project.run("--continue-on-collection-errors")
    assert result.ret == 1
    result.assert_outcomes(passed=1, errors=1)
    output = clean(result)
    message = output.partition("ERROR collecting small.heta.toml")[2].partition("short test summary")[0]
    assert told in message
    assert re.search(r"\.py:\d", message) is None


@pytest.mark.parametrize(
    "option", ["--heta-min=nonsense", "--heta-report=out.nonsense", "--override-ini=heta_top_k=nonsense"]
)
def test_bad_options_beside_a_suite(spread: Project, option: str) -> None:
    """An option that cannot be used is told in one message where only a suite file starts an evaluation."""
    spread.write("small.heta.toml", 'benchmark = "data"\nrecipe = "r.py"\n')
    result = spread.run(option)
    assert result.ret in {pytest.ExitCode.USAGE_ERROR, pytest.ExitCode.INTERRUPTED, pytest.ExitCode.TESTS_FAILED}
    assert "nonsense" in clean(result)


def test_bad_suites_stop_a_run(spread: Project) -> None:
    """Without --continue-on-collection-errors nothing runs, with and without workers."""
    spread.write("small.heta.toml", "benchmrk = 1\n")
    result = spread.run("--junitxml=junit.xml")
    assert result.ret != 0
    assert "unknown key 'benchmrk'" in clean(result)


def test_a_suite_with_a_threshold_for_each_mode_may_name_it(project: Project) -> None:
    """A bound may belong to one mode, written before the metric."""
    project.write("small.heta.toml", 'benchmark = "data"\nrecipe = "r.py"\n[min]\n"search.ndcg@1" = 0.5\n')
    result = project.run("--heta-report=out.json")
    result.assert_outcomes(passed=5)
    assert json.loads((project.path / "out.json").read_text())["gates"][0]["mode"] == "search"
