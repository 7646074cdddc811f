"""Exact nearest neighbours by cosine similarity, in numpy over a mapped matrix."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import numpy as np
from numpy.typing import NDArray

from pytest_heta.errors import BuildError, QueryError
from pytest_heta.knowledge.columns import open_array, save_array
from pytest_heta.knowledge.ranking import NO_HITS, Ranking, ranked

if TYPE_CHECKING:
    from pytest_heta.knowledge.embedding import Embedder

Matrix = NDArray[np.float32]

_QUERIES_AT_ONCE = 256
_SCORES_AT_ONCE = 8 << 20  # 32 MiB of float32
# How far a float32 product of two unit vectors may be off, with room to spare.
_TOLERANCE = 1e-5


class VectorBuilder:
    """Embeds the chunks' texts a batch at a time and appends them to the matrix on disk."""

    def __init__(self, embedder: Embedder, directory: Path) -> None:
        self._embedder, self._directory = embedder, directory
        self._path = directory / "vectors.npy"
        self._count = 0
        with self._path.open("wb") as file:
            self._write_header(file)
        self._empty: list[int] = []

    def add(self, texts: Sequence[str]) -> None:
        """Append chunks, in the order of the chunk table.

        Raises:
            BuildError: the embedder returned the wrong number of vectors, or one with NaN or infinity in it.
        """
        unit = embed_chunks(self._embedder, texts)
        self._empty += (self._count + np.flatnonzero(~unit.any(axis=1))).tolist()
        with self._path.open("ab") as file:
            file.write(unit.tobytes())
        self._count += len(texts)

    def finish(self) -> None:
        """Complete the files."""
        with self._path.open("r+b") as file:
            self._write_header(file)
        save_array(self._directory / "empty.npy", self._empty, "int64")

    def _write_header(self, file: BinaryIO) -> None:
        # numpy leaves room in the header for the first axis to grow, so the final one fits where the first was.
        shape = (self._count, self._embedder.dimension)
        np.lib.format.write_array_header_1_0(file, {"descr": "<f4", "fortran_order": False, "shape": shape})


class VectorIndex:
    """Embeds queries and finds their nearest chunks."""

    def __init__(self, embedder: Embedder, directory: Path) -> None:
        self._embedder = embedder
        self._vectors = open_array(directory / "vectors.npy")
        self._empty = np.load(directory / "empty.npy", allow_pickle=False)

    def search(self, queries: Sequence[str], k: int) -> list[Ranking]:
        """Return the ``k`` nearest chunks of each query. A query that no vector stands for (no known word) has none.

        Raises:
            QueryError: the embedder returned NaN or infinity.
        """
        return nearest(embed_queries(self._embedder, queries), self._vectors, k, self._empty)


def embed_chunks(embedder: Embedder, texts: Sequence[str]) -> Matrix:
    """Return the vectors (n, dim) of chunks, of length 1, or 0 where a chunk has nothing that a vector stands for.

    Raises:
        BuildError: the embedder returned the wrong number of vectors, or one with NaN or infinity in it.
    """
    vectors = embedder.embed(texts)
    if vectors.shape != (len(texts), embedder.dimension):
        raise BuildError(
            f"embedder {embedder.name!r} returned an array of shape {vectors.shape} for {len(texts)} texts; "
            f"expected {(len(texts), embedder.dimension)}"
        )
    broken = np.flatnonzero(~np.isfinite(vectors).all(axis=1))
    if len(broken):
        text = texts[int(broken[0])][:80]
        raise BuildError(f"embedder {embedder.name!r} returned NaN or infinity for the chunk {text!r}")
    return normalised(vectors)


def embed_queries(embedder: Embedder, queries: Sequence[str]) -> Matrix:
    """Return the vectors (q, dim) of queries, of length 1, or 0 where no vector stands for one (no known word).

    Raises:
        QueryError: the embedder returned NaN or infinity.
    """
    vectors = embedder.embed_queries(queries)
    if not np.isfinite(vectors).all():
        raise QueryError(f"embedder {embedder.name!r} returned NaN or infinity for a query")
    return normalised(vectors)


def normalised(vectors: Matrix) -> Matrix:
    """Return the rows (n, dim) scaled to length 1; rows of zeros stay as they are."""
    # In float64 no square of a float32 overflows or vanishes.
    wide = np.array(vectors, dtype=np.float64)
    lengths = np.linalg.norm(wide, axis=1, keepdims=True)
    np.divide(wide, lengths, out=wide, where=lengths > 0)
    return wide.astype(np.float32)


def nearest(queries: Matrix, vectors: Matrix, k: int, empty: NDArray[np.int64]) -> list[Ranking]:
    """Return for each unit vector of ``queries`` (q, dim) the ``k`` nearest rows of ``vectors`` (n, dim), exactly.

    Scores are cosines in float32; equal ones are ordered by row. Rows in ``empty`` (vectors of zeros) are never found.
    Blocks keep the memory at some 32 MiB however large n and q are, and results do not depend on how they are cut:
    the product of blocks only chooses candidates, whose cosines are then computed one by one in float64.
    """
    found: list[Ranking] = []
    for first in range(0, len(queries), _QUERIES_AT_ONCE):
        batch = queries[first : first + _QUERIES_AT_ONCE]
        candidates = _candidates(batch, vectors, k, empty)
        found += [_exact(query, vectors, rows, k) for query, rows in zip(batch, candidates, strict=True)]
    return found


def _candidates(queries: Matrix, vectors: Matrix, k: int, empty: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Return for each query the ascending rows that can be among its ``k`` nearest."""
    step = max(1, _SCORES_AT_ONCE // len(queries))
    kept = [NO_HITS] * len(queries)
    for start in range(0, len(vectors), step):
        scores = queries @ vectors[start : start + step].T
        inside = empty[(empty >= start) & (empty < start + step)] - start
        scores[:, inside] = -np.inf
        kept = [_keep(old, start, row, k) for old, row in zip(kept, scores, strict=True)]
    return [ranking.rows for ranking in kept]


def _keep(old: Ranking, start: int, scores: Matrix, k: int) -> Ranking:
    """Join the candidates so far with those of a new block, and drop what can no longer be among the ``k`` best."""
    floor = _floor(old.scores, k)
    new = np.flatnonzero(scores >= floor)
    if len(new) > k:
        new = new[scores[new] >= _floor(scores[new], k)]
    rows = np.concatenate([old.rows, new + start])
    joined = np.concatenate([old.scores, scores[new]])
    keep = joined >= _floor(joined, k)
    return Ranking(rows[keep], joined[keep])


def _floor(scores: NDArray[np.floating], k: int) -> float:
    """Return the score below which nothing can be among the ``k`` best of these; never one of an empty row."""
    if len(scores) < k:
        return float(np.finfo(np.float32).min)
    return float(np.partition(scores, len(scores) - k)[len(scores) - k]) - _TOLERANCE


def _exact(query: Matrix, vectors: Matrix, rows: NDArray[np.int64], k: int) -> Ranking:
    if not query.any():
        return NO_HITS
    cosines = np.einsum("nd,d->n", vectors[rows].astype(np.float64), query.astype(np.float64))
    return ranked(rows, cosines.astype(np.float32), k)
