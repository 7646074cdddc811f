"""The knowledge bases of one evaluation: built at most once a unit or taken from the cache, and few open at once."""

from __future__ import annotations

import asyncio
import tempfile
import time
import warnings
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pytest_heta.calling import call, close
from pytest_heta.engine.cache import CacheEntry, KnowledgeBaseCache, kb_key
from pytest_heta.engine.config import RunnerConfig
from pytest_heta.engine.documents import digest_documents, store_documents
from pytest_heta.engine.fingerprint import recipe_fingerprint
from pytest_heta.engine.plan import Plan
from pytest_heta.engine.recipes import LoadedRecipe
from pytest_heta.engine.retry import evaluation_error
from pytest_heta.errors import BuildError, HetaError
from pytest_heta.keys import knowledge_base_name
from pytest_heta.knowledge.store import LocalObjectStore, MemoryObjectStore
from pytest_heta.masking import mask
from pytest_heta.protocols import ProgressCallback
from pytest_heta.records import BenchmarkRunUnit, KnowledgeBaseReport


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
        """Close all of them."""
        async with self._lock:
            problems = [await _close(*self._open.popitem()) for _ in range(len(self._open))]
            problems += [await self._retire(path) for path in sorted(self._entries)]
        for problem in filter(None, problems):
            self.notice(problem)

    async def _retire(self, path: Path) -> str | None:
        """Remove what a run has made on a server, if it is the last to use it, unless the recipe keeps it."""
        recipe = self.recipe.recipe
        if self.cache is None or not hasattr(recipe, "drop") or getattr(recipe, "keep", False):
            return None
        try:
            await asyncio.to_thread(self.cache.retire, path, recipe.drop)
        except Exception as error:
            return f"what {path} points to cannot be removed: {type(error).__name__}: {error}"
        return None

    async def _make_room(self) -> None:
        while len(self._open) >= self.config.open_knowledge_bases:
            unit_id, oldest = next(iter(self._open.items()))
            await self.before_close(unit_id)
            del self._open[unit_id]
            if problem := await _close(unit_id, oldest):
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
        key = kb_key(digest, await asyncio.to_thread(self._fingerprint))
        label = {"knowledge_base": name, "recipe": self.recipe.name, "benchmark": self.plan.manifest.name}
        loop = asyncio.get_running_loop()

        def build(target: Path) -> None:
            asyncio.run_coroutine_threadsafe(self._build_into(unit, name, target), loop).result()

        def opened(newer_than: Path | None = None) -> CacheEntry:
            return cache.open(key, build=build, rebuild=self.config.rebuild, label=label, newer_than=newer_than)

        entry = await asyncio.to_thread(opened)
        try:
            kb = await self._load(entry, name)
        except BuildError:
            if entry.built:
                raise
            # Its files are whole, but what they point to, such as a table on a server, is gone.
            entry = await asyncio.to_thread(opened, entry.path)
            kb = await self._load(entry, name)
        self._entries.add(entry.path)
        facts = {"documents_digest": digest, "index_bytes": entry.manifest.size}
        return OpenKnowledgeBase(kb, _report(unit, name, kb, entry.build_seconds, not entry.built, facts), entry)

    async def _load(self, entry: CacheEntry, name: str) -> Any:
        try:
            return await call(self.recipe.recipe.load, entry.path, name=name)
        except BaseException:
            entry.release()
            raise

    def _fingerprint(self) -> str:
        return recipe_fingerprint(self.recipe.recipe, self.recipe.source_file)

    async def _build_into(self, unit: BenchmarkRunUnit, name: str, target: Path) -> None:
        kb = await self._build(unit, name)
        try:
            await call(kb.save, target)
        finally:
            await close(kb)

    async def _build(self, unit: BenchmarkRunUnit, name: str) -> Any:
        with tempfile.TemporaryDirectory(prefix="heta-raw-") as folder:
            objects = LocalObjectStore(Path(folder))
            try:
                keys = await store_documents(self.plan, unit, objects, self.progress)
                return await call(
                    self.recipe.recipe.build, name=name, objects=objects, source_keys=keys, progress=self.progress
                )
            finally:
                await objects.aclose()


def needs_documents(recipe: Any) -> bool:
    """Tell whether a recipe builds from documents; one with an index of its own says that it does not."""
    return bool(getattr(recipe, "needs_documents", True))


async def _close(unit_id: str, opened: OpenKnowledgeBase) -> str | None:
    """Close a KB; what goes wrong is told, but is no reason for others to fail."""
    try:
        await opened.aclose()
    except Exception as error:
        return f"the knowledge base of run unit {unit_id!r} cannot be closed: {type(error).__name__}: {error}"
    return None


def _build_error(unit: BenchmarkRunUnit, error: Exception) -> BuildError:
    return BuildError(
        f"the knowledge base of run unit {unit.unit_id!r} cannot be built: {type(error).__name__}: {error}"
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
        cached=cached,
        manifest=mask({**(manifest or {}), **(facts or {})}),
    )
