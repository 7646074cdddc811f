"""Exact vector search."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from pytest_heta.errors import BuildError, QueryError
from pytest_heta.knowledge import vector
from pytest_heta.knowledge.modes import Vectors
from pytest_heta.knowledge.vector import nearest, normalised

NONE = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True)
class Table:
    """An embedder that looks its vectors up."""

    vectors: dict[str, list[float]]
    dimension: int = 2
    name: str = "table"

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the vectors of these texts."""
        return np.array([self.vectors[text] for text in texts], dtype=np.float32)

    def embed_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the vectors of these texts."""
        return self.embed(texts)

    def declaration(self) -> dict[str, Any]:
        """Return the name."""
        return {"model": self.name}

    def fingerprint(self) -> str:
        """Return the name."""
        return self.name


def random_unit(seed: int, count: int, dimension: int) -> NDArray[np.float32]:
    """Return random unit vectors."""
    return normalised(np.random.default_rng(seed).standard_normal((count, dimension)).astype(np.float32))


def naive(query: NDArray[np.float32], vectors: NDArray[np.float32], k: int) -> list[int]:
    """Return the nearest rows by sorting all cosines, computed one by one."""
    scores = [float(np.float32(row.astype(float) @ query.astype(float))) for row in vectors]
    return sorted(range(len(vectors)), key=lambda row: (-scores[row], row))[:k]


@pytest.mark.parametrize("k", [1, 7, 100, 1000])
@pytest.mark.parametrize("scores_at_once", [1, 500, 1 << 20])
def test_search_is_exact(monkeypatch: pytest.MonkeyPatch, k: int, scores_at_once: int) -> None:
    """Whatever the blocks, the nearest rows and their order are those of a full sort; k may exceed the corpus."""
    monkeypatch.setattr(vector, "_SCORES_AT_ONCE", scores_at_once)
    monkeypatch.setattr(vector, "_QUERIES_AT_ONCE", 3)
    vectors, queries = random_unit(1, 150, 8), random_unit(2, 5, 8)
    found = nearest(queries, vectors, k, NONE)
    assert [ranking.rows.tolist() for ranking in found] == [naive(query, vectors, k) for query in queries]
    assert found[0].scores == pytest.approx(vectors[found[0].rows] @ queries[0], abs=1e-6)


def test_equal_vectors_keep_the_order_of_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows of equal score come in ascending order over all blocks, and the cut between them is by row."""
    monkeypatch.setattr(vector, "_SCORES_AT_ONCE", 7)
    vectors = np.tile(random_unit(3, 1, 16), (50, 1))
    assert nearest(vectors[:1], vectors, 9, NONE)[0].rows.tolist() == list(range(9))


def test_a_query_alone_gets_what_it_gets_in_a_batch() -> None:
    """Scores do not depend on which other queries are in the batch, to the last bit."""
    vectors, queries = random_unit(4, 500, 256), random_unit(5, 20, 256)
    together = nearest(queries, vectors, 20, NONE)
    for query, ranking in zip(queries, together, strict=True):
        alone = nearest(query[None], vectors, 20, NONE)[0]
        assert alone.rows.tolist() == ranking.rows.tolist()
        assert alone.scores.tolist() == ranking.scores.tolist()


def test_vectors_are_scaled_and_zeros_never_found(tmp_path: Path) -> None:
    """Length does not count, however large or small; a chunk of zeros is never a hit, a query of zeros has none."""
    table = Table({"long": [3e30, 4e30], "empty": [0, 0], "tiny": [-3e-30, 4e-30], "q": [1, 0]})
    mode = Vectors(table)
    builder = mode.builder(tmp_path)
    builder.add(["long", "empty"])
    builder.add(["tiny"])
    builder.finish()
    q, empty = mode.open(tmp_path).search(["q", "empty"], 10)
    assert q.rows.tolist() == [0, 2]
    assert q.scores == pytest.approx([0.6, -0.6])
    assert len(empty.rows) == 0
    assert np.load(tmp_path / "vectors.npy", allow_pickle=False).shape == (3, 2)


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_a_broken_embedder_is_an_error(tmp_path: Path, bad: float) -> None:
    """NaN or infinity is an error that says from which embedder and for which text, in build and query."""
    mode = Vectors(Table({"good": [1, 0], "bad": [bad, 0]}))
    builder = mode.builder(tmp_path)
    with pytest.raises(BuildError, match=r"'table' returned NaN or infinity for the chunk 'bad'"):
        builder.add(["good", "bad"])
    builder.add(["good"])
    builder.finish()
    with pytest.raises(QueryError, match=r"'table' returned NaN or infinity for a query"):
        mode.open(tmp_path).search(["bad"], 1)


def test_an_embedder_must_keep_its_dimension(tmp_path: Path) -> None:
    """An array of another shape than promised is an error that says both."""
    builder = Vectors(Table({"x": [1, 0, 0]})).builder(tmp_path)
    with pytest.raises(BuildError, match=r"shape \(1, 3\) for 1 texts; expected \(1, 2\)"):
        builder.add(["x"])
    builder.finish()
