"""How good an approximate index is: its recall against exact search, measured while a table is built."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pytest_heta.knowledge.vector import embed_queries

if TYPE_CHECKING:
    from pytest_heta.knowledge.embedding import Embedder
    from pytest_heta.knowledge.vector import Matrix

QUERIES = 100
"""How many documents give a query, evenly spread over all."""

_DEPTH, _WORDS = 10, 16


def probe_text(text: str) -> str:
    """Return the query that a chunk's text gives: its first 16 words."""
    return " ".join(text.split()[:_WORDS])


class RecallProbe:
    """Holds the exact nearest chunks of some queries, by comparing them with every batch that is inserted."""

    def __init__(self, embedder: Embedder, texts: Sequence[str]) -> None:
        """Embed the queries; those that no vector stands for are left out."""
        vectors = embed_queries(embedder, texts)
        self._queries: Matrix = vectors[vectors.any(axis=1)]
        self._rows = np.zeros((len(self._queries), 0), dtype=np.int64)
        self._scores = np.zeros((len(self._queries), 0), dtype=np.float32)

    def observe(self, first_row: int, vectors: Matrix) -> None:
        """Take in the vectors (n, dim) of the rows from ``first_row`` on."""
        scores = self._queries @ vectors.T
        scores[:, ~vectors.any(axis=1)] = -np.inf
        rows = np.broadcast_to(np.arange(first_row, first_row + len(vectors)), scores.shape)
        self._scores = np.hstack([self._scores, scores])
        self._rows = np.hstack([self._rows, rows])
        best = np.argsort(-self._scores, axis=1, kind="stable")[:, :_DEPTH]
        self._scores = np.take_along_axis(self._scores, best, axis=1)
        self._rows = np.take_along_axis(self._rows, best, axis=1)

    def measure(self, nearest: Callable[[Matrix, int], list[NDArray[np.int64]]]) -> dict[str, Any]:
        """Return the recall of a search that gives the rows nearest to each query: what share of the 10 exact ones."""
        if not len(self._queries):
            return {"recall@10": None, "queries": 0}
        found = nearest(self._queries, _DEPTH)
        shares = [len(np.intersect1d(got, exact)) / len(exact) for got, exact in zip(found, self._rows, strict=True)]
        return {"recall@10": round(float(np.mean(shares)), 4), "queries": len(shares)}
