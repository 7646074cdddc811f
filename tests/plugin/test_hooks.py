"""What a conftest can add and decide through the hooks."""

from __future__ import annotations

import json

import pytest

from tests.plugin.project import EVALUATION, QUERIES, Project, clean, node

FAMILY = """
from pytest_heta import BeirBenchmark

def made(variant, *, split, options, root, download):
    return BeirBenchmark(dataset=variant, split=split or "test", data_root=root / "data")

def pytest_heta_benchmarks(config):
    return {"mine": made}
"""

EVALUATORS = """
from pytest_heta import EvaluationScore

class Found:
    name = "found"
    async def evaluate(self, *, case, response):
        return EvaluationScore(name="found", value=float(bool(response.results)))

def pytest_heta_evaluators(config, benchmark):
    return [Found()] if benchmark.manifest.name == "beir_data" else None
"""

CHECK_CASE = """
def pytest_heta_check_case(config, case, response, scores, thresholds):
    if case.case_id == "q1":
        return None
    assert [threshold.metric for threshold in thresholds] == ["beir_ndcg@1"]
    return [] if scores["beir_mrr@3"].value > 0 else [f"nothing for {case.query}", f"not even in {response.mode}"]
"""

CHECK_REPORT = """
from pytest_heta.records import GateResult

def pytest_heta_check_report(config, report):
    empty = sum(not case.hits for case in report.cases)
    return [*report.gates, GateResult(
        name="search.empty", mode="search", metric="empty", bound="max", threshold=0, value=empty,
        passed=empty == 0, reason=f"{empty} cases found nothing",
    )]
"""

CASE_RESULT = """
def pytest_heta_case_result(config, result):
    with open(config.rootpath / "seen.txt", "a") as file:
        file.write(f"{result.case_id}\\t{result.status}\\t{hasattr(config, 'workerinput')}\\n")
"""


def test_a_conftest_adds_benchmarks(spread: Project) -> None:
    """A family of the hook resolves its name, and is listed with the known ones."""
    spread.write("conftest.py", FAMILY)
    result = spread.run("--heta-benchmark=mine:fruit", "--heta-recipe=r.py", "--heta-report=out.json")
    result.assert_outcomes(passed=4)
    assert spread.report().benchmark.name == "beir_fruit"
    assert any(line.startswith("mine") for line in spread.run("--heta-benchmark=list").outlines)


def test_a_conftest_chooses_evaluators(spread: Project) -> None:
    """The evaluators of the hook replace those of the benchmark, and thresholds know them; None leaves the own ones."""
    spread.write("conftest.py", EVALUATORS)
    spread.evaluate("--heta-min=found=0.75").assert_outcomes(passed=5)
    assert spread.report().score_summary == {"search.found": 0.75}
    spread.benchmark("more", {"x1": "apples"}, {"x1": "d1"})
    spread.run("--heta-benchmark=more", "--heta-recipe=r.py", "--heta-report=out.json").assert_outcomes(passed=1)
    assert "beir_ndcg@10" in spread.report().metrics


def test_a_conftest_decides_about_cases(spread: Project) -> None:
    """What the hook returns are the misses of the case; None has the thresholds decide."""
    spread.write("conftest.py", CHECK_CASE)
    result = spread.evaluate("--heta-case-min=ndcg@1=1.5")
    result.assert_outcomes(passed=2, failed=2)
    text = clean(result)
    assert "nothing for stones\nnot even in search\n" in text
    assert "ndcg@1 = 1.000, below the minimum 1.500 (beir_data, case q1, search)" in text
    assert text.count("below the minimum") == 1


def test_a_conftest_decides_about_the_run(spread: Project) -> None:
    """The gates that the hook returns are the gates of the run: counted, reported, and decisive."""
    spread.write("conftest.py", CHECK_REPORT)
    result = spread.evaluate("--heta-min=ndcg@1=0.1")
    result.assert_outcomes(passed=5, failed=1)
    assert result.ret == 1
    assert "1 cases found nothing" in clean(result)
    assert [gate.passed for gate in spread.report().gates] == [True, False]
    spread.write("conftest.py", "def pytest_heta_check_report(config, report): return []\n")
    result = spread.evaluate("--heta-min=ndcg@1=0.9")
    result.assert_outcomes(passed=4)
    assert result.ret == 0
    assert spread.report().gates == ()


def test_a_conftest_hears_of_every_result(spread: Project) -> None:
    """The hook is called once for each case, in the process that reports."""
    spread.write("conftest.py", CASE_RESULT)
    spread.evaluate().assert_outcomes(passed=4)
    seen = [line.split("\t") for line in (spread.path / "seen.txt").read_text().splitlines()]
    assert sorted(seen) == sorted([case_id, "finished", "False"] for case_id in QUERIES)


def test_failed_gates_are_annotated_for_github(spread: Project) -> None:
    """--heta-github prints a line for each failed gate; passing ones, and runs without the option, have none."""
    args = ("--heta-min=ndcg@1=0.6", "--heta-min=mrr@3=0.6")
    told = [line for line in spread.evaluate(*args, "--heta-github").outlines if line.startswith("::")]
    assert len(told) == 1
    assert told[0].startswith("::error")
    assert "ndcg@1 = 0.500, below the minimum 0.600" in told[0]
    assert not [line for line in spread.evaluate(*args).outlines if line.startswith("::")]


def test_the_step_summary_gets_the_report(spread: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where GitHub names a file for it, the report is appended in Markdown, after what is there."""
    summary = spread.write("summary.md", "before\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    spread.evaluate("--heta-min=ndcg@1=0.6")
    text = summary.read_text()
    assert text.startswith("before\n")
    assert "beir_data" in text
    assert "below the minimum 0.600" in text
    assert text.count("| ndcg") >= 1


def test_a_step_summary_that_cannot_be_written_fails_the_run(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is named in one line, and the report is kept."""
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(project.path))
    result = project.evaluate()
    assert result.ret == 1
    assert clean(result).count(f"heta: {project.path}") == 1
    assert json.loads((project.path / "out.json").read_text())["cases"]
    assert project.collected(*EVALUATION)[0] == node("q1")
