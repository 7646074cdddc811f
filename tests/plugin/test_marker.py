"""Tests of the user's own that run for each case of a benchmark."""

from __future__ import annotations

import pytest

from tests.plugin.project import BUILT, Project, clean

MARKED = """
import pytest

@pytest.mark.heta(benchmark="data", recipe="r.py")
def test_own(heta_case, heta_kb, heta_response, heta_scores):
    assert heta_kb.available_queries == ("search",)
    assert heta_response.mode == "search"
    assert heta_scores["beir_recall@10"].value == 1.0, heta_case.query
"""

LOGGED = """
from pathlib import Path
def search(query, top_k):
    with Path(__file__).with_name("asked.txt").open("a") as log: log.write(f"{query}\\n")
    return ["d1", "d2"][:top_k]
"""


def test_a_marked_test_runs_for_each_case(spread: Project) -> None:
    """It gets case, knowledge base, response and scores; a failed assertion shows the case beside the user's code."""
    spread.write("test_own.py", MARKED)
    result = spread.run("--strict-markers")
    result.assert_outcomes(passed=3, failed=1)
    clean(result)
    result.stdout.fnmatch_lines(
        [
            "*AssertionError: stones",
            "*case q4 (search)*",
            "query: stones",
            "gold: d4 (grade 1, not found)",
            "no hits",
            "FAILED test_own.py::test_own[[]q4-search[]]*",
        ]
    )
    assert not (spread.path / ".heta").exists()


def test_ids_choose_and_fail_again(spread: Project) -> None:
    """Ids are names of cases and modes; they can be pasted, and --lf runs what failed."""
    spread.write("test_own.py", MARKED)
    assert spread.collected() == [
        f"test_own.py::test_own[{name}-search]" for name in ("q1", "q2", "GS-2016-x-b6be838f", "q4")
    ]
    spread.run("test_own.py::test_own[q2-search]").assert_outcomes(passed=1)
    spread.run().assert_outcomes(passed=3, failed=1)
    spread.run("--lf").assert_outcomes(failed=1)


def test_a_mark_on_a_class_concerns_tests_of_cases(project: Project) -> None:
    """Tests of a marked class that use no fixture of cases run once; a case is asked once for tests that share it."""
    project.write("r.py", LOGGED)
    project.write(
        "test_own.py",
        "import pytest\n"
        "@pytest.mark.heta(benchmark='data', recipe='r.py')\n"
        "class TestData:\n"
        "    def test_hits(self, heta_response): assert len(heta_response.results) == 2\n"
        "    def test_scores(self, heta_scores): assert 0 <= heta_scores['beir_ndcg@10'].value <= 1\n"
        "    def test_case(self, heta_case): assert heta_case.query\n"
        "    def test_none(self): pass\n",
    )
    project.run().assert_outcomes(passed=3 * 4 + 1)
    assert sorted((project.path / "asked.txt").read_text().split()) == ["apples", "fish", "pears", "stones"]


def test_each_unit_has_its_knowledge_base(spread: Project) -> None:
    """Where a benchmark has several run units, ids begin with theirs, and each test sees its own knowledge base."""
    spread.write("r.py", BUILT)
    spread.write("units/documents.jsonl", '{"document_id": "a", "text": "A"}\n{"document_id": "b", "text": "B"}\n')
    spread.write(
        "units/cases.jsonl",
        '{"case_id": "1", "query": "a", "expected": {"evidence": [{"reference_id": "a"}]}}\n'
        '{"case_id": "2", "query": "b", "expected": {"evidence": [{"reference_id": "b"}]}}\n',
    )
    spread.write(
        "units/run_units.jsonl",
        '{"unit_id": "u1", "document_ids": ["a"], "case_ids": ["1", "2"]}\n'
        '{"unit_id": "u2", "document_ids": ["b"], "case_ids": ["1", "2"]}\n',
    )
    spread.write(
        "test_own.py",
        "import pytest\n"
        "class TestUnits:\n"
        "    @pytest.mark.heta(benchmark='jsonl:units', recipe='r.py', mode='words')\n"
        "    def test_own(self, request, heta_kb, heta_response):\n"
        "        unit = request.node.name.split('[')[1].split('-')[0]\n"
        "        assert heta_kb.names == {'u1': ['a'], 'u2': ['b']}[unit]\n",
    )
    assert [name.split("[")[1] for name in spread.collected()] == [
        f"{unit}-{case}-words]" for unit in ("u1", "u2") for case in "12"
    ]
    spread.run().assert_outcomes(passed=4)
    assert (spread.path / "builds.txt").read_text().split() == ["built", "built"]


def test_paths_start_at_the_test_file(project: Project) -> None:
    """Benchmark and recipe are looked for from the folder of the test, wherever pytest is called."""
    project.write("tests/test_own.py", MARKED.replace('"data"', '"../data"').replace('"r.py"', '"../r.py"'))
    project.run("tests").assert_outcomes(passed=3, failed=1)


def test_limit_mode_and_depth_are_arguments(project: Project) -> None:
    """The mark says how many cases, in which modes and how deep; what the command line says of that wins."""
    project.write("r.py", LOGGED)
    project.write(
        "test_own.py",
        "import pytest\n"
        "@pytest.mark.heta(benchmark='data', recipe='r.py', mode=['search'], limit=2, top_k=1)\n"
        "def test_own(heta_response): assert len(heta_response.results) == 1\n",
    )
    project.run().assert_outcomes(passed=2)
    project.run("--heta-limit=3", "--heta-top-k=2").assert_outcomes(failed=3)


def test_marked_tests_and_cases_run_side_by_side(spread: Project) -> None:
    """The cases of the options alone are in the report; gates and case thresholds do not judge marked tests."""
    spread.write("test_own.py", MARKED)
    result = spread.evaluate("test_own.py", "--heta-case-min=recall@10=0.5", "--heta-min=recall@10=0.7")
    result.assert_outcomes(passed=3 + 3 + 1, failed=1 + 1)
    assert len(spread.report().cases) == 4


def test_fixtures_can_be_overridden(project: Project) -> None:
    """What a conftest puts in place of a fixture is what the test gets, and what is scored."""
    project.write("test_own.py", MARKED)
    project.write(
        "conftest.py",
        "import pytest\n"
        "from pytest_heta import QueryResponse, QueryResult\n"
        "@pytest.fixture\n"
        "def heta_response(heta_case, heta_kb):\n"
        "    right = heta_case.expected.evidence[0].reference_id\n"
        "    return QueryResponse(mode='search', results=(QueryResult(id=right, kind='document'),))\n",
    )
    project.run().assert_outcomes(passed=4)


@pytest.mark.parametrize(
    ("recipe", "words"),
    [
        ("def search(query, top_k): raise RuntimeError('no search today')", "RuntimeError: no search today"),
        (BUILT.replace("BUILDS.open", "BUILDS.nothing"), "no attribute 'nothing'"),
    ],
    ids=["query", "build"],
)
def test_what_fails_before_the_test_is_an_error_in_one_line(project: Project, recipe: str, words: str) -> None:
    """A build or query that fails is an error of each test, without a frame of the plugin."""
    project.write("r.py", recipe)
    project.write("test_own.py", MARKED)
    result = project.run()
    result.assert_outcomes(errors=4)
    assert words in clean(result)


def test_an_evaluator_that_fails_is_told_before_the_test(project: Project) -> None:
    """A missing score is not the user's KeyError: the evaluator's own error is shown."""
    project.write("test_own.py", MARKED)
    project.write(
        "conftest.py",
        "class Broken:\n"
        "    name = 'broken'\n"
        "    async def evaluate(self, *, case, response): raise RuntimeError('no score today')\n"
        "def pytest_heta_evaluators(config, benchmark): return [Broken()]\n",
    )
    result = project.run()
    result.assert_outcomes(errors=4)
    assert "RuntimeError: evaluator broken: no score today (conftest.py:3)" in result.outlines


BAD = {
    "'data'": "unknown argument 'data'; it takes benchmark=…, recipe=…, mode=…, limit=…, top_k=…",
    "benchmrk='data', recipe='r.py'": "unknown argument benchmrk; it takes benchmark=…",
    "recipe='r.py'": "benchmark is missing",
    "benchmark='data'": "recipe is missing",
    "benchmark=1, recipe='r.py'": "benchmark must be a text, not 1",
    "benchmark='data', recipe='nowhere.py'": "recipe 'nowhere.py': no such file",
    "benchmark='nowhere', recipe='r.py'": "nowhere",
    "benchmark='data', recipe='r.py', mode=3": "mode must be a text or a list of texts, not 3",
    "benchmark='data', recipe='r.py', mode='other'": "unknown query mode 'other'",
    "benchmark='data', recipe='r.py', limit=0": "limit must be a whole number from 1, not 0",
    "benchmark='data', recipe='r.py', top_k=True": "top_k must be a whole number from 1, not True",
}


@pytest.mark.parametrize("arguments", BAD)
def test_a_bad_mark_is_a_collection_error(project: Project, arguments: str) -> None:
    """One line names the test and what is wrong with its mark; nothing runs."""
    project.write("test_own.py", f"import pytest\n@pytest.mark.heta({arguments})\ndef test_own(heta_case): pass\n")
    result = project.run()
    result.assert_outcomes(errors=1)
    told = [line for line in result.outlines if line.startswith("test_own.py::test_own: @pytest.mark.heta: ")]
    assert len(told) == 1
    assert BAD[arguments] in told[0]
    clean(result)


def test_marks_of_the_same_and_of_other_benchmarks(spread: Project) -> None:
    """Two marks that say the same share one evaluation; another benchmark in the same file has its own cases."""
    spread.write("r.py", LOGGED)
    spread.benchmark("more", {"x1": "kiwis"}, {"x1": "d2"})
    spread.write(
        "test_own.py",
        "import pytest\n"
        "data = pytest.mark.heta(benchmark='data', recipe='r.py', limit=2)\n"
        "more = pytest.mark.heta(benchmark='more', recipe='r.py')\n"
        "@data\ndef test_one(heta_response): pass\n"
        "@data\ndef test_two(heta_scores): pass\n"
        "@more\ndef test_three(heta_case): assert heta_case.query == 'kiwis'\n",
    )
    spread.run().assert_outcomes(passed=5)


def test_after_a_failure_a_case_is_asked_anew(project: Project) -> None:
    """A response that a test has failed on is not kept for the next test of the case."""
    project.write(
        "r.py",
        "seen = set()\n"
        "def search(query, top_k):\n"
        "    if query not in seen:\n"
        "        seen.add(query)\n"
        "        raise RuntimeError('not yet')\n"
        "    return ['d1']\n",
    )
    project.write(
        "test_own.py",
        "import pytest\n"
        "pytestmark = pytest.mark.heta(benchmark='data', recipe='r.py', limit=1)\n"
        "def test_one(heta_response): pass\n"
        "def test_two(heta_response): pass\n",
    )
    project.run().assert_outcomes(passed=1, errors=1)
