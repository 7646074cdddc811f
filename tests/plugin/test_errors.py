"""What goes wrong while cases run is counted and told in one line."""

from __future__ import annotations

import pytest

from tests.plugin.project import BUILT, QUERIES, Project, clean, node, statuses

COUNTED = ("planned", "scored", "unscored", "errored", "not_run")


def counts(project: Project, metric: str) -> tuple[int, ...]:
    """Return planned, scored, unscored, errored and not run, which must add up."""
    found = tuple(project.report().counts[metric].model_dump()[name] for name in COUNTED)
    assert found[0] == sum(found[1:])
    return found


def test_a_build_that_fails_is_the_error_of_each_case(spread: Project) -> None:
    """Each case says in one line that the knowledge base cannot be built; a process tries once."""
    spread.write(
        "r.py", BUILT.replace("        return Base([", "        raise ValueError('no disk')\n        return Base([")
    )
    result = spread.evaluate("--heta-min=ndcg@1=0", "-q")
    assert result.ret == 1
    result.assert_outcomes(errors=4, failed=1)
    message = "BuildError: the knowledge base of run unit 'corpus' cannot be built: ValueError: no disk (r.py:29)"
    assert result.outlines.count(message) == 4
    clean(result)
    assert set(statuses(spread.report()).values()) == {"errored"}
    assert counts(spread, "words.beir_ndcg@1") == (4, 0, 0, 4, 0)
    errors = {result.error.message for result in spread.report().cases if result.error}
    assert errors == {message.removeprefix("BuildError: ")}
    assert spread.report().knowledge_bases[0].error is not None
    assert len((spread.path / "builds.txt").read_text().splitlines()) <= (2 if "-n2" in spread.spread else 1)


def test_a_query_that_fails_is_the_error_of_its_case(spread: Project) -> None:
    """The others go on; the mean counts the failed one as 0."""
    spread.write(
        "r.py",
        "def search(query, top_k):\n"
        "    if query == 'pears': raise ValueError('no pears')\n"
        "    return {'apples': ['d1'], 'fish': ['d3'], 'stones': ['d4']}[query]\n",
    )
    result = spread.evaluate("-q")
    assert result.ret == 1
    result.assert_outcomes(passed=3, errors=1)
    assert result.outlines.count("ValueError: no pears (r.py:2)") == 1
    clean(result)
    assert counts(spread, "search.beir_ndcg@1") == (4, 3, 0, 1, 0)
    assert spread.report().score_summary["search.beir_ndcg@1"] == 0.75


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("return 5", "RecipeError: search() returned int; expected a list of (document_id, score) pairs"),
        ("return None", "RecipeError: search() returned NoneType; expected a list of (document_id, score) pairs"),
        ("return [5]", "RecipeError: search() returned 5; expected (document_id, score) pairs, ids or QueryResults"),
        ("raise KeyError()", "KeyError: KeyError() (r.py:2)"),
        ("raise RuntimeError('one\\ntwo')", "RuntimeError: one"),
        ("import missing_module", "ModuleNotFoundError: No module named 'missing_module' (r.py:2)"),
        ("raise ValueError('bad \\udce9 byte')", "ValueError: bad \\udce9 byte (r.py:2)"),
        ("raise SystemExit(3)", "RecipeError: search ended with sys.exit(3)"),
    ],
)
def test_nothing_that_a_search_does_breaks_the_run(project: Project, body: str, told: str) -> None:
    """Wrong types and any exception are errors of the case that say what happened."""
    project.write("r.py", f"def search(query, top_k):\n    {body}\n")
    result = project.evaluate("--heta-limit=2", "-q")
    assert result.ret == 1
    result.assert_outcomes(errors=2)
    assert told in result.outlines
    clean(result)
    assert statuses(project.report()) == {"q1": "errored", "q2": "errored"}


def test_a_batch_that_fails_is_asked_one_by_one(project: Project) -> None:
    """Where query_many fails, only the query at fault is an error; answers too few are never mixed up."""
    project.write(
        "r.py",
        BUILT.replace("hits = [", "if text == 'pears': raise ValueError('no pears')\n        hits = ["),
    )
    project.evaluate().assert_outcomes(passed=3, errors=1)
    assert statuses(project.report())["q2"] == "errored"
    project.write("r.py", BUILT.replace("for text in texts]", "for text in texts[1:]]"))
    result = project.evaluate()
    assert set(statuses(project.report()).values()) <= {"finished", "errored"}
    assert "INTERNALERROR" not in result.stdout.str()


OWN_EVALUATORS = """
from pytest_heta import BeirBenchmark, BeirRetrievalMetric, EvaluationScore

class Picky:
    name = "picky"
    async def evaluate(self, *, case, response):
        if case.case_id == "q1":
            raise ZeroDivisionError("nothing to divide")
        if case.case_id == "q2":
            return EvaluationScore.unscored("picky", "no label")
        return EvaluationScore(name="picky", value=1.0)

class Own(BeirBenchmark):
    def evaluators(self):
        return (BeirRetrievalMetric("ndcg", 1), Picky())

benchmark = Own("data", data_root="data")
"""


def test_an_evaluator_that_fails_is_the_error_of_its_metric(spread: Project) -> None:
    """The case fails and keeps its other scores; an unscored case is neither 0 nor failed, and all is counted."""
    spread.write("own.py", OWN_EVALUATORS)
    result = spread.run("--heta-benchmark=own.py", "--heta-recipe=r.py", "--heta-report=out.json", "-q")
    assert result.ret == 1
    result.assert_outcomes(passed=3, failed=1)
    assert result.outlines.count("ZeroDivisionError: evaluator picky: nothing to divide (own.py:8)") == 1
    clean(result)
    assert counts(spread, "search.picky") == (4, 2, 1, 1, 0)
    assert spread.report().score_summary["search.picky"] == 2 / 3
    assert spread.report().score_summary["search.beir_ndcg@1"] == 0.5


def test_a_worker_that_dies_loses_one_case(project: Project) -> None:
    """A query that kills its worker is a failed run; what finished is kept, nothing counts as good that was not."""
    project.spread = ("-p", "xdist", "-n2")
    project.write(
        "r.py",
        "import os\n"
        "max_concurrency = 1\n"
        "def search(query, top_k):\n"
        "    if query == 'stones': os._exit(3)\n"
        "    return {'apples': ['d1'], 'pears': ['d2'], 'fish': ['d3']}[query]\n"
        "search.max_concurrency = 1\n",
    )
    result = project.evaluate("--heta-min=ndcg@1=0", "--max-worker-restart=4")
    assert result.ret == 1
    found = project.report()
    assert [result.case_id for result in found.cases] == list(QUERIES)
    by_case = statuses(found)
    assert by_case["q4"] in {"errored", "not_run"}
    assert set(by_case.values()) <= {"finished", "errored", "not_run"}
    assert not found.gates[0].passed or by_case["q4"] == "errored"
    assert counts(project, "search.beir_ndcg@1")[1] == list(by_case.values()).count("finished")
    assert node("q4") in result.stdout.str()
