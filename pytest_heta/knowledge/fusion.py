"""Reciprocal-rank fusion (Cormack, Clarke and Büttcher, 2009, https://doi.org/10.1145/1571941.1572114)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pytest_heta.knowledge.ranking import NO_HITS, Ranking, ranked


def fuse(rankings: Sequence[Ranking], weights: Sequence[float], constant: float, k: int) -> Ranking:
    """Return the ``k`` best chunks of several rankings by the sum of ``weight / (constant + rank)``, rank from 1.

    A chunk that a ranking lacks gets nothing from it. Equal scores are ordered by row.
    """
    if not any(len(ranking.rows) for ranking in rankings):
        return NO_HITS
    rows, position = np.unique(np.concatenate([ranking.rows for ranking in rankings]), return_inverse=True)
    shares = [
        weight / (constant + np.arange(1, len(ranking.rows) + 1))
        for ranking, weight in zip(rankings, weights, strict=True)
    ]
    scores = np.zeros(len(rows))
    np.add.at(scores, position, np.concatenate(shares))
    return ranked(rows, scores, k)
