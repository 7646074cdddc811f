"""Rankings of chunks, and the best of many scores in an order that never depends on chance."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Ranking(NamedTuple):
    """Chunks in rank order, best first: ``rows`` (int64) of the chunk table and their ``scores``, of equal length."""

    rows: NDArray[np.int64]
    scores: NDArray[np.floating]


NO_HITS = Ranking(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.float32))


def best(scores: NDArray[np.floating], k: int) -> NDArray[np.int64]:
    """Return the indices of the ``k`` highest scores (all, if there are fewer): score descending, then index."""
    if k < len(scores):
        lowest = np.partition(scores, len(scores) - k)[len(scores) - k]
        above = np.flatnonzero(scores > lowest)
        # numpy's partition picks among equal scores as it likes; the order of the table decides here.
        equal = np.flatnonzero(scores == lowest)[: k - len(above)]
        chosen = np.concatenate([above, equal])
    else:
        chosen = np.arange(len(scores))
    return chosen[np.argsort(-scores[chosen], kind="stable")]


def ranked(rows: NDArray[np.int64], scores: NDArray[np.floating], k: int) -> Ranking:
    """Return the ``k`` best of some rows; ``rows`` must be ascending."""
    order = best(scores, k)
    return Ranking(rows[order], scores[order])
