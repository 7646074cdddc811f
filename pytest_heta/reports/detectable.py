"""How small a drop a number of cases can detect, known before the run from the baseline's values alone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist, fmean, pstdev

from pytest_heta.reports.paired import LEVEL

POWER = 0.8


def detectable_drop(values: Sequence[float], level: float = LEVEL) -> float | None:
    """Return the smallest drop of the mean that the two-sided permutation test finds at ``level`` with 80 % power.

    ``values`` are those of the baseline, one a case. None where not even the loss of everything is sure to be found; of
    n cases the smallest p-value is 2**(1 - n). For several comparisons under Holm's correction give ``level`` divided
    by their number.

    The differences between the runs are not known yet. They are taken to spread no wider than the values themselves,
    which holds where the two runs correlate at 0.5 or more; and at the least as wide as those of a drop in which single
    cases lose everything. Sample size of the paired t-test with Guenther's correction (The American Statistician 35,
    1981); the second from the Poisson distribution of the number of such cases.
    """
    needed = 1 + math.ceil(math.log2(1 / level))  # so many cases that all get worse are significant
    quantile = NormalDist().inv_cdf(1 - level / 2)
    free = len(values) - quantile**2 / 2
    if len(values) < needed or free <= 0:
        return None
    spread = (quantile + NormalDist().inv_cdf(POWER)) * pstdev(values) / math.sqrt(free)
    lost = [value for value in values if value > 0]
    single = _mean_of_poisson(needed) * fmean(lost) / len(values) if lost else 0.0
    drop = max(spread, single)
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
