"""All checks of a recipe, one after the other."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator, Awaitable, Sequence
from pathlib import Path
from typing import Any

from pytest_heta.calling import call, close
from pytest_heta.checking.corpus import DUPLICATES, MAIN, OTHER, QUERIES
from pytest_heta.checking.findings import Finding
from pytest_heta.checking.probe import Probe, build, ranking
from pytest_heta.checking.queries import MODE_CHECKS, Skipped, Subject
from pytest_heta.keys import document_id_of, safe_document_id
from pytest_heta.loading import describe_failure

_CONCURRENCY = 8


async def check_recipe(recipe: Any, queries: Sequence[str] = ()) -> AsyncIterator[Finding]:
    """Build tiny knowledge bases with a recipe of the protocol, ask them, and yield a finding a check.

    ``queries`` are asked instead of the corpus' own; give some where the recipe searches documents of its own. A
    failure of the recipe is a finding, not an exception; after a failed build there is nothing more to check.
    """
    checker = _Checker(recipe, tuple(queries))
    try:
        kb = await build(recipe, MAIN, "heta-check")
    except Exception as error:
        yield Finding("build", "wrong", describe_failure(error))
        return
    yield Finding("build", "ok", "a knowledge base of a tiny corpus" if checker.builds else "no documents are needed")
    async for finding in checker.check(kb):
        yield finding


class _Checker:
    def __init__(self, recipe: Any, queries: tuple[str, ...]) -> None:
        self.recipe = recipe
        self.builds: bool = getattr(recipe, "needs_documents", True)
        own = self.builds and not queries
        self._right = {query: safe_document_id(name) for name, query in QUERIES.items()} if own else {}
        self._queries = queries or tuple(QUERIES.values())
        self._concurrency = min(_CONCURRENCY, getattr(recipe, "max_concurrency", None) or _CONCURRENCY)

    async def check(self, kb: Any) -> AsyncIterator[Finding]:
        modes = tuple(getattr(kb, "available_queries", ()))
        yield await _judge("modes", self._modes(modes))
        for mode in modes:
            subject = Subject(
                Probe(kb, mode),
                self._queries,
                self._concurrency,
                frozenset(MAIN.texts) if self.builds else None,
                self._right,
            )
            for name, check in MODE_CHECKS.items():
                yield await _judge(name, check(subject), mode)
        if modes and self.builds:
            yield await _judge("leaks", self._leaks(kb, modes[0]))
            yield await _judge("duplicates", self._duplicates(modes[0]))
            yield await _judge("keeping", self._keeping(kb, modes[0]))
        yield await _judge("closing", _closing(kb))

    async def _modes(self, modes: tuple[str, ...]) -> str | None:
        """Tell whether there are modes, and those that the recipe declares."""
        declared = getattr(self.recipe, "available_queries", None)
        if not modes:
            return "the knowledge base has no available_queries: nothing can be asked"
        # None, where they are known only once it is built.
        if declared and set(declared) != set(modes):
            return f"the recipe declares {tuple(declared)}, its knowledge base has {modes}"
        return None

    async def _leaks(self, kb: Any, mode: str) -> str | None:
        """Tell whether two knowledge bases, open at the same time, find each other's documents."""
        other = await build(self.recipe, OTHER, "heta-check-other")
        try:
            for open_kb, corpus in ((other, OTHER), (kb, MAIN)):
                for query in self._queries:
                    found = {document_id_of(hit) for hit in (await Probe(open_kb, mode).ask(query, 20)).results}
                    if foreign := {str(name) for name in found if name is not None} - set(corpus.texts):
                        return (
                            f"a knowledge base found {sorted(foreign)[0]!r}, a document of another one: give each "
                            "build a store, collection or index of its own"
                        )
        finally:
            await close(other)
        return None

    async def _duplicates(self, mode: str) -> str | None:
        """Tell whether documents of the same text can be built and found."""
        kb = await build(self.recipe, DUPLICATES, "heta-check-duplicates")
        try:
            found = {document_id_of(hit) for hit in (await Probe(kb, mode).ask(QUERIES["violin"], 10)).results}
        finally:
            await close(kb)
        lost = {"first", "second"} - found
        if lost and found:
            return f"of two documents with the same text only one is found: {sorted(lost)[0]!r} is lost"
        return None

    async def _keeping(self, kb: Any, mode: str) -> str | None:
        """Tell whether a knowledge base that was saved and loaded answers as before."""
        if not hasattr(kb, "save") or not hasattr(self.recipe, "load"):
            raise Skipped("without save and load it is built anew in each run")
        with tempfile.TemporaryDirectory(prefix="heta-check-") as folder:
            await call(kb.save, Path(folder))
            loaded = await call(self.recipe.load, Path(folder), name="heta-check")
            try:
                for query in self._queries:
                    before = ranking(await Probe(kb, mode).ask(query))
                    if before != (after := ranking(await Probe(loaded, mode).ask(query))):
                        return f"{query!r} gave {before} before saving and {after} after loading"
            finally:
                await close(loaded)
                if (drop := getattr(self.recipe, "drop", None)) is not None:
                    await call(drop, Path(folder))
        return None


async def _closing(kb: Any) -> None:
    await close(kb)


async def _judge(name: str, check: Awaitable[str | None], mode: str = "") -> Finding:
    try:
        wrong = await check
    except Skipped as reason:
        return Finding(name, "skipped", str(reason), mode)
    except Exception as error:
        return Finding(name, "wrong", describe_failure(error), mode)
    return Finding(name, "ok" if wrong is None else "wrong", wrong or MEANINGS[name], mode)


MEANINGS = {
    "modes": "there is something to ask",
    "responses": "queries are answered",
    "ids": "every hit names a document of the corpus",
    "relevance": "the right documents come first",
    "top_k": "never more hits than asked for",
    "order": "best first",
    "determinism": "the same query, the same hits",
    "at once": "the same hits when asked at the same time",
    "batches": "query_many gives what query gives",
    "leaks": "two knowledge bases do not see each other's documents",
    "duplicates": "documents of the same text are kept apart",
    "keeping": "the same hits after saving and loading",
    "closing": "can be closed",
}
