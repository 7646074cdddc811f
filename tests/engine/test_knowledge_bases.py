"""Knowledge bases are built once, few are open at once, and all are closed."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import pytest

from pytest_heta.engine.cache import KnowledgeBaseCache
from pytest_heta.engine.config import RunnerConfig
from pytest_heta.engine.knowledge_bases import KnowledgeBasePool
from pytest_heta.engine.plan import Plan
from pytest_heta.engine.recipes import LoadedRecipe
from pytest_heta.errors import BuildError, HetaError
from pytest_heta.records import BenchmarkRunUnit
from tests.engine.toys import SavingRecipe, ToyBenchmark, ToyKnowledgeBase, ToyRecipe, plan_of

UNITS = tuple(BenchmarkRunUnit(unit_id=f"u{n}") for n in range(5))


def run(work: Coroutine[Any, Any, Any]) -> Any:
    """Run, but not for ever."""
    return asyncio.run(asyncio.wait_for(work, 20))


def unheard(message: str) -> None:
    """Take a notice of the cache that no test here expects."""
    raise AssertionError(message)


class Pool(KnowledgeBasePool):
    """A pool that remembers whose look-aheads it stopped."""

    def __init__(self, plan: Plan, recipe: Any, cache: Path | None = None, **config: Any) -> None:
        self.stopped: list[str] = []

        async def stop(unit_id: str) -> None:
            self.stopped.append(unit_id)

        kept = KnowledgeBaseCache(cache, notice=unheard) if cache else None
        super().__init__(plan, LoadedRecipe(recipe, "toy"), "kb", RunnerConfig(**config), kept, stop)


def test_a_knowledge_base_is_built_when_it_is_first_asked_for() -> None:
    """Once, however many ask at the same time, from the unit's documents, under the unit's name."""

    async def story() -> ToyRecipe:
        recipe = ToyRecipe()
        pool = Pool(await plan_of(units=UNITS), recipe)
        assert recipe.built == []
        found = await asyncio.gather(*(pool.get(UNITS[0]) for _ in range(5)))
        assert {id(one) for one in found} == {id(recipe.bases[0])}
        await pool.aclose()
        return recipe

    recipe = run(story())
    assert recipe.built == ["kb-u0"]
    assert recipe.keys == [[f"raw/benchmarks/toy/test/d{n}/d{n}.txt" for n in range(3)]]
    assert recipe.bases[0].closed == 1


def test_an_only_unit_lends_no_name() -> None:
    """The KB has the name that was given."""

    async def story() -> list[str]:
        recipe = ToyRecipe()
        plan = await plan_of()
        pool = Pool(plan, recipe)
        await pool.get(plan.units[0].unit)
        assert pool.reports["corpus"].name == "kb"
        return recipe.built

    assert run(story()) == ["kb"]


def test_at_most_so_many_are_open() -> None:
    """The one that was not used for longest makes room: its queries are stopped, it is closed, later built again."""

    async def story() -> tuple[ToyRecipe, Pool]:
        recipe = ToyRecipe()
        pool = Pool(await plan_of(units=UNITS), recipe, open_knowledge_bases=2)
        for place in (0, 1, 0, 2, 0, 1):
            await pool.get(UNITS[place])
            assert sum(not base.closed for base in recipe.bases) <= 2
        return recipe, pool

    recipe, pool = run(story())
    assert recipe.built == ["kb-u0", "kb-u1", "kb-u2", "kb-u1"]
    assert pool.stopped == ["u1", "u2"]
    assert [base.closed for base in recipe.bases] == [0, 1, 1, 0]


@pytest.mark.parametrize("failure", [ValueError("no index"), BuildError("no index"), SystemExit(3)])
def test_a_build_that_failed_is_not_tried_again(failure: BaseException) -> None:
    """Each case of the unit has its error, other units have their KBs, and the report tells."""

    def make(name: str) -> ToyKnowledgeBase:
        if name == "kb-u0":
            raise failure
        return ToyKnowledgeBase()

    async def story() -> tuple[ToyRecipe, Pool]:
        recipe = ToyRecipe(make)
        pool = Pool(await plan_of(units=UNITS), recipe)
        for _ in range(2):
            with pytest.raises(HetaError, match=r"no index|sys\.exit\(3\)"):
                await pool.get(UNITS[0])
        await pool.get(UNITS[1])
        return recipe, pool

    recipe, pool = run(story())
    assert recipe.built == ["kb-u0", "kb-u1"]
    error = pool.reports["u0"].error
    assert error is not None
    assert error.error_type == ("RecipeError" if isinstance(failure, SystemExit) else type(failure).__name__)
    assert pool.reports["u1"].error is None


def test_documents_that_are_missing_fail_the_build() -> None:
    """With the benchmark's own words."""

    async def story() -> None:
        unit = BenchmarkRunUnit(unit_id="u", document_ids=("gone",))
        pool = Pool(await plan_of(units=(unit,)), ToyRecipe())
        with pytest.raises(BuildError, match="run unit 'u' of toy names unknown documents: 'gone'"):
            await pool.get(unit)

    run(story())


@pytest.mark.parametrize("failure", [ValueError("stuck"), SystemExit(1)])
def test_an_error_in_close_is_told_and_fails_nobody(failure: BaseException) -> None:
    """The unit that needs the room has its KB, and all others are closed in the end."""

    class Stuck(ToyKnowledgeBase):
        async def aclose(self) -> None:
            await super().aclose()
            raise failure

    async def story() -> ToyRecipe:
        recipe = ToyRecipe(lambda name: Stuck())
        pool = Pool(await plan_of(units=UNITS), recipe, open_knowledge_bases=2)
        for unit in UNITS[:2]:
            await pool.get(unit)
        with pytest.warns(UserWarning, match=r"the knowledge base of run unit 'u0' \(recipe toy\) cannot be closed: "):
            await pool.get(UNITS[2])
        with pytest.warns(UserWarning, match="cannot be closed") as told:
            await pool.aclose()
        assert len(told) == 2
        return recipe

    assert [base.closed for base in run(story()).bases] == [1, 1, 1]


def test_a_close_that_hangs_is_left_after_a_while(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The notice names unit and recipe, the other knowledge bases are closed, and the cache has its entry back."""
    monkeypatch.setattr("pytest_heta.engine.knowledge_bases._CLOSE_SECONDS", 0.05)

    async def story() -> list[str]:
        pool = Pool(await plan_of(units=UNITS), SavingRecipe(), tmp_path)
        notices: list[str] = []
        pool.notice = notices.append
        hanging, sound = [await pool.get(unit) for unit in UNITS[:2]]
        hanging.aclose = asyncio.Event().wait
        await pool.aclose()
        assert sound.closed == 1
        return notices

    told = "the knowledge base of run unit 'u0' (recipe toy) is not closed after 0.05 s, and is left as it is"
    assert run(story()) == [told]
    cache = KnowledgeBaseCache(tmp_path, notice=unheard)
    assert [cache.in_use(entry) for entry in cache.list_entries()] == [False]


def test_a_recipe_that_needs_no_documents_gets_none() -> None:
    """The benchmark is not even asked for them."""

    class Indexed(ToyRecipe):
        needs_documents = False

    async def story() -> tuple[ToyBenchmark, ToyRecipe]:
        benchmark, recipe = ToyBenchmark(), Indexed()
        plan = await plan_of(benchmark)
        pool = Pool(plan, recipe)
        await pool.get(plan.units[0].unit)
        assert pool.shareable
        return benchmark, recipe

    benchmark, recipe = run(story())
    assert (benchmark.documents_read, recipe.keys) == (0, [[]])


def test_a_second_run_takes_the_knowledge_base_from_the_cache(tmp_path: Path) -> None:
    """Nothing is built, and the report says so, with the time that the build took."""

    async def one_run(recipe: SavingRecipe, **config: Any) -> Any:
        plan = await plan_of()
        pool = Pool(plan, recipe, tmp_path, **config)
        kb = await pool.get(plan.units[0].unit)
        assert kb.texts == ["text 0", "text 1", "text 2"]
        assert pool.shareable
        await pool.aclose()
        return pool.reports["corpus"]

    recipe = SavingRecipe()
    first, second = run(one_run(recipe)), run(one_run(recipe))
    assert (recipe.builds, recipe.loads) == (1, 2)
    assert (first.cached, second.cached) == (False, True)
    assert first.build_seconds == second.build_seconds > 0
    third = run(one_run(recipe, rebuild=True))
    assert (recipe.builds, third.cached) == (2, False)


def test_an_entry_is_given_back_even_if_closing_fails(tmp_path: Path) -> None:
    """Or the cache could never remove it."""

    async def story() -> None:
        plan = await plan_of()
        pool = Pool(plan, SavingRecipe(), tmp_path)
        kb = await pool.get(plan.units[0].unit)
        kb.aclose = lambda: sys.exit(1)
        with pytest.warns(UserWarning, match="cannot be closed"):
            await pool.aclose()

    run(story())
    cache = KnowledgeBaseCache(tmp_path, notice=unheard)
    assert [cache.in_use(entry) for entry in cache.list_entries()] == [False]


def test_a_recipe_that_cannot_load_is_not_cached(tmp_path: Path) -> None:
    """Its KBs are built anew in every run, and belong to one process."""

    async def story() -> list[str]:
        recipe, plan = ToyRecipe(), await plan_of()
        for _ in range(2):
            pool = Pool(plan, recipe, tmp_path)
            await pool.get(plan.units[0].unit)
            assert not pool.shareable
            assert not pool.reports["corpus"].cached
        return recipe.built

    assert run(story()) == ["kb", "kb"]
    assert KnowledgeBaseCache(tmp_path, notice=unheard).list_entries() == []


def test_a_knowledge_base_that_cannot_be_loaded_fails_its_unit(tmp_path: Path) -> None:
    """And its entry is given back."""

    class Broken(SavingRecipe):
        def load(self, directory: Path, *, name: str) -> Any:
            raise OSError("unreadable")

    async def story() -> None:
        plan = await plan_of()
        with pytest.raises(BuildError, match="run unit 'corpus' cannot be built: OSError: unreadable"):
            await Pool(plan, Broken(), tmp_path).get(plan.units[0].unit)

    run(story())
    cache = KnowledgeBaseCache(tmp_path, notice=unheard)
    assert [cache.in_use(entry) for entry in cache.list_entries()] == [False]


def test_the_manifest_of_a_knowledge_base_is_reported() -> None:
    """Whether it is a mapping or a function."""

    class Described(ToyKnowledgeBase):
        manifest: Any = None

    async def story(manifest: Any) -> Any:
        def make(name: str) -> Described:
            kb = Described()
            kb.manifest = manifest
            return kb

        plan = await plan_of()
        pool = Pool(plan, ToyRecipe(make))
        await pool.get(plan.units[0].unit)
        return pool.reports["corpus"].manifest

    assert run(story({"chunks": 3})) == run(story(lambda: {"chunks": 3})) == {"chunks": 3}
