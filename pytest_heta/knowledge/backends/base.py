"""The knowledge base that lies in a table of an engine."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from pytest_heta.errors import BuildError, HetaError, QueryError
from pytest_heta.knowledge.answering import Answerer
from pytest_heta.knowledge.backends.modes import FullText
from pytest_heta.knowledge.backends.table import Found, StoredChunk, Table
from pytest_heta.knowledge.chunks import hit
from pytest_heta.knowledge.querying import SearchingKnowledgeBase
from pytest_heta.knowledge.ranking import Ranking
from pytest_heta.knowledge.vector import embed_queries
from pytest_heta.records import QueryResult

_T = TypeVar("_T")

POINTER = "server_table.json"
"""The file that ``save`` writes: what the knowledge base is and where its table lies. It holds no secrets."""


class ServerKnowledgeBase(SearchingKnowledgeBase):
    """Answers queries from a table. Safe to use from several threads at once."""

    def __init__(
        self,
        name: str,
        manifest: dict[str, Any],
        table: Table,
        modes: Mapping[str, Any],
        answerer: Answerer | None,
        *,
        temporary: bool,
    ) -> None:
        """Answer from ``table``, which ``close`` drops if ``temporary`` and nothing was saved."""
        super().__init__(name, manifest, modes, answerer)
        self._table, self._temporary = table, temporary

    def save(self, directory: Path) -> None:
        """Write the file from which the recipe's ``load`` finds the table, which from now on outlives this object."""
        write_pointer(directory, self.manifest)
        self._temporary = False

    def close(self) -> None:
        """Drop the table if nobody else can know of it, and release the connection."""
        if self._temporary:
            self._temporary = False
            self._table.drop()
        self._table.close()

    def _search(self) -> TableSearch:
        return TableSearch(self._table, self._modes, str(self.manifest["server"]["kind"]))


class TableSearch:
    """The searches of one call. What they find comes with its text, so that ``hits`` asks the engine nothing."""

    def __init__(self, table: Table, modes: Mapping[str, Any], kind: str) -> None:
        self._table, self._modes, self._kind = table, modes, kind
        self._chunks: dict[int, StoredChunk] = {}

    def rank(self, mode: str, queries: Sequence[str], k: int) -> list[Ranking]:
        """Return at most ``k`` chunks for each query: score descending, then row.

        Raises:
            QueryError: the engine failed; retryable where its connection did.
        """
        try:
            found = self._find(self._modes[mode], queries, k)
        except HetaError:
            raise
        except Exception as error:
            message = f"{self._kind}: {type(error).__name__}: {error}"
            raise QueryError(message, retryable=self._table.is_transient(error)) from error
        return [self._ranking(each) for each in found]

    def hits(self, ranking: Ranking) -> tuple[QueryResult, ...]:
        """Return the chunks of a ranking that this search gave, in its order."""
        return tuple(
            _result(self._chunks[row], score)
            for row, score in zip(ranking.rows.tolist(), ranking.scores.tolist(), strict=True)
        )

    def _find(self, mode: Any, queries: Sequence[str], k: int) -> list[Found]:
        if isinstance(mode, FullText):
            return self._table.matching(queries, k)
        vectors = embed_queries(mode.embedder, queries)
        known = np.flatnonzero(vectors.any(axis=1))
        found: list[Found] = [[] for _ in queries]
        if len(known):
            for place, each in zip(known, self._table.nearest(vectors[known], k), strict=True):
                found[place] = each
        return found

    def _ranking(self, found: Found) -> Ranking:
        ordered = sorted(found, key=lambda each: (-each[1], each[0].row))
        self._chunks.update((chunk.row, chunk) for chunk, _ in ordered)
        return Ranking(
            np.array([chunk.row for chunk, _ in ordered], dtype=np.int64), np.array([score for _, score in ordered])
        )


def write_pointer(directory: Path, manifest: Mapping[str, Any]) -> None:
    """Write the file that says where a table lies: whole, or not at all."""
    directory.mkdir(parents=True, exist_ok=True)
    part = directory / f"{POINTER}.part"
    try:
        part.write_text(json.dumps(manifest, indent=2, ensure_ascii=False), "utf-8")
        part.replace(directory / POINTER)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def in_build(kind: str, location: str, work: Callable[[], _T]) -> _T:
    """Return what ``work`` returns.

    Raises:
        BuildError: an engine failed in it; says which and where.
    """
    try:
        return work()
    except HetaError:
        raise
    except Exception as error:
        raise BuildError(f"{kind} at {location}: {type(error).__name__}: {error}") from error


def _result(chunk: StoredChunk, score: float) -> QueryResult:
    place = (chunk.page_index, chunk.char_start, chunk.char_end)
    return hit(chunk.source_key, chunk.chunk_index, place, chunk.text, score)
