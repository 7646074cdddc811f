"""Reciprocal-rank fusion."""

from __future__ import annotations

import numpy as np
import pytest

from pytest_heta.errors import RecipeError
from pytest_heta.knowledge.fusion import fuse
from pytest_heta.knowledge.modes import Fusion
from pytest_heta.knowledge.ranking import NO_HITS, Ranking


def ranking(*rows: int) -> Ranking:
    """Return a ranking of these rows."""
    return Ranking(np.array(rows, dtype=np.int64), np.linspace(1, 0, len(rows)))


def test_scores_are_sums_of_reciprocal_ranks() -> None:
    """A chunk gets weight / (k + rank) from each ranking that has it."""
    fused = fuse([ranking(5, 2, 9), ranking(2, 7)], [1.0, 2.0], 60, 10)
    expected = {2: 1 / 62 + 2 / 61, 7: 2 / 62, 5: 1 / 61, 9: 1 / 63}
    assert fused.rows.tolist() == list(expected)
    assert fused.scores == pytest.approx(list(expected.values()), rel=1e-15)


def test_equal_scores_are_ordered_by_row_and_cut() -> None:
    """Chunks at the same ranks tie, come in table order, and only k are returned."""
    assert fuse([ranking(8, 3), ranking(3, 8)], [1, 1], 60, 5).rows.tolist() == [3, 8]
    assert fuse([ranking(8, 3), ranking(3, 8)], [1, 1], 60, 1).rows.tolist() == [3]


def test_rankings_may_be_empty() -> None:
    """A mode that finds nothing leaves the others' order; nothing at all gives nothing."""
    assert fuse([NO_HITS, ranking(4, 1)], [1, 1], 60, 5).rows.tolist() == [4, 1]
    assert len(fuse([NO_HITS, NO_HITS], [1, 1], 60, 5).rows) == 0


def test_a_fusion_that_cannot_work_is_refused() -> None:
    """Fewer than two modes, weights for others, and numbers that are not positive are RecipeErrors."""
    with pytest.raises(RecipeError, match="two or more different modes"):
        Fusion("a", "a")
    with pytest.raises(RecipeError, match="weights for modes that it does not fuse: c"):
        Fusion("a", "b", weights={"c": 1})
    with pytest.raises(RecipeError, match="above 0"):
        Fusion("a", "b", weights={"a": 0})
    with pytest.raises(RecipeError, match="above 0"):
        Fusion("a", "b", depth=0)
