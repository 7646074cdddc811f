"""Made-up runs whose true difference is known: many runs at once, one a column, as ``compare_paired`` takes metrics."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]

GRADES = np.array([0.0, 0.3155, 0.3869, 0.5, 0.6309, 1.0])
"""What nDCG with one relevant document can be, at the ranks beyond 10, 8, 5, 3, 2 and 1."""


def graded_runs(generator: np.random.Generator, cases: int, runs: int) -> tuple[Values, Values]:
    """Return pairs of runs of the same quality, shape (cases, runs): hard and easy cases, and luck in both runs.

    The two runs correlate at about 0.8, as two versions of one retrieval system do.
    """
    return _graded(generator, generator.beta(0.7, 0.5, (cases, runs)))


def lucky_runs(generator: np.random.Generator, cases: int, runs: int) -> tuple[Values, Values]:
    """Return such pairs with more luck: they correlate at about 0.5."""
    return _graded(generator, generator.beta(2.2, 1.7, (cases, runs)))


def _graded(generator: np.random.Generator, easy: Values) -> tuple[Values, Values]:
    first, second = (generator.binomial(len(GRADES) - 1, easy) for _ in range(2))
    return GRADES[first], GRADES[second]


def binary_runs(generator: np.random.Generator, cases: int, runs: int) -> tuple[Values, Values]:
    """Return pairs of runs of the same quality whose values are 0 or 1 and differ in one case of ten."""
    first = (generator.random((cases, runs)) < 0.65).astype(np.float64)
    swapped = generator.random((cases, runs)) < 0.1
    return first, np.where(swapped, (generator.random((cases, runs)) < 0.65).astype(np.float64), first)


def perfect_runs(generator: np.random.Generator, cases: int, runs: int) -> tuple[Values, Values]:
    """Return pairs of runs in which every value is 1."""
    return np.ones((cases, runs)), np.ones((cases, runs))


def with_drop(generator: np.random.Generator, values: Values, drops: Values) -> Values:
    """Return the values with cases chosen by chance set to 0, so many that a run's mean drops by its ``drops``."""
    lost = generator.random(values.shape) < drops / values.mean(axis=0)
    return np.where(lost, 0.0, values)
