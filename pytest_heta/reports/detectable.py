"""How small a drop a number of cases can detect, known before the run from the baseline's values alone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist, fmean, pvariance

from pytest_heta.reports.paired import LEVEL

POWER = 0.8


def detectable_drop(values: Sequence[float], level: float = LEVEL) -> float | None:
    """Return the smallest drop of the mean that the two-sided permutation test finds at ``level`` with 80 % power.

    ``values`` are those of the baseline, one a case, not negative. None where not even the loss of everything is sure
    to be found; of n cases the smallest p-value is 2**(1 - n). For several comparisons under Holm's correction give
    ``level`` divided by their number.

    The differences between the runs are not known yet. Their variance is taken to be that of the values, which is what
    the luck of two runs gives that correlate at 0.5 (more makes a drop easier to find), and that of a drop in which
    single cases lose everything. Sample size of the paired t-test with Guenther's correction (The American Statistician
    35, 1981); and so many of such cases must be expected that there are enough of them with the same power.
    """
    needed = 1 + math.ceil(math.log2(1 / level))  # so many cases that all get worse are significant
    quantile = NormalDist().inv_cdf(1 - level / 2)
    free = len(values) - quantile**2 / 2
    lost = math.fsum(values)
    if len(values) < needed or free <= 0 or lost <= 0:
        return None
    # The drop d solves  free * d**2 = z**2 * (variance + d * size - d**2),  where size is that of one loss.
    squared = (quantile + NormalDist().inv_cdf(POWER)) ** 2
    size = math.fsum(value**2 for value in values) / lost
    half = squared * size / 2
    root = math.sqrt(half**2 + (free + squared) * squared * pvariance(values))
    drop = max((half + root) / (free + squared), _mean_of_poisson(needed) * size / len(values))
    return drop if drop <= fmean(values) else None


def _mean_of_poisson(least: int) -> float:
    """Return the mean of the Poisson distribution that is ``least`` or more with the probability ``POWER``."""
    low, high = 0.0, 4.0 * least + 10
    for _ in range(60):
        middle = (low + high) / 2
        below = math.fsum(
            math.exp(count * math.log(middle) - middle - math.lgamma(count + 1)) for count in range(least)
        )
        low, high = (low, middle) if below <= 1 - POWER else (middle, high)
    return high
