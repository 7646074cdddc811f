"""An evaluation checks what it is asked for, and asks and scores the cases of a plan."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from types import SimpleNamespace
from typing import Any

import pytest

from pytest_heta.engine.config import RunnerConfig
from pytest_heta.engine.evaluation import Evaluation, chosen_modes
from pytest_heta.engine.recipes import LoadedRecipe
from pytest_heta.errors import HetaError, QueryError
from pytest_heta.evaluators.ranking import BeirRetrievalMetric
from pytest_heta.records import BenchmarkRunUnit, EvaluationCaseResult
from tests.engine.toys import (
    MODE,
    BatchKnowledgeBase,
    ToyBenchmark,
    ToyKnowledgeBase,
    ToyRecipe,
    case,
    cases,
    evaluation_of,
    ids,
    plan_of,
    quiet,
    response,
    settled,
)

METRIC = BeirRetrievalMetric("recall", 2)


def run(work: Coroutine[Any, Any, Any]) -> Any:
    """Run, but not for ever."""
    return asyncio.run(asyncio.wait_for(work, 20))


def recipe(*modes: str) -> LoadedRecipe:
    """A recipe that declares these modes."""
    return LoadedRecipe(SimpleNamespace(available_queries=modes), "mine")


def test_modes_are_those_given_else_all_declared() -> None:
    """In the given order; one that declares none is believed."""
    assert chosen_modes(recipe("a", "b"), ()) == ("a", "b")
    assert chosen_modes(recipe("a", "b"), ("b",)) == ("b",)
    assert chosen_modes(LoadedRecipe(object(), "mine"), ("x",)) == ("x",)


@pytest.mark.parametrize(
    ("declared", "given", "message"),
    [
        (("a", "b"), ("c",), r"unknown query mode 'c' \(known: a, b\)"),
        ((), (), "recipe mine does not declare its query modes: say which, with --heta-mode"),
    ],
)
def test_modes_that_cannot_be_asked_are_refused(declared: Any, given: Any, message: str) -> None:
    """Before anything is built."""
    with pytest.raises(HetaError, match=message):
        chosen_modes(recipe(*declared), given)


@pytest.mark.parametrize(
    ("evaluators", "message"),
    [((), "toy has no evaluators: nothing would be measured"), ((METRIC, METRIC), "duplicate metric ids")],
)
def test_metrics_must_be_there_and_differ(evaluators: Any, message: str) -> None:
    """Whether the benchmark's own or given ones."""

    async def make(own: bool) -> Evaluation:
        if own:
            return evaluation_of(await plan_of(evaluators=evaluators))
        return evaluation_of(await plan_of(), evaluators=evaluators)

    for own in (True, False):
        with pytest.raises(HetaError, match=message):
            run(make(own))


def test_a_case_is_asked_and_scored() -> None:
    """Its result has hits, scores and times."""

    async def story() -> EvaluationCaseResult:
        plan = await plan_of(cases=(case("c", "d1"),))
        evaluation = evaluation_of(plan)
        result = await evaluation.result(plan.units[0], plan.units[0].cases[0], MODE)
        await evaluation.aclose()
        return result

    result = run(story())
    assert (result.status, result.scores[0].value, len(result.hits)) == ("finished", 1.0, 2)
    assert result.asked_at is not None


def test_a_query_that_fails_is_an_errored_result() -> None:
    """No exception, and no score."""

    def fail(text: str, top_k: int) -> Any:
        raise QueryError("no")

    async def story() -> EvaluationCaseResult:
        plan = await plan_of()
        evaluation = evaluation_of(plan, ToyRecipe(lambda name: ToyKnowledgeBase(fail)))
        return await evaluation.result(plan.units[0], plan.units[0].cases[0], MODE)

    result = run(story())
    assert (result.status, result.scores) == ("errored", ())
    assert result.error is not None
    assert result.error.message == "no"


def test_a_knowledge_base_that_lacks_a_mode_says_so() -> None:
    """Although the recipe promised it."""

    class Promising(ToyRecipe):
        available_queries = (MODE, "vector_search")

    async def story() -> None:
        plan = await plan_of()
        await evaluation_of(plan, Promising()).knowledge_base(plan.units[0])

    with pytest.raises(HetaError, match=r"unknown query mode 'vector_search'.* \(known: search\)"):
        run(story())


def test_only_selected_cases_are_asked() -> None:
    """In their order, and ahead of those who wait for them."""

    async def story() -> ToyKnowledgeBase:
        recipe = ToyRecipe()
        plan = await plan_of(cases=cases(10))
        evaluation = evaluation_of(plan, recipe)
        chosen = [plan.units[0].cases[place] for place in (7, 3)]
        evaluation.select({("corpus", MODE): chosen})
        kb = await evaluation.knowledge_base(plan.units[0])
        await evaluation.judged(plan.units[0], chosen[0], MODE, kb)
        await quiet()
        assert evaluation.ready(plan.units[0], chosen[1], MODE, kb) is not None
        await evaluation.aclose()
        return recipe.bases[0]  # type: ignore[no-any-return]

    assert run(story()).asked == ["query c7", "query c3"]


def test_batches_are_used_where_there_are_any() -> None:
    """A knowledge base with ``query_many`` is asked by it alone."""

    async def story() -> BatchKnowledgeBase:
        recipe = ToyRecipe(lambda name: BatchKnowledgeBase())
        plan = await plan_of(cases=cases(5))
        evaluation = evaluation_of(plan, recipe)
        results = [await evaluation.result(plan.units[0], one, MODE) for one in plan.units[0].cases]
        assert all(result.amortised for result in results)
        return recipe.bases[0]  # type: ignore[no-any-return]

    kb = run(story())
    assert (kb.batches, kb.asked) == ([5], [])


def test_a_unit_that_makes_room_stops_its_queries() -> None:
    """What comes after is asked of the knowledge base that is open then."""

    async def story() -> ToyRecipe:
        gate = asyncio.Event()

        async def wait(text: str) -> Any:
            if text != "query c0":
                await gate.wait()
            return response("d0")

        recipe = ToyRecipe(lambda name: ToyKnowledgeBase(lambda text, top_k: wait(text)))
        units = [BenchmarkRunUnit(unit_id=name) for name in ("a", "b")]
        plan = await plan_of(cases=cases(3), units=units)
        evaluation = evaluation_of(plan, recipe, config=RunnerConfig(open_knowledge_bases=1))
        first, second = plan.units
        await evaluation.result(first, first.cases[0], MODE)
        await evaluation.result(second, second.cases[0], MODE)
        gate.set()
        result = await evaluation.result(first, first.cases[1], MODE)
        assert result.status == "finished"
        await evaluation.aclose()
        return recipe

    recipe = run(story())
    assert recipe.built == ["kb-a", "kb-b", "kb-a"]
    assert [base.closed for base in recipe.bases] == [1, 1, 1]
    assert recipe.bases[2].asked[0] == "query c1"


def test_closing_stops_queries_that_hang() -> None:
    """And closes the knowledge base."""

    async def story() -> ToyKnowledgeBase:
        recipe = ToyRecipe(lambda name: ToyKnowledgeBase(lambda text, top_k: asyncio.sleep(600)))
        plan = await plan_of(cases=cases(3))
        evaluation = evaluation_of(plan, recipe)
        waiting = asyncio.create_task(evaluation.result(plan.units[0], plan.units[0].cases[2], MODE))
        await settled(lambda: any(base.asked for base in recipe.bases))
        await evaluation.aclose()
        found = await asyncio.gather(waiting, return_exceptions=True)
        assert isinstance(found[0], asyncio.CancelledError)
        return recipe.bases[0]  # type: ignore[no-any-return]

    assert run(story()).closed == 1


def test_concurrency_is_the_smaller_of_run_and_recipe() -> None:
    """It is what the report tells; as is the depth."""

    class Alone(ToyRecipe):
        max_concurrency = 1

    async def story() -> list[tuple[int, int]]:
        plan = await plan_of(ToyBenchmark(evaluators=(BeirRetrievalMetric("ndcg", 7),)))
        found = [evaluation_of(plan, each, config=RunnerConfig(concurrency=3)) for each in (Alone(), ToyRecipe())]
        return [(one.concurrency, one.top_k) for one in found]

    assert run(story()) == [(1, 7), (3, 7)]


def test_units_have_look_aheads_of_their_own() -> None:
    """The same case in two units is asked of both knowledge bases."""

    async def story() -> ToyRecipe:
        recipe = ToyRecipe()
        units = [BenchmarkRunUnit(unit_id=name) for name in ("a", "b")]
        plan = await plan_of(cases=cases(2), units=units)
        evaluation = evaluation_of(plan, recipe)
        results = [await evaluation.result(unit, one, MODE) for unit in plan.units for one in unit.cases]
        assert [(one.unit_id, one.case_id) for one in results] == [("a", "c0"), ("a", "c1"), ("b", "c0"), ("b", "c1")]
        assert ids(plan.all_cases) == ["c0", "c1"]
        return recipe

    assert [base.asked for base in run(story()).bases] == [["query c0", "query c1"]] * 2
