"""From a response to a case result: nothing is lost, and nothing that failed looks scored."""

from __future__ import annotations

import asyncio
import math
import sys
from typing import Any

import pytest

from pytest_heta.engine.asking import Outcome
from pytest_heta.engine.scoring import errored_result, finished_result, not_run_result, score
from pytest_heta.evaluators.ranking import BeirRetrievalMetric
from pytest_heta.records import (
    BenchmarkCase,
    BenchmarkEvidence,
    BenchmarkExpected,
    EvaluationError,
    EvaluationScore,
    GoldLabel,
    QueryResponse,
    QueryResult,
    RankedHit,
)
from tests.engine.toys import case, response

RECALL = BeirRetrievalMetric("recall", 2)


class Failing:
    """A metric that fails by what it is given."""

    def __init__(self, name: str, failure: BaseException) -> None:
        self.name, self._failure = name, failure

    async def evaluate(self, *, case: Any, response: Any) -> EvaluationScore:
        """Fail."""
        raise self._failure


def test_all_evaluators_score_although_one_fails() -> None:
    """The first failure is told with the evaluator's name, also where it is a sys.exit."""
    told = {
        ValueError("bad gold"): ("evaluator a: bad gold (test_scoring.py:39)", "ValueError"),
        SystemExit("bad gold"): ("evaluator a: it ended with sys.exit('bad gold')", "RecipeError"),
        KeyboardInterrupt(): ("evaluator a: it raised KeyboardInterrupt: ", "RecipeError"),
    }
    for failure, expected in told.items():
        evaluators = (Failing("a", failure), RECALL, Failing("b", KeyError("x")))
        scores, error = asyncio.run(score(case("c", "d1"), response("d0", "d1"), evaluators))
        assert scores == (EvaluationScore(name="beir_recall@2", value=1.0),)
        assert error is not None
        assert (error.message, error.error_type) == expected


def test_without_a_failure_there_is_no_error() -> None:
    """Only scores."""
    assert asyncio.run(score(case("c", "gone"), response("d0"), (RECALL,))) == (
        (EvaluationScore(name="beir_recall@2", value=0.0),),
        None,
    )


GOLD = BenchmarkEvidence(
    reference_id="a=20b",
    locator={"source_key_prefix": "raw/benchmarks/toy/test/a=20b/"},
    text="gold text",
    metadata={"relevance": 2, "beir_doc_id": "a b"},
)
CASE = BenchmarkCase(case_id="c", query="why?", expected=BenchmarkExpected(evidence=(GOLD,)), labels={"kind": "hard"})
HITS = (
    QueryResult(id="1", text="t", score=2.5, source={"source_key": "raw/benchmarks/toy/test/a=20b/x.txt"}),
    QueryResult(id="2", score=math.nan),
    QueryResult(id="3", score=math.inf, kind="document"),
)
OUTCOME = Outcome(
    QueryResponse(mode="m", results=HITS, answer="because", metadata={"tokens": 5}), None, 1000.0, 12.5, True, True
)


def test_a_finished_result_holds_what_came_back() -> None:
    """Documents are named, scores that are no numbers are none, and texts stay out unless they are asked for."""
    scores = (EvaluationScore(name="x", value=0.5),)
    result = finished_result("u", CASE, OUTCOME, scores, None, keep_texts=False, node_id="n")
    assert result.hits == (
        RankedHit(id="1", document_id="a=20b", score=2.5),
        RankedHit(id="2"),
        RankedHit(id="3", document_id="3"),
    )
    assert result.gold == (GoldLabel(document_id="a=20b", relevance=2, original_id="a b"),)
    told = result.model_dump(exclude={"hits", "gold", "scores"})
    assert told == {
        "unit_id": "u",
        "case_id": "c",
        "mode": "m",
        "status": "finished",
        "node_id": "n",
        "query": "why?",
        "labels": {"kind": "hard"},
        "answer": "because",
        "error": None,
        "asked_at": 1000.0,
        "latency_ms": 12.5,
        "amortised": True,
        "shallow": True,
        "metadata": {"tokens": 5},
    }
    kept = finished_result("u", CASE, OUTCOME, scores, None, keep_texts=True)
    assert ([hit.text for hit in kept.hits], kept.gold[0].text) == (["t", "", ""], "gold text")


def test_results_without_a_response_say_why() -> None:
    """An error with its times, or that the case was not run; the gold labels are there either way."""
    error = EvaluationError(message="no", error_type="QueryError", attempts=4)
    errored = errored_result("u", CASE, "m", error, Outcome(None, error, 1000.0, 12.5))
    assert (errored.status, errored.error, errored.asked_at, errored.latency_ms) == ("errored", error, 1000.0, 12.5)
    not_run = not_run_result("u", CASE, "m")
    assert (not_run.status, not_run.error, not_run.asked_at) == ("not_run", None, None)
    for result in (errored, not_run):
        assert (result.query, result.labels, result.scores, result.hits) == ("why?", {"kind": "hard"}, (), ())
        assert result.gold[0].document_id == "a=20b"


def test_gold_is_named_by_whatever_names_it() -> None:
    """A raw key, a document id, or the reference."""
    evidences = (
        BenchmarkEvidence(reference_id="r", locator={"source_key": "raw/benchmarks/b/s/d1/f"}),
        BenchmarkEvidence(reference_id="r", locator={"document_id": "d2"}),
        BenchmarkEvidence(reference_id="r"),
        BenchmarkEvidence(text="only text"),
    )
    one = BenchmarkCase(case_id="c", query="q", expected=BenchmarkExpected(evidence=evidences))
    result = not_run_result("u", one, "m")
    assert [gold.document_id for gold in result.gold] == ["d1", "d2", "r", None]


def test_sys_exit_is_not_caught_by_accident() -> None:
    """The exit of an evaluator is an error of its case, and the loop that runs all others lives on."""

    class Leaving:
        name = "leaving"

        async def evaluate(self, *, case: Any, response: Any) -> EvaluationScore:
            sys.exit(2)

    async def twice() -> list[str]:
        found = [await score(CASE, response("d0"), (Leaving(),)) for _ in range(2)]
        return [error.error_type for _, error in found if error]

    assert asyncio.run(twice()) == ["RecipeError", "RecipeError"]


@pytest.mark.parametrize("found", [None, 0.5])
def test_an_evaluator_must_return_a_score(found: Any) -> None:
    """What is none is the evaluator's error, told with its name."""

    class Careless:
        name = "careless"

        async def evaluate(self, *, case: Any, response: Any) -> Any:
            return found

    scores, error = asyncio.run(score(CASE, response("d0"), (Careless(),)))
    assert scores == ()
    assert error is not None
    assert error.message == f"evaluator careless: returned {type(found).__name__}, not an EvaluationScore"
