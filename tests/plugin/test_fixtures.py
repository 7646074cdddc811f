"""The fixtures of a case, as a conftest and the user's own fixtures see them."""

from __future__ import annotations

from tests.plugin.project import BUILT, EVALUATION, Project, clean, statuses

AUTOUSE = """
import pytest

def make(scope):
    @pytest.fixture(scope=scope, autouse=True, name=f"own_{scope}")
    def own(request):
        with open(request.config.rootpath / "log.txt", "a") as log:
            log.write(f"{scope}\\n")
        yield
    return own

own_session, own_package, own_module = make("session"), make("package"), make("module")
own_class, own_function = make("class"), make("function")
"""


def test_autouse_fixtures_of_every_scope_run(project: Project) -> None:
    """The user's autouse fixtures run once for session, package, file and unit, and for each case."""
    project.write("conftest.py", AUTOUSE)
    project.evaluate().assert_outcomes(passed=4)
    log = (project.path / "log.txt").read_text().split()
    assert {scope: log.count(scope) for scope in set(log)} == {
        "session": 1,
        "package": 1,
        "module": 1,
        "class": 1,
        "function": 4,
    }


def test_a_conftest_sees_the_fixtures(project: Project) -> None:
    """What a conftest asks for are the case, the knowledge base, the response and the scores by metric."""
    project.write(
        "conftest.py",
        "import pytest\n"
        "@pytest.fixture(autouse=True)\n"
        "def look(heta_case, heta_kb, heta_response, heta_scores):\n"
        "    assert heta_kb.available_queries == ('search',)\n"
        "    assert heta_response.mode == 'search'\n"
        "    best = heta_response.results[0].id if heta_response.results else None\n"
        "    hit = best in [evidence.reference_id for evidence in heta_case.expected.evidence]\n"
        "    assert heta_scores['beir_ndcg@1'].value == hit\n",
    )
    project.evaluate().assert_outcomes(passed=4)
    assert project.report().score_summary["search.beir_ndcg@1"] == 0.5


def test_what_a_conftest_puts_in_place_is_judged(spread: Project) -> None:
    """Overridden fixtures decide the scores, the ranked hits and the recorded query."""
    spread.write(
        "conftest.py",
        "import pytest\n"
        "from pytest_heta import EvaluationScore, QueryResponse, QueryResult\n"
        "@pytest.fixture\n"
        "def heta_case(heta_case):\n"
        "    return heta_case.model_copy(update={'query': heta_case.query.upper()})\n"
        "@pytest.fixture\n"
        "def heta_response(heta_case):\n"
        "    right = heta_case.expected.evidence[0].reference_id\n"
        "    return QueryResponse(mode='search', results=(QueryResult(id=right, kind='document'),))\n"
        "@pytest.fixture\n"
        "def heta_scores(heta_scores):\n"
        "    return heta_scores | {'own': EvaluationScore(name='own', value=0.25)}\n",
    )
    spread.evaluate().assert_outcomes(passed=4)
    report = spread.report()
    assert report.score_summary["search.beir_ndcg@1"] == 1.0
    assert [result.hits[0].document_id for result in report.cases] == ["d1", "d2", "d3", "d4"]
    assert report.cases[0].query == "APPLES"
    assert report.cases[0].scores[-1].name == "own"


def test_an_overridden_knowledge_base_is_asked(project: Project) -> None:
    """The queries go to the knowledge base that a conftest gives, wrapped around the real one or not."""
    project.write("r.py", BUILT)
    project.write(
        "conftest.py",
        "import pytest\n"
        "class Reversed:\n"
        "    available_queries = ('words',)\n"
        "    def __init__(self, kb): self.kb = kb\n"
        "    def query(self, text, **options): return self.kb.query({'apples': 'd4'}.get(text, 'none'), **options)\n"
        "@pytest.fixture(scope='class')\n"
        "def heta_kb(heta_kb): return Reversed(heta_kb)\n",
    )
    project.evaluate().assert_outcomes(passed=4)
    assert [len(result.hits) for result in project.report().cases] == [1, 0, 0, 0]


def test_a_skipped_case_is_not_run(spread: Project) -> None:
    """A fixture that skips leaves the case out of the mean, with its reason, and closes the gates."""
    spread.write(
        "conftest.py",
        "import pytest\n"
        "@pytest.fixture(autouse=True)\n"
        "def choosy(heta_case):\n"
        "    if heta_case.case_id == 'q2': pytest.skip('no pears today')\n",
    )
    result = spread.evaluate("--heta-min=ndcg@1=0.1")
    assert result.ret == 1
    result.assert_outcomes(passed=3, skipped=1, failed=1)
    report = spread.report()
    assert statuses(report) == {"q1": "finished", "q2": "not_run", "GS/2016 x": "finished", "q4": "finished"}
    assert report.cases[1].metadata["reason"] == "skipped: no pears today"
    assert report.counts["search.beir_ndcg@1"].model_dump() == {
        "planned": 4,
        "scored": 3,
        "unscored": 0,
        "errored": 0,
        "not_run": 1,
    }
    assert report.score_summary["search.beir_ndcg@1"] == 2 / 3


def test_a_mark_on_items_skips_or_expects_failure(project: Project) -> None:
    """Marks that a conftest adds work as on tests: skipped is not run, an expected failure still has scores."""
    project.write(
        "conftest.py",
        "import pytest\n"
        "def pytest_collection_modifyitems(items):\n"
        "    items[0].add_marker(pytest.mark.skip(reason='later'))\n"
        "    items[1].add_marker(pytest.mark.xfail(reason='known'))\n",
    )
    project.evaluate("--heta-case-min=ndcg@1=0.5").assert_outcomes(passed=1, skipped=1, xfailed=1, failed=1)
    report = project.report()
    assert statuses(report) == {"q1": "not_run", "q2": "finished", "GS/2016 x": "finished", "q4": "finished"}
    assert report.cases[0].metadata["reason"] == "skipped: later"


def test_a_fixture_that_fails_is_an_error_of_the_case(project: Project) -> None:
    """An exception in the user's fixture counts as an error with its text; the other cases go on."""
    project.write(
        "conftest.py",
        "import pytest\n"
        "@pytest.fixture(autouse=True)\n"
        "def broken(heta_case):\n"
        "    if heta_case.case_id == 'q1': raise RuntimeError('the fixture broke')\n",
    )
    result = project.evaluate()
    result.assert_outcomes(passed=3, errors=1)
    assert result.ret == 1
    error = project.report().cases[0].error
    assert error is not None
    assert (error.error_type, error.message) == ("RuntimeError", "the fixture broke (conftest.py:4)")


def test_ordinary_tests_are_told_what_the_fixtures_are_for(project: Project) -> None:
    """A test that is no case fails with one clear line where it asks for a fixture of cases, before cases and after."""
    project.write("test_own.py", "def test_own(heta_kb): pass\ndef test_free(): pass\n")
    for order in (("test_own.py",), ("r.py", "test_own.py"), ("test_own.py", "r.py")):
        result = project.evaluate(*order)
        result.assert_outcomes(passed=5, errors=1)
        result.stdout.fnmatch_lines(["the fixtures heta_kb, * belong to benchmark cases*"])
        clean(result)
    result = project.run("test_own.py")
    result.assert_outcomes(passed=1, errors=1)
    clean(result)


def test_own_tests_run_beside_the_cases(project: Project) -> None:
    """Where a path is given too, tests and cases run in one session, and a recipe in testpaths is met once."""
    project.write("test_own.py", "def test_own(): pass\n")
    project.write("pytest.ini", "[pytest]\npython_files = *.py\ntestpaths = .\n")
    project.evaluate(".").assert_outcomes(passed=5)
    assert len(project.collected(*EVALUATION, ".")) == 5


def test_a_recipe_file_is_not_taken_for_tests(project: Project) -> None:
    """Functions named test_… in a recipe file are no tests while it is evaluated, and it is imported once."""
    recipe = project.write("recipes/test_r.py", (project.path / "r.py").read_text())
    recipe.write_text(
        recipe.read_text() + "\ndef test_nothing(): assert False\n"
        "from pathlib import Path\n"
        "with open(Path(__file__).with_name('log.txt'), 'a') as log: log.write(__name__ + ' ')\n"
    )
    project.write("recipes/conftest.py", AUTOUSE)
    args = ("--heta-benchmark=data", "--heta-recipe=recipes/test_r.py")
    project.run(*args).assert_outcomes(passed=4)
    assert len((project.path / "recipes/log.txt").read_text().split()) == 1
    assert (project.path / "log.txt").read_text().split().count("function") == 4
