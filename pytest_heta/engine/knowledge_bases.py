"""The knowledge bases of one evaluation: built at most once a unit or taken from the cache, and few open at once."""

from __future__ import annotations

import asyncio
import inspect
import time
import warnings
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from pytest_heta.calling import call, close
from pytest_heta.engine.cache import CacheEntry, KnowledgeBaseCache, kb_key
from pytest_heta.engine.config import RunnerConfig
from pytest_heta.engine.documents import digest_documents, store_documents
from pytest_heta.engine.fingerprint import recipe_fingerprint
from pytest_heta.engine.outside import Outside
from pytest_heta.engine.plan import Plan
from pytest_heta.engine.raw_folder import raw_folder
from pytest_heta.engine.recipes import LoadedRecipe
from pytest_heta.engine.retry import evaluation_error
from pytest_heta.engine.stoppable import Stoppable
from pytest_heta.errors import BuildError, HetaError
from pytest_heta.keys import knowledge_base_name
from pytest_heta.knowledge.store import LocalObjectStore, MemoryObjectStore
from pytest_heta.masking import mask
from pytest_heta.protocols import ProgressCallback
from pytest_heta.records import BenchmarkRunUnit, KnowledgeBaseReport

_CLOSE_SECONDS = 120.0
"""How long a knowledge base may take to close, and what it has outside of the cache to be removed."""


@dataclass
class OpenKnowledgeBase:
    """A knowledge base in use and how it came to be."""

    kb: Any
    report: KnowledgeBaseReport
    entry: CacheEntry | None = None

    async def aclose(self) -> None:
        """Close the KB, then let the cache have its entry back."""
        try:
            await close(self.kb)
        finally:
            if self.entry is not None:
                self.entry.release()


@dataclass
class KnowledgeBasePool:
    """Opens the knowledge base of a unit when it is first asked for, and holds at most so many open.

    ``cache`` None builds every KB anew and keeps none. ``before_close`` is awaited with the unit's id before its KB is
    closed to make room for another.
    A build that failed is not tried again: it fails each of its unit's cases with the same error.
    """

    plan: Plan
    recipe: LoadedRecipe
    name: str
    config: RunnerConfig
    cache: KnowledgeBaseCache | None
    before_close: Callable[[str], Awaitable[None]]
    progress: ProgressCallback | None = None
    reports: dict[str, KnowledgeBaseReport] = field(default_factory=dict)
    notice: Callable[[str], None] = warnings.warn

    def __post_init__(self) -> None:
        self._open: OrderedDict[str, OpenKnowledgeBase] = OrderedDict()
        self._failed: dict[str, HetaError] = {}
        self._entries: set[Path] = set()
        self._lock = asyncio.Lock()

    @property
    def shareable(self) -> bool:
        """Whether a KB that one process has built can be opened by others, or needs no building."""
        recipe = self.recipe.recipe
        return not needs_documents(recipe) or (self.cache is not None and hasattr(recipe, "load"))

    async def get(self, unit: BenchmarkRunUnit) -> Any:
        """Return the unit's knowledge base.

        Raises:
            BuildError: where it cannot be built.

        """
        async with self._lock:
            if unit.unit_id in self._failed:
                raise self._failed[unit.unit_id]
            if unit.unit_id not in self._open:
                await self._make_room()
                self._open[unit.unit_id] = await self._try_open(unit)
            self._open.move_to_end(unit.unit_id)
            return self._open[unit.unit_id].kb

    async def aclose(self) -> None:
        """Close all of them, and remove what the run has made outside of the cache."""
        async with self._lock:
            problems = [await self._close(*self._open.popitem()) for _ in range(len(self._open))]
            problems.append(await self._retire())
        for problem in filter(None, problems):
            self.notice(problem)

    async def _retire(self) -> str | None:
        """Remove what the run has made on a server, where it is the last to use it, unless the recipe keeps it."""
        drop, cache = getattr(self.recipe.recipe, "drop", None), self.cache
        if cache is None or drop is None or getattr(self.recipe.recipe, "keep", False):
            return None
        try:
            fingerprint = await asyncio.to_thread(self._fingerprint)
        except Exception:
            return None  # nothing of it can be in the cache
        outside = self._outside(drop, fingerprint)
        # What others of the session have built too: one of them may have been killed.
        made = await asyncio.to_thread(cache.made_outside, outside)
        for path in sorted(self._entries.union(made)):
            what = f"what recipe {self.recipe.name} has made outside of the KB cache, for {path.parent},"
            if problem := await _problem(asyncio.to_thread(cache.retire, path, outside), what, "removed"):
                return problem  # the others would not fare better
        return None

    def _outside(self, drop: Callable[[Path], Any], fingerprint: str) -> Outside:
        """Return how to remove what saved KBs point to."""
        loop = asyncio.get_running_loop()

        def dropped(path: Path) -> None:
            asyncio.run_coroutine_threadsafe(call(drop, path), loop).result()

        return Outside(dropped, str(self.recipe.source_file or self.recipe.name), fingerprint)

    async def _close(self, unit_id: str, opened: OpenKnowledgeBase) -> str | None:
        what = f"the knowledge base of run unit {unit_id!r} (recipe {self.recipe.name})"
        return await _problem(opened.aclose(), what, "closed")

    async def _make_room(self) -> None:
        while len(self._open) >= self.config.open_knowledge_bases:
            unit_id, oldest = next(iter(self._open.items()))
            await self.before_close(unit_id)
            del self._open[unit_id]
            if problem := await self._close(unit_id, oldest):
                self.notice(problem)

    async def _try_open(self, unit: BenchmarkRunUnit) -> OpenKnowledgeBase:
        name = knowledge_base_name(self.name, unit.unit_id, self.plan.unit_count)
        started = time.perf_counter()
        try:
            opened = await self._open_unit(unit, name)
        except Exception as error:
            failure = error if isinstance(error, HetaError) else _build_error(unit, error)
            self._failed[unit.unit_id] = failure
            self.reports[unit.unit_id] = KnowledgeBaseReport(
                unit_id=unit.unit_id,
                name=name,
                build_seconds=time.perf_counter() - started,
                error=evaluation_error(error),
            )
            raise failure from error
        self.reports[unit.unit_id] = opened.report
        return opened

    async def _open_unit(self, unit: BenchmarkRunUnit, name: str) -> OpenKnowledgeBase:
        recipe = self.recipe.recipe
        if not needs_documents(recipe):
            return await self._build_without_documents(unit, name)
        if self.cache is None or not hasattr(recipe, "load"):
            return await self._build_uncached(unit, name)
        return await self._open_cached(unit, name, self.cache)

    async def _build_without_documents(self, unit: BenchmarkRunUnit, name: str) -> OpenKnowledgeBase:
        kb = await call(self.recipe.recipe.build, name=name, objects=MemoryObjectStore(), source_keys=())
        return OpenKnowledgeBase(kb, _report(unit, name, kb, 0.0))

    async def _build_uncached(self, unit: BenchmarkRunUnit, name: str) -> OpenKnowledgeBase:
        started = time.perf_counter()
        kb = await self._build(unit, name)
        return OpenKnowledgeBase(kb, _report(unit, name, kb, time.perf_counter() - started))

    async def _open_cached(self, unit: BenchmarkRunUnit, name: str, cache: KnowledgeBaseCache) -> OpenKnowledgeBase:
        digest = await digest_documents(self.plan, unit)
        fingerprint = await asyncio.to_thread(self._fingerprint)
        opening = partial(self._entry, unit, name, cache, kb_key(digest, fingerprint), fingerprint)
        entry = await opening()
        try:
            kb = await self._load(entry, name)
        except BuildError:
            if entry.built:
                raise
            # Its files are whole, but what they point to, such as a table on a server, is gone.
            entry = await opening(newer_than=entry.path)
            kb = await self._load(entry, name)
        facts = {"documents_digest": digest, "index_bytes": entry.manifest.size}
        return OpenKnowledgeBase(kb, _report(unit, name, kb, entry.build_seconds, not entry.built, facts), entry)

    async def _entry(
        self,
        unit: BenchmarkRunUnit,
        name: str,
        cache: KnowledgeBaseCache,
        key: str,
        fingerprint: str,
        newer_than: Path | None = None,
    ) -> CacheEntry:
        label = {"knowledge_base": name, "recipe": self.recipe.name, "benchmark": self.plan.manifest.name}
        drop, thread = getattr(self.recipe.recipe, "drop", None), Stoppable()
        outside = None if drop is None else self._outside(drop, fingerprint)

        def opened() -> CacheEntry:
            return cache.open(
                key,
                build=lambda target: thread.wait_for(partial(self._build_into, unit, name, target)),
                rebuild=self.config.rebuild,
                label=label,
                newer_than=newer_than,
                outside=outside,
            )

        def late(entry: CacheEntry) -> None:
            self._entries.add(entry.path)
            entry.release()

        entry = await thread.run(opened, late)
        self._entries.add(entry.path)
        return entry

    async def _load(self, entry: CacheEntry, name: str) -> Any:
        try:
            return await call(self.recipe.recipe.load, entry.path, name=name)
        except BaseException:
            entry.release()
            raise

    def _fingerprint(self) -> str:
        return recipe_fingerprint(self.recipe.recipe, self.recipe.source_file)

    async def _build_into(self, unit: BenchmarkRunUnit, name: str, target: Path) -> None:
        kb = await self._build(unit, name, target)
        try:
            await call(kb.save, target)
        finally:
            await close(kb)

    async def _build(self, unit: BenchmarkRunUnit, name: str, target: Path | None = None) -> Any:
        recipe, kb = self.recipe.recipe, None
        given: dict[str, Any] = {"name": name, "progress": self.progress}
        if target is not None and hasattr(recipe, "drop") and _takes(recipe, "save_directory"):
            given["save_directory"] = target
        if _takes(recipe, "rebuild"):
            given["rebuild"] = self.config.rebuild or self.config.kb_cache is None
        try:
            async with _raw_store() as objects:
                keys = await store_documents(self.plan, unit, objects, self.progress)
                kb = await call(recipe.build, objects=objects, source_keys=keys, **given)
        except BaseException:
            with suppress(Exception):
                await close(kb)
            raise
        return kb


def needs_documents(recipe: Any) -> bool:
    """Tell whether a recipe builds from documents; one with an index of its own says that it does not."""
    return bool(getattr(recipe, "needs_documents", True))


def _takes(recipe: Any, option: str) -> bool:
    """Tell whether a recipe's build asks for something that most do not."""
    try:
        return option in inspect.signature(recipe.build).parameters
    except (TypeError, ValueError):
        return False


async def _problem(work: Coroutine[Any, Any, None], what: str, done: str) -> str | None:
    """Do something for a limited time; what goes wrong is to be told, but is no reason for others to fail."""
    task = asyncio.create_task(work)
    finished, _ = await asyncio.wait([task], timeout=_CLOSE_SECONDS)
    if not finished:
        task.cancel()
        return f"{what} is not {done} after {_CLOSE_SECONDS:g} s, and is left as it is"
    error = task.exception()
    return None if error is None else f"{what} cannot be {done}: {type(error).__name__}: {error}"


@asynccontextmanager
async def _raw_store() -> AsyncIterator[LocalObjectStore]:
    """Make a store for the raw documents of one build, and remove it at the end."""
    folder = raw_folder()
    objects = LocalObjectStore(await asyncio.to_thread(folder.__enter__))
    try:
        yield objects
    finally:
        try:
            await objects.aclose()
        finally:
            await asyncio.to_thread(folder.__exit__, None, None, None)


def _build_error(unit: BenchmarkRunUnit, error: Exception) -> BuildError:
    told = evaluation_error(error)
    return BuildError(
        f"the knowledge base of run unit {unit.unit_id!r} cannot be built: {told.error_type}: {told.message}"
    )


def _report(
    unit: BenchmarkRunUnit,
    name: str,
    kb: Any,
    build_seconds: float | None,
    cached: bool = False,
    facts: Mapping[str, Any] | None = None,
) -> KnowledgeBaseReport:
    manifest = getattr(kb, "manifest", None)
    manifest = manifest() if callable(manifest) else manifest
    return KnowledgeBaseReport(
        unit_id=unit.unit_id,
        name=name,
        build_seconds=build_seconds,
        cached=cached or getattr(kb, "reopened", False),
        manifest=mask({**(manifest or {}), **(facts or {})}),
    )
