"""What other people's code and data must never do: hang a run, end it, or make it pass."""

from __future__ import annotations

import json

import pytest

from tests.plugin.project import BUILT, SEARCH, Project, clean, statuses


def raising(statement: str) -> str:
    """A search that does this when it is asked for pears."""
    return SEARCH.replace("    return [", f"    if query == 'pears':\n        {statement}\n    return [")


@pytest.mark.parametrize("raised", ["raise KeyboardInterrupt", "raise GeneratorExit", "raise BaseException('odd')"])
def test_what_is_no_ordinary_error_is_the_error_of_its_case(spread: Project, raised: str) -> None:
    """The run neither hangs nor ends, and the cases after it are asked."""
    spread.write("r.py", raising(raised))
    result = spread.evaluate("-q")
    assert result.ret == 1
    result.assert_outcomes(passed=3, errors=1)
    clean(result)
    assert list(statuses(spread.report()).values()).count("errored") == 1


def test_a_skip_inside_a_search_is_an_error(project: Project) -> None:
    """A search cannot take its case out of the mean."""
    project.write("r.py", "import pytest\n" + raising("pytest.skip('not today')"))
    result = project.evaluate("-q")
    result.assert_outcomes(passed=3, errors=1)
    assert project.report().counts["search.beir_ndcg@1"].errored == 1


def test_a_slow_generator_meets_its_time_out(project: Project) -> None:
    """Its items are fetched in a thread, so that the loop can give up."""
    project.write(
        "r.py",
        "import time\n\n"
        "def search(query, top_k):\n"
        "    time.sleep(1 if query == 'pears' else 0)\n"
        "    yield ('d1', 1.0)\n",
    )
    result = project.evaluate("-q", "--heta-timeout=0.2")
    result.assert_outcomes(passed=3, errors=1)
    errors = [one.error for one in project.report().cases if one.error]
    assert [(error.error_type, error.message) for error in errors] == [("QueryTimeoutError", "no answer within 0.2 s")]


def test_a_case_without_the_score_of_a_metric_fails(project: Project) -> None:
    """Here a conftest takes all scores away."""
    project.write("r.py", SEARCH)
    project.write("conftest.py", "import pytest\n\n@pytest.fixture\ndef heta_scores(heta_scores):\n    return {}\n")
    result = project.evaluate("-q")
    assert result.ret == 1
    result.assert_outcomes(failed=4)
    result.stdout.fnmatch_lines(["no score for beir_ndcg@1"])


def test_a_response_that_is_no_json_is_the_error_of_its_case(spread: Project) -> None:
    """The others are recorded."""
    spread.write(
        "r.py",
        BUILT.replace("hits[:top_k]))", "hits[:top_k]), metadata={'odd': object()} if text == 'pears' else {})"),
    )
    result = spread.evaluate("-q")
    assert result.ret == 1
    result.assert_outcomes(passed=3, failed=1)
    clean(result)
    assert list(statuses(spread.report()).values()).count("errored") == 1


@pytest.mark.parametrize(
    ("evidence", "told"),
    [
        ({"locator": {"document_id": 5}}, "document_id: Input should be a valid string"),
        ({"reference_id": "d1", "metadata": {"relevance": "high"}}, "relevance: Input should be a valid number"),
    ],
)
def test_malformed_gold_labels_are_refused_before_the_run(project: Project, evidence: object, told: str) -> None:
    """One line says which case and what is wrong with it."""
    project.labelled()
    case = {"case_id": "bad one", "query": "apples", "expected": {"evidence": [evidence]}}
    with (project.path / "labelled" / "cases.jsonl").open("a") as file:
        file.write(json.dumps(case) + "\n")
    project.write("r.py", SEARCH)
    result = project.run("--heta-benchmark=labelled", "--heta-recipe=r.py")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"ERROR: case 'bad one' has malformed evidence: {told}*"])
    clean(result)


def test_policies_without_a_baseline_are_refused(project: Project) -> None:
    """A gate that was asked for must not silently not exist."""
    project.write("r.py", SEARCH)
    for option in ("--heta-max-drop=ndcg@1=0.1", "--heta-require-baseline", "--heta-update-baseline"):
        result = project.evaluate(option)
        assert result.ret == pytest.ExitCode.USAGE_ERROR
        result.stderr.fnmatch_lines(["ERROR: there is no baseline to compare with or to write*--heta-baseline=FILE"])


def test_a_run_needs_no_cache_of_pytest(project: Project) -> None:
    """``-p no:cacheprovider`` changes nothing but what the next ``--lf`` knows."""
    project.write("r.py", SEARCH)
    result = project.evaluate("-p", "no:cacheprovider", "-q")
    assert result.ret == 0
    clean(result)


def test_resuming_asks_anew_what_a_hook_decides(project: Project) -> None:
    """Its verdict needs the response, which is not recorded."""
    project.write("r.py", SEARCH)
    project.write(
        "conftest.py", "def pytest_heta_check_case(case):\n    return ['bad'] if case.case_id == 'q2' else []\n"
    )
    assert project.evaluate("-q").ret == 1
    result = project.evaluate("-q", "--heta-resume")
    assert result.ret == 1
    result.assert_outcomes(passed=3, failed=1)


def test_resuming_asks_anew_where_documents_have_changed(project: Project) -> None:
    """Scores of another corpus are worth nothing."""
    project.write("r.py", BUILT)
    assert project.evaluate("-q").ret == 0
    corpus = project.path / "data" / "corpus.jsonl"
    corpus.write_text(corpus.read_text().replace("Stones lie.", "Stones roll."))
    result = project.evaluate("--heta-resume", "-q")
    assert result.ret == 0
    assert "the documents have changed of 'corpus'" in result.stdout.str()
    assert len((project.path / "builds.txt").read_text().splitlines()) == 2


def test_a_concurrency_that_is_none_is_refused(project: Project) -> None:
    """Before the run, with the recipe's name."""
    project.write("r.py", BUILT.replace("class Recipe:", "class Recipe:\n    max_concurrency = 'x'"))
    result = project.evaluate()
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: recipe r: max_concurrency must be a whole number from 1, not 'x'"])


def test_a_benchmark_of_the_user_that_fails_is_told_in_one_line(project: Project) -> None:
    """With the place in the user's file."""
    project.write("r.py", SEARCH)
    project.write(
        "b.py",
        "from pytest_heta import BeirBenchmark\n\n"
        "class Mine(BeirBenchmark):\n"
        "    async def prepare(self, workspace):\n"
        "        raise ValueError('no licence')\n\n"
        "benchmark = Mine('mine', data_root='data')\n",
    )
    result = project.run("--heta-benchmark=b.py", "--heta-recipe=r.py")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: b.py: *b.py:5: ValueError: no licence"])
    clean(result)


def test_a_mark_whose_benchmark_fails_is_told_in_one_line(project: Project) -> None:
    """It is a collection error like any other, not a fault of the plugin."""
    project.write("r.py", SEARCH)
    project.write(
        "b.py",
        "from pytest_heta import BeirBenchmark\n\n"
        "class Mine(BeirBenchmark):\n"
        "    async def prepare(self, workspace):\n"
        "        raise ValueError('no licence')\n\n"
        "benchmark = Mine('mine', data_root='data')\n",
    )
    project.write(
        "test_mine.py",
        "import pytest\n\n"
        "@pytest.mark.heta(benchmark='b.py', recipe='r.py')\n"
        "def test_case(heta_case):\n"
        "    assert heta_case\n",
    )
    result = project.run("test_mine.py")
    result.assert_outcomes(errors=1)
    assert "b.py:5: ValueError: no licence" in result.stdout.str()
    clean(result)
