"""Filling a table: parse, chunk, embed and insert, one batch of documents after another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pytest_heta.knowledge.backends.draft import Draft
from pytest_heta.knowledge.backends.probe import RecallProbe
from pytest_heta.knowledge.backends.table import StoredChunk
from pytest_heta.knowledge.building import chunks_of, empty_documents, nothing_to_search
from pytest_heta.knowledge.chunking import Chunk, Chunker
from pytest_heta.knowledge.vector import embed_chunks

if TYPE_CHECKING:
    from pytest_heta.knowledge.embedding import Embedder
    from pytest_heta.knowledge.vector import Matrix

_ROWS_AT_ONCE = 1000


class TableBuilder:
    """Takes raw documents in; holds no more of them in memory than it is given at once."""

    def __init__(self, table: Draft, chunker: Chunker, embedder: Embedder | None, probe: RecallProbe | None) -> None:
        """Make the table and fill it; with ``probe``, measure its approximate index."""
        self._table, self._chunker, self._embedder, self._probe = table, chunker, embedder, probe
        self._empty: list[str] = []
        self.document_count = self.chunk_count = 0
        table.create()

    def add(self, documents: Sequence[tuple[str, bytes]]) -> None:
        """Add documents, as source key and content.

        Raises:
            BuildError: one of them cannot be read or embedded.
        """
        rows: list[StoredChunk] = []
        for key, data in documents:
            chunks = chunks_of(self._chunker, key, data)
            rows += [_row(self.chunk_count + len(rows) + n, key, n, chunk) for n, chunk in enumerate(chunks)]
            if not chunks:
                self._empty.append(key)
        self.document_count += len(documents)
        for first in range(0, len(rows), _ROWS_AT_ONCE):
            self._insert(rows[first : first + _ROWS_AT_ONCE])
        self.chunk_count += len(rows)

    def finish(self) -> dict[str, Any]:
        """Complete the table and return what the knowledge base's manifest says about the build.

        Raises:
            BuildError: there is nothing to search.
        """
        if not self.chunk_count:
            raise nothing_to_search(self.document_count)
        self._table.finish()
        built = {
            "documents": self.document_count,
            "chunks": self.chunk_count,
            "empty_documents": empty_documents(self._empty),
        }
        return built if self._probe is None else {**built, "approximate": self._probe.measure(self._nearest_rows)}

    def _insert(self, rows: Sequence[StoredChunk]) -> None:
        vectors = None
        if self._embedder is not None:
            vectors = embed_chunks(self._embedder, [row.text for row in rows])
            if self._probe is not None:
                self._probe.observe(rows[0].row, vectors)
        self._table.insert(rows, vectors)

    def _nearest_rows(self, queries: Matrix, k: int) -> list[NDArray[np.int64]]:
        return [np.array([chunk.row for chunk, _ in found]) for found in self._table.nearest(queries, k)]


def _row(row: int, key: str, number: int, chunk: Chunk) -> StoredChunk:
    return StoredChunk(row, key, number, chunk.page_index, chunk.char_start, chunk.char_end, chunk.text)
