"""Knowledge bases that lie partly outside of the cache: a run removes what it made there, and the cache loses none."""

from __future__ import annotations

import asyncio
import errno
import os
import threading
from collections.abc import Callable, Coroutine, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from pytest_heta.engine.cache import KnowledgeBaseCache
from pytest_heta.engine.cache_folder import CacheFolder
from pytest_heta.engine.config import RunnerConfig
from pytest_heta.engine.knowledge_bases import KnowledgeBasePool
from pytest_heta.engine.outside import MARK, Outside
from pytest_heta.engine.plan import Plan
from pytest_heta.engine.recipes import LoadedRecipe
from pytest_heta.errors import BuildError
from pytest_heta.records import BenchmarkRunUnit
from tests.engine.toys import MODE, ToyKnowledgeBase, ToyRecipe, evaluation_of, plan_of, settled

POINTER = "table.txt"
SESSION = 1
_numbers = count()


class TableBase(ToyKnowledgeBase):
    """A KB whose table goes when it is closed, unless it was saved."""

    def __init__(self, tables: set[str], table: str, saved: bool = False) -> None:
        super().__init__()
        self.tables, self.table, self.saved = tables, table, saved

    def save(self, directory: Path) -> None:
        """Write the name of the table."""
        (directory / POINTER).write_text(self.table, encoding="utf-8")
        self.saved = True

    async def aclose(self) -> None:
        """Drop the table if nobody knows of it."""
        await super().aclose()
        if not self.saved:
            self.tables.discard(self.table)


class TableRecipe:
    """Makes one table a build on a "server", which is a set of names."""

    available_queries = (MODE,)

    def __init__(self, tables: set[str], *, keep: bool = False, name: str = "tables") -> None:
        self.tables, self.keep, self.name = tables, keep, name
        self.made = 0
        self.refuses = False

    def fingerprint(self) -> str:
        """All of one name build the same."""
        return self.name

    async def build(self, *, name: str, objects: Any, source_keys: Sequence[str], progress: Any = None) -> TableBase:
        """Make a table."""
        self.made += 1
        table = f"table{next(_numbers)}"
        self.tables.add(table)
        return TableBase(self.tables, table)

    def load(self, directory: Path, *, name: str) -> TableBase:
        """Find the table."""
        table = (directory / POINTER).read_text(encoding="utf-8")
        if table not in self.tables:
            raise BuildError(f"table {table} is gone")
        return TableBase(self.tables, table, saved=True)

    def drop(self, directory: Path) -> None:
        """Remove the table."""
        if self.refuses:
            raise OSError("the server is down")
        self.tables.discard((directory / POINTER).read_text(encoding="utf-8"))


class Pools:
    """Opens pools over one cache, and has what all of them told."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.notices: list[str] = []
        self.tables: set[str] = set()

    def cache(self, session: int = SESSION, **options: Any) -> KnowledgeBaseCache:
        """Open the cache as a session does."""
        return KnowledgeBaseCache(self.directory, notice=self.notices.append, session_start_ns=session, **options)

    async def pool(self, recipe: Any, session: int = SESSION, **config: Any) -> Pool:
        """Make the pool of a run."""
        return Pool(await plan_of(), recipe, self.cache(session), RunnerConfig(**config), self.notices)


class Pool(KnowledgeBasePool):
    """A pool of one unit."""

    def __init__(
        self, plan: Plan, recipe: Any, cache: KnowledgeBaseCache, config: RunnerConfig, notices: list[str]
    ) -> None:
        async def stop(unit_id: str) -> None:
            """There are no queries."""

        super().__init__(plan, LoadedRecipe(recipe, "toy"), "kb", config, cache, stop)
        self.notice = notices.append

    @property
    def unit(self) -> BenchmarkRunUnit:
        """The only unit."""
        return self.plan.units[0].unit

    async def opened(self) -> TableBase:
        """Return the unit's KB."""
        kb = await self.get(self.unit)
        assert isinstance(kb, TableBase)
        return kb


@pytest.fixture
def pools(tmp_path: Path) -> Pools:
    """Pools over an empty cache."""
    return Pools(tmp_path / "cache")


def run(work: Coroutine[Any, Any, Any]) -> Any:
    """Run, but not for ever."""
    return asyncio.run(asyncio.wait_for(work, 20))


async def one_run(pools: Pools, recipe: Any, session: int = SESSION, **config: Any) -> bool:
    """Open and close a KB as a run does; return whether it came from the cache."""
    pool = await pools.pool(recipe, session, **config)
    try:
        await pool.opened()
    finally:
        await pool.aclose()
    return pool.reports["corpus"].cached


def files_of(directory: Path) -> list[str]:
    """Return what lies in a cache, apart from locks."""
    return [path.name for path in directory.rglob("*") if path.is_file() and path.parent.name != "locks"]


def test_a_run_removes_what_it_made(pools: Pools) -> None:
    """While the KB is open its table is there; afterwards neither table nor entry is."""

    async def story() -> None:
        pool = await pools.pool(TableRecipe(pools.tables))
        kb = await pool.opened()
        assert pools.tables == {kb.table}
        await pool.aclose()

    run(story())
    assert (pools.tables, files_of(pools.directory), pools.notices) == (set(), [], [])


def test_what_is_to_be_kept_is_opened_by_the_next_run(pools: Pools) -> None:
    """With keep the table outlives the run; a later run without it opens the table and then removes it."""
    keeping = TableRecipe(pools.tables, keep=True)
    assert not run(one_run(pools, keeping))
    assert run(one_run(pools, keeping, session=2))
    assert (keeping.made, len(pools.tables)) == (1, 1)
    assert run(one_run(pools, TableRecipe(pools.tables), session=3))
    assert (pools.tables, files_of(pools.directory), pools.notices) == (set(), [], [])


def test_the_last_to_use_a_table_removes_it(pools: Pools) -> None:
    """A run that ends while another one has the same KB open leaves the table to that."""

    async def story() -> None:
        recipe = TableRecipe(pools.tables)
        first, second = await pools.pool(recipe, session=1), await pools.pool(recipe, session=2)
        assert (await first.opened()).table == (await second.opened()).table
        await first.aclose()
        assert len(pools.tables) == 1
        await second.aclose()

    run(story())
    assert (pools.tables, files_of(pools.directory)) == (set(), [])


def test_what_a_killed_worker_built_is_removed_by_another_of_its_session(pools: Pools) -> None:
    """Even by one that never opened it, as the controller; sessions and recipes do not touch what is not theirs."""

    async def story() -> None:
        killed = TableRecipe(pools.tables)
        crashed = await pools.pool(killed)
        await crashed.opened()
        crashed._open["corpus"].entry.release()  # type: ignore[union-attr]
        for other, session in ((TableRecipe(pools.tables), 2), (TableRecipe(pools.tables, name="others"), 1)):
            await (await pools.pool(other, session)).aclose()
            assert len(pools.tables) == 1
        await (await pools.pool(killed)).aclose()

    run(story())
    assert (pools.tables, files_of(pools.directory), pools.notices) == (set(), [], [])


@pytest.mark.parametrize("keep", [False, True])
def test_a_table_that_is_gone_is_built_anew(pools: Pools, keep: bool) -> None:
    """The stale entry goes with the build that replaces it, the report says built, and nothing else is left."""
    run(one_run(pools, TableRecipe(pools.tables, keep=True)))
    pools.tables.clear()
    recipe = TableRecipe(pools.tables, keep=keep)
    assert not run(one_run(pools, recipe, session=2))
    assert recipe.made == 1
    assert len(pools.tables) == len(pools.cache().list_entries()) == keep
    assert pools.notices == []


def test_a_rebuild_drops_what_it_replaces(pools: Pools) -> None:
    """Also if the recipe keeps its tables: nobody would ever find that one again."""
    recipe = TableRecipe(pools.tables, keep=True)
    run(one_run(pools, recipe, session=1))
    run(one_run(pools, recipe, session=2**62, rebuild=True))
    assert (recipe.made, len(pools.tables), len(pools.cache().list_entries())) == (2, 1, 1)


def test_a_table_in_use_is_not_dropped_by_a_rebuild(pools: Pools) -> None:
    """Whoever has it open removes it in the end."""

    async def story() -> None:
        recipe = TableRecipe(pools.tables)
        using, building = await pools.pool(recipe), await pools.pool(recipe, session=2**62, rebuild=True)
        old = (await using.opened()).table
        await building.opened()
        assert len(pools.tables) == 2
        await building.aclose()
        assert pools.tables == {old}
        await using.aclose()

    run(story())
    assert (pools.tables, files_of(pools.directory)) == (set(), [])


def no_space(*arguments: Any, **options: Any) -> Any:
    """Fail as a full disk does."""
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize("where", ["cache.seal", "cache_folder.CacheFolder.publish"])
def test_a_build_that_cannot_be_published_leaves_no_table(
    pools: Pools, where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The KB was saved, so its table would stay, though nothing leads there any more."""
    monkeypatch.setattr(f"pytest_heta.engine.{where}", no_space)
    with pytest.raises(BuildError, match="no space left"):
        run(one_run(pools, TableRecipe(pools.tables, keep=True)))
    assert (pools.tables, files_of(pools.directory), pools.notices) == (set(), [], [])


@pytest.mark.parametrize("step", ["save", "aclose"])
def test_a_build_that_fails_after_it_was_saved_leaves_no_table(pools: Pools, step: str) -> None:
    """Be it in the last moment of saving or in closing."""

    class Failing(TableRecipe):
        async def build(self, **given: Any) -> TableBase:
            kb = await super().build(**given)
            real = getattr(kb, step)

            async def failing(*arguments: Any) -> None:
                done = real(*arguments)
                if done is not None:
                    await done
                raise ValueError("no more")

            setattr(kb, step, failing)
            return kb

    with pytest.raises(BuildError, match="no more"):
        run(one_run(pools, Failing(pools.tables)))
    assert (pools.tables, files_of(pools.directory), pools.notices) == (set(), [], [])


def test_a_table_that_cannot_be_dropped_is_told_and_found_again(pools: Pools) -> None:
    """The entry stays, so that a later run can use the table and remove it."""
    recipe = TableRecipe(pools.tables)
    recipe.refuses = True
    run(one_run(pools, recipe))
    (entry,) = pools.cache().list_entries()
    assert pools.notices == [
        f"what a knowledge base in {entry.path} has outside of the cache cannot be removed: "
        "OSError: the server is down (see `python -m pytest_heta cache rm --help`)"
    ]
    recipe.refuses = False
    assert run(one_run(pools, recipe, session=2))
    assert (recipe.made, pools.tables, files_of(pools.directory)) == (1, set(), [])


def test_a_build_that_can_neither_be_published_nor_dropped_is_left_to_the_next_one(
    pools: Pools, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it saved stays until a build of the same succeeds, which drops it."""
    recipe = TableRecipe(pools.tables)
    recipe.refuses = True
    with monkeypatch.context() as patch:
        patch.setattr(CacheFolder, "publish", no_space)
        with pytest.raises(BuildError, match="no space left"):
            run(one_run(pools, recipe))
    assert [entry.finished for entry in pools.cache().list_entries()] == [False]
    assert len(pools.notices) == len(pools.tables) == 1
    recipe.refuses = False
    run(one_run(pools, recipe))
    assert (recipe.made, pools.tables, files_of(pools.directory)) == (2, set(), [])


def test_a_drop_that_hangs_is_left_after_a_while(pools: Pools, monkeypatch: pytest.MonkeyPatch) -> None:
    """The run ends, with a notice; the entry stays for the next one."""
    monkeypatch.setattr("pytest_heta.engine.knowledge_bases._CLOSE_SECONDS", 0.05)
    go_on = threading.Event()

    class Hanging(TableRecipe):
        def drop(self, directory: Path) -> None:
            assert go_on.wait(20)
            raise OSError("too late")

    async def story() -> None:
        await one_run(pools, Hanging(pools.tables))
        (entry,) = pools.cache().list_entries()
        assert pools.notices == [
            f"what recipe toy has made outside of the KB cache, for {entry.path}, is not removed after 0.05 s, "
            "and is left as it is"
        ]
        go_on.set()

    run(story())
    assert len(pools.cache().list_entries()) == len(pools.tables) == 1


def test_drop_may_be_asynchronous(pools: Pools) -> None:
    """As all that a recipe does."""

    class Asynchronous(TableRecipe):
        async def drop(self, directory: Path) -> None:  # type: ignore[override]
            await asyncio.sleep(0)
            super().drop(directory)

    run(one_run(pools, Asynchronous(pools.tables)))
    assert (pools.tables, files_of(pools.directory), pools.notices) == (set(), [], [])


class Slow(TableRecipe):
    """Stops in the midst of a build until told to go on; a build that is cancelled drops its table."""

    def __init__(self, tables: set[str]) -> None:
        super().__init__(tables)
        self.go_on = asyncio.Event()

    async def build(self, **given: Any) -> TableBase:
        """Build, in two steps."""
        kb = await super().build(**given)
        try:
            await self.go_on.wait()
        except BaseException:
            await asyncio.sleep(0.02)
            self.tables.discard(kb.table)
            raise
        return kb


def test_an_interrupted_build_is_taken_back_before_the_run_ends(pools: Pools) -> None:
    """Closing the pool waits for it: no table, no work in the cache."""

    async def story() -> None:
        pool = await pools.pool(Slow(pools.tables))
        getting = asyncio.create_task(pool.get(pool.unit))
        await settled(lambda: bool(pools.tables))
        getting.cancel()
        await pool.aclose()
        assert (pools.tables, files_of(pools.directory)) == (set(), [])
        with pytest.raises(asyncio.CancelledError):
            await getting

    run(story())


def test_a_build_that_ends_as_it_is_interrupted_is_removed(pools: Pools, monkeypatch: pytest.MonkeyPatch) -> None:
    """What nobody got is nevertheless something that the run made."""

    async def story() -> None:
        loop = asyncio.get_running_loop()
        pool = await pools.pool(TableRecipe(pools.tables))
        getting = asyncio.create_task(pool.get(pool.unit))
        real = CacheFolder.publish

        def publish(folder: CacheFolder, build: Path, key: str) -> Path:
            asyncio.run_coroutine_threadsafe(interrupted(), loop).result()
            return real(folder, build, key)

        async def interrupted() -> None:
            getting.cancel()

        monkeypatch.setattr(CacheFolder, "publish", publish)
        with pytest.raises(asyncio.CancelledError):
            await getting
        assert len(pools.tables) == 1
        await pool.aclose()

    run(story())
    assert (pools.tables, files_of(pools.directory)) == (set(), [])


def test_a_build_is_told_where_it_will_be_saved_if_it_asks(pools: Pools) -> None:
    """So that a table whose builder is killed is found: the next build of the same drops it, other uses do not."""

    class Noting(TableRecipe):
        async def build(self, *, save_directory: Path, **given: Any) -> TableBase:  # type: ignore[override]
            kb = await super().build(**given)
            kb.save(save_directory)
            return kb

    recipe = Noting(pools.tables)
    run(one_run(pools, recipe))
    run(one_run(pools, recipe))
    assert (recipe.made, pools.tables) == (2, set())

    key = left_by_a_killed_process(pools)
    assert pools.cache().collect_garbage() == []
    assert len(pools.tables) == 1
    outside = Outside(recipe.drop)
    with pools.cache().open(key, build=lambda folder: None, label={}, outside=outside):
        assert (pools.tables, pools.notices) == (set(), [])


def left_by_a_killed_process(pools: Pools) -> str:
    """Leave a build with a table as a killed process does; return its key."""
    key = "ab" * 32
    pools.tables.add("left")
    folder = CacheFolder(pools.directory)
    folder.create()
    build = folder.begin_build(key, Outside(print).mark(SESSION))
    (build / "files" / POINTER).write_text("left", encoding="utf-8")
    return key


def test_a_build_under_way_is_no_leftover(pools: Pools) -> None:
    """Nobody lists it, let alone drops its table."""
    key = left_by_a_killed_process(pools)
    assert [entry.key for entry in pools.cache().list_entries()] == [key]
    with CacheFolder(pools.directory).lock(key):
        assert pools.cache().list_entries() == []
        assert pools.cache().remove(key, Outside(TableRecipe(pools.tables).drop)) == []
    assert pools.tables == {"left"}


def damaged_mark(entry: Path) -> None:
    """Cut the mark off."""
    (entry / MARK).write_text("{", encoding="utf-8")


def damaged_manifest(entry: Path) -> None:
    """Cut the manifest off."""
    (entry / "manifest.json").write_text("{", encoding="utf-8")


@pytest.mark.parametrize("damage", [None, damaged_mark, damaged_manifest])
def test_neither_eviction_nor_collection_loses_a_table(pools: Pools, damage: Callable[[Path], None] | None) -> None:
    """An entry that points outside is kept whatever the limit, and removed only by who can drop the table."""
    recipe = TableRecipe(pools.tables, keep=True)
    run(one_run(pools, recipe))
    (entry,) = pools.cache().list_entries()
    if damage:
        damage(entry.path)
    tight = pools.cache(limit_bytes=0)
    tight.open("cd" * 32, build=lambda folder: None, label={}).release()
    tight.collect_garbage()
    assert tight.remove(entry.key) == []
    assert [left.path for left in tight.list_entries()] == [entry.path]
    assert len(pools.tables) == 1
    assert [gone.path for gone in tight.remove(entry.key, Outside(recipe.drop))] == [entry.path]
    assert (pools.tables, files_of(pools.directory), pools.notices) == (set(), [], [])


def test_an_evaluation_that_built_nothing_removes_nothing(pools: Pools) -> None:
    """Not even if its recipe cannot be told from others."""

    class Nameless(ToyRecipe):
        manifest: Mapping[str, Any] = {"no": {1}}

        def drop(self, directory: Path) -> None:
            raise AssertionError("nothing to drop")

    async def story() -> None:
        evaluation = evaluation_of(await plan_of(), Nameless(), cache=pools.cache())
        evaluation.pool.notice = pools.notices.append
        await evaluation.aclose()

    run(story())
    assert pools.notices == []
