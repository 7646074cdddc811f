"""The recipe whose knowledge bases lie in an engine of their own."""

from __future__ import annotations

import asyncio
import json
import math
import secrets
import time
from collections.abc import Mapping, Sequence
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_heta.errors import BuildError, RecipeError
from pytest_heta.knowledge.answering import Answerer
from pytest_heta.knowledge.backends.draft import Draft
from pytest_heta.knowledge.backends.modes import FullText, Hnsw
from pytest_heta.knowledge.backends.table import PREFIX, Columns, Server, Table
from pytest_heta.knowledge.chunking import Chunker, TokenChunker
from pytest_heta.knowledge.declaration import canonical, check_modes
from pytest_heta.knowledge.extras import installed_version
from pytest_heta.knowledge.fetching import check_distinct, fetch
from pytest_heta.knowledge.modes import Fusion, Vectors
from pytest_heta.knowledge.parsing import PARSER_DISTRIBUTIONS
from pytest_heta.protocols import ObjectStoreProtocol, ProgressCallback

if TYPE_CHECKING:
    from pytest_heta.knowledge.backends.base import ServerKnowledgeBase
    from pytest_heta.knowledge.backends.probe import RecallProbe

FORMAT_VERSION = 1
"""Raised whenever older tables can no longer be read, or would be read as something else."""


class ServerRecipe:
    """Builds knowledge bases in the tables of ``server``: PgVector, LanceDb, Milvus or OpenSearch.

    ``modes`` maps the name of each query mode to ``Vectors(embedder)`` (exact), ``Hnsw(embedder)`` (approximate),
    ``FullText(language)`` or a ``Fusion`` of them; there is one vector mode and one full-text mode at most. Each build
    makes a table of its own, whose name carries a digest of the recipe and the documents. The knowledge base drops it
    when it is closed, or the run at its end if it was saved, unless ``keep`` is set.
    """

    def __init__(
        self,
        name: str,
        *,
        server: Server,
        modes: Mapping[str, Vectors | Hnsw | FullText | Fusion],
        chunker: Chunker | None = None,
        answerer: Answerer | None = None,
        keep: bool = False,
    ) -> None:
        """Check the declaration.

        Raises:
            RecipeError: the modes cannot be had so, or not from this engine.
        """
        self.name, self.keep = name, keep
        self._server, self._modes, self._answerer = server, dict(modes), answerer
        self._chunker = TokenChunker() if chunker is None else chunker
        check_modes(name, self._modes, (Vectors, Hnsw, FullText))
        self._columns = _columns(name, self._modes)
        server.check(self._columns)

    @property
    def available_queries(self) -> tuple[str, ...]:
        """The modes of every knowledge base that this recipe builds."""
        return tuple(self._modes)

    @property
    def manifest(self) -> dict[str, Any]:
        """The declared configuration, as JSON. The address of the server is no part of it."""
        return {
            "name": self.name,
            "format_version": FORMAT_VERSION,
            "server": {"kind": self._server.kind, **self._server.declaration()},
            "chunker": self._chunker.declaration(),
            "modes": {name: mode.declaration() for name, mode in self._modes.items()},
            "answerer": None if self._answerer is None else self._answerer.declaration(),
        }

    def fingerprint(self) -> str:
        """Return a digest of all that changes what is built or found, and of where it lies."""
        libraries = {name: installed_version(name) for name in ("numpy", *PARSER_DISTRIBUTIONS)}
        engines = {name: mode.fingerprint() for name, mode in self._modes.items()}
        server = [self._server.location, self._server.fingerprint()]
        return sha256(canonical([self.manifest, libraries, engines, server]).encode()).hexdigest()

    async def build(
        self,
        *,
        name: str,
        objects: ObjectStoreProtocol,
        source_keys: Sequence[str],
        progress: ProgressCallback | None = None,
        save_directory: Path | None = None,
    ) -> ServerKnowledgeBase:
        """Build a knowledge base of these objects in a new table; nothing of it is left where that fails.

        Where ``save_directory`` is given, the table's name is written there before there is a table: so ``drop`` can
        remove what a killed process leaves.

        Raises:
            BuildError: a document that cannot be read, a key given twice, nothing to search, or a failing engine.
            ObjectNotFoundError: a key without an object.
        """
        check_distinct(source_keys)
        content, probes = await self._read(objects, source_keys)
        table_name = _table_name(content)
        where = {"kind": self._server.kind, "location": self._server.location, "table": table_name}
        declared = {"recipe": self.manifest, "server": where, "content": content}
        table = await self._in_thread(self._server.table, table_name, self._columns)
        draft = Draft(table)
        try:
            if save_directory is not None:
                await asyncio.to_thread(self._announce, save_directory, declared)
            built = await self._fill(draft, objects, source_keys, probes, progress)
        except BaseException as error:
            await self._abandon(draft, table_name, save_directory, error)
            raise
        return self._opened(name, {**declared, **built}, table, temporary=not self.keep)

    def load(self, directory: Path, *, name: str) -> ServerKnowledgeBase:
        """Open the table that a saved knowledge base points to.

        Raises:
            BuildError: it is gone, incomplete, or not this recipe's: build it anew.
        """
        manifest = self._pointer(directory)
        if canonical(manifest.get("recipe")) != canonical(self.manifest):
            raise BuildError(f"the knowledge base in {directory} was built by another recipe or version: build it anew")
        table = self._table(manifest)
        try:
            self._check_complete(table, manifest)
        except BaseException:
            table.close()
            raise
        return self._opened(name, manifest, table, temporary=False)

    def drop(self, directory: Path) -> None:
        """Drop the table that a saved knowledge base points to; one that is gone already is no error.

        Raises:
            BuildError: there is no such pointer, it leads to another server, or the server fails.
        """
        table = self._table(self._pointer(directory))
        try:
            self._guarded(table.drop)
        finally:
            table.close()

    def _opened(self, name: str, manifest: dict[str, Any], table: Table, *, temporary: bool) -> ServerKnowledgeBase:
        from pytest_heta.knowledge.backends.base import ServerKnowledgeBase

        return ServerKnowledgeBase(name, manifest, table, self._modes, self._answerer, temporary=temporary)

    def _announce(self, directory: Path, declared: Mapping[str, Any]) -> None:
        from pytest_heta.knowledge.backends.base import write_pointer

        write_pointer(directory, {**declared, "chunks": 0})

    async def _abandon(self, draft: Draft, table: str, directory: Path | None, error: BaseException) -> None:
        """Drop the table of a build that failed; where that fails too, say so and keep what points to the table."""
        from pytest_heta.knowledge.backends.base import POINTER

        left = await asyncio.to_thread(draft.abandon)
        if left is None and directory is not None:
            (directory / POINTER).unlink(missing_ok=True)
        if left is not None and isinstance(error, Exception):
            raise BuildError(f"{error} (table {table} is left: {type(left).__name__}: {left})") from error

    async def _read(self, objects: ObjectStoreProtocol, keys: Sequence[str]) -> tuple[str, list[str]]:
        """Read all documents once: return the digest of recipe and documents, and queries for a RecallProbe."""
        from pytest_heta.knowledge.backends.probe import QUERIES, probe_text
        from pytest_heta.knowledge.building import chunks_of

        digest = sha256((await asyncio.to_thread(self.fingerprint)).encode())
        chosen = set(keys[:: max(1, math.ceil(len(keys) / QUERIES))]) if self._columns.hnsw else set()
        probes: list[str] = []
        async for batch in fetch(objects, keys):
            for key, data in batch:
                digest.update(sha256(key.encode("utf-8", "surrogatepass")).digest() + sha256(data).digest())
                if key in chosen:
                    chunks = await asyncio.to_thread(chunks_of, self._chunker, key, data)
                    probes += [probe_text(chunk.text) for chunk in chunks[:1]]
        return digest.hexdigest(), probes

    async def _fill(
        self,
        draft: Draft,
        objects: ObjectStoreProtocol,
        keys: Sequence[str],
        probes: Sequence[str],
        progress: ProgressCallback | None,
    ) -> dict[str, Any]:
        from pytest_heta.knowledge.backends.building import TableBuilder

        probe = await asyncio.to_thread(self._probe, probes)
        builder = await self._in_thread(TableBuilder, draft, self._chunker, self._columns.embedder, probe)
        async for batch in fetch(objects, keys):
            await self._in_thread(builder.add, batch)
            if progress is not None:
                progress("documents", builder.document_count, len(keys))
                progress("chunks", builder.chunk_count, None)
        built: dict[str, Any] = await self._in_thread(builder.finish)
        return built

    def _probe(self, texts: Sequence[str]) -> RecallProbe | None:
        from pytest_heta.knowledge.backends.probe import RecallProbe

        if self._columns.hnsw is None:
            return None
        return RecallProbe(self._columns.hnsw.embedder, texts)

    def _pointer(self, directory: Path) -> dict[str, Any]:
        from pytest_heta.knowledge.backends.base import POINTER

        try:
            found: dict[str, Any] = json.loads((directory / POINTER).read_text("utf-8"))
            return {**found, "server": dict(found["server"]), "chunks": int(found["chunks"])}
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise BuildError(f"no saved knowledge base in {directory}: {error!r}") from error

    def _table(self, manifest: Mapping[str, Any]) -> Table:
        where = manifest["server"]
        if (where["kind"], where["location"]) != (self._server.kind, self._server.location):
            raise BuildError(
                f"table {where['table']} lies in {where['kind']} at {where['location']}, but the recipe's server is "
                f"{self._server.kind} at {self._server.location}: build it anew"
            )
        table: Table = self._guarded(partial(self._server.table, where["table"], self._columns))
        return table

    def _check_complete(self, table: Table, manifest: Mapping[str, Any]) -> None:
        count = self._guarded(table.count)
        if count != manifest["chunks"]:
            state = "is gone" if count is None else f"has {count} chunks instead of {manifest['chunks']}"
            where = f"{self._server.kind} at {self._server.location}"
            raise BuildError(f"table {manifest['server']['table']} of {where} {state}: build it anew")

    async def _in_thread(self, function: Any, *arguments: Any) -> Any:
        return await asyncio.to_thread(self._guarded, partial(function, *arguments))

    def _guarded(self, work: Any) -> Any:
        from pytest_heta.knowledge.backends.base import in_build

        return in_build(self._server.kind, self._server.location, work)


def _columns(recipe: str, modes: Mapping[str, Any]) -> Columns:
    """Return what the table must hold for these modes."""
    vectors = [mode for mode in modes.values() if isinstance(mode, (Vectors, Hnsw))]
    words = [mode for mode in modes.values() if isinstance(mode, FullText)]
    if len(vectors) > 1 or len(words) > 1:
        raise RecipeError(
            f"recipe {recipe!r}: a table has one vector mode and one full-text mode at most; use several recipes"
        )
    return Columns(
        embedder=vectors[0].embedder if vectors else None,
        hnsw=vectors[0] if vectors and isinstance(vectors[0], Hnsw) else None,
        language=words[0].language if words else None,
    )


def _table_name(content: str) -> str:
    """Return a name that says what is in the table and is nevertheless nobody else's: digest, time, chance."""
    return f"{PREFIX}{content[:16]}_{int(time.time()):08x}{secrets.token_hex(3)}"
