"""Whether two runs on the same cases differ: paired mean difference, bootstrap interval, permutation test.

Everything is the same on every machine. The random bits come from PCG64's raw stream, which numpy keeps stable; and
the resampled sums are sums of whole numbers below 2**53, which are exact in any order of adding: no BLAS can differ.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pytest_heta.reports.paired import LEVEL, PairedResult

RESAMPLES = 10_000

_SEED = 20_240_501
_BLOCK = 2**19  # multiplications at once: fits a processor's cache, and no BLAS splits it among threads
_GRID_BITS = 32
_EXACT_BITS = 52

Values = NDArray[np.float64]


def compare_paired(before: Values, after: Values, *, resamples: int = RESAMPLES) -> list[PairedResult | None]:
    """Compare two runs, one result a metric; None for a metric that no case has on both sides.

    ``before`` and ``after`` have the shape (cases, metrics), the rows in an order that does not depend on the run; NaN
    marks a value that is not there. A result depends on the values of its own metric only.
    """
    before, after = np.asarray(before, dtype=np.float64), np.asarray(after, dtype=np.float64)
    present = ~np.isnan(before) & ~np.isnan(after)
    found: list[PairedResult | None] = [None] * before.shape[1]
    groups: dict[bytes, list[int]] = {}
    for metric in range(before.shape[1]):
        groups.setdefault(present[:, metric].tobytes(), []).append(metric)
    for metrics in groups.values():
        rows = present[:, metrics[0]]
        if rows.any():
            group = _compare(before[rows][:, metrics], after[rows][:, metrics], resamples)
            for metric, result in zip(metrics, group, strict=True):
                found[metric] = result
    return found


def _compare(before: Values, after: Values, resamples: int) -> Iterator[PairedResult]:
    changes = after - before
    differences, exponents = _on_grid(changes)
    cases = len(differences)
    observed = differences.sum(axis=0)
    extreme = np.zeros(len(observed), dtype=np.int64)
    blocks = list(_blocks(differences.shape, resamples))
    for chosen in _chosen_halves(cases, blocks):
        extreme += (np.abs(2 * (chosen @ differences) - observed) >= np.abs(observed)).sum(axis=0)
    sums = np.concatenate([weights @ differences for weights in _bootstrap_weights(cases, blocks)])
    tail = max(1, int(resamples * LEVEL / 2))
    sums.partition((tail - 1, resamples - tail), axis=0)
    for metric in range(len(observed)):
        column = differences[:, metric]
        low, high = (
            float(np.ldexp(sums[rank, metric], -exponents[metric])) / cases for rank in (tail - 1, resamples - tail)
        )
        yield PairedResult(
            cases=cases,
            before=math.fsum(before[:, metric]) / cases,
            after=math.fsum(after[:, metric]) / cases,
            difference=math.fsum(changes[:, metric]) / cases,
            low=low,
            high=high,
            p=(int(extreme[metric]) + 1) / (resamples + 1),
            better=int((column > 0).sum()),
            equal=int((column == 0).sum()),
            worse=int((column < 0).sum()),
        )


def _on_grid(differences: Values) -> tuple[Values, NDArray[np.int64]]:
    """Return each column as whole numbers, and by which power of 2 it was multiplied.

    A column's largest magnitude becomes about 2**32: differences that only rounding tells apart become equal, and the
    sum of all cases stays exact.
    """
    bits = min(_GRID_BITS, _EXACT_BITS - len(differences).bit_length())
    exponents = bits - np.frexp(np.abs(differences).max(axis=0))[1].astype(np.int64)
    return np.rint(np.ldexp(differences, exponents)), exponents


def _chosen_halves(cases: int, blocks: Iterable[int]) -> Iterator[Values]:
    """Yield blocks of rows of 0 and 1, one row a resample: whose sign stays, each with probability 1/2."""
    stream = np.random.PCG64(_SEED)
    words = -(-cases // 64)
    for rows in blocks:
        raw: Any = stream.random_raw(rows * words)
        octets = raw.astype("<u8").view(np.uint8).reshape(rows, 8 * words)
        yield np.unpackbits(octets, axis=1, count=cases).astype(np.float64)


def _bootstrap_weights(cases: int, blocks: Iterable[int]) -> Iterator[Values]:
    """Yield blocks of rows of counts, one row a resample: how often each case was drawn, with replacement."""
    stream = np.random.PCG64(_SEED + 1)
    words = -(-cases // 2)
    for rows in blocks:
        raw: Any = stream.random_raw(rows * words)
        halves = raw.astype("<u8").view("<u4").reshape(rows, 2 * words)[:, :cases].astype(np.uint64)
        # A 32-bit fraction times the number of cases: off from uniform by less than cases / 2**32.
        drawn = ((halves * np.uint64(cases)) >> np.uint64(32)).astype(np.int64)
        drawn += np.arange(rows, dtype=np.int64)[:, None] * cases
        counts = np.bincount(drawn.ravel(), minlength=rows * cases)
        yield counts.reshape(rows, cases).astype(np.float64)


def _blocks(shape: tuple[int, ...], resamples: int) -> Iterator[int]:
    """Yield how many resamples to do at once; it changes no result, as each begins with a word of its own."""
    cases, metrics = shape
    most = max(1, _BLOCK // (cases * max(metrics, 8)))
    for start in range(0, resamples, most):
        yield min(most, resamples - start)
