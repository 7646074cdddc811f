"""What a paired comparison of two runs says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

LEVEL = 0.05
"""The probability of a false alarm that is accepted: p-values up to it are significant."""


@dataclass(frozen=True)
class PairedResult:
    """How one metric of a run stands to that of another, over the ``cases`` that both have, at least one.

    ``before`` and ``after`` are means, ``difference`` is after - before; ``low`` and ``high`` are the ends of its 95 %
    interval (percentile bootstrap: Efron and Tibshirani, An Introduction to the Bootstrap, 1993, ch. 13).
    ``p`` is the two-sided p-value of the paired permutation test (sign flips: Fisher's randomization test as in
    Smucker, Allan and Carterette, CIKM 2007), with the observed difference counted in, so never 0.
    ``better``, ``equal`` and ``worse`` are numbers of cases.
    """

    cases: int
    before: float
    after: float
    difference: float
    low: float
    high: float
    p: float
    better: int
    equal: int
    worse: int


def holm(p_values: Sequence[float]) -> list[float]:
    """Return the p-values adjusted for being several: at most ``LEVEL`` where the family-wise error is kept.

    Source: Holm, A simple sequentially rejective multiple test procedure, Scand. J. Statist. 6 (1979).
    """
    adjusted = [0.0] * len(p_values)
    highest = 0.0
    for rank, position in enumerate(sorted(range(len(p_values)), key=lambda index: p_values[index])):
        highest = max(highest, min(1.0, p_values[position] * (len(p_values) - rank)))
        adjusted[position] = highest
    return adjusted
