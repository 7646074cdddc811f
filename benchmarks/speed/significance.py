"""How long the comparison with a baseline takes, and how it stands to its promises over many simulated runs.

    python benchmarks/speed/significance.py [--runs 200]

Promises: 10,000 resamples of 7,405 cases x 25 metrics in less than 3 s; over simulated runs, ``significant`` fails at
most 5 % of those without a drop, and at least 80 % of those with the smallest drop that was announced as detectable.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pytest_heta.reports.detectable import detectable_drop
from pytest_heta.reports.paired import LEVEL
from pytest_heta.reports.policies import Policy
from pytest_heta.reports.significance import compare_paired

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.reports.simulations import binary_runs, graded_runs, lucky_runs, perfect_runs, with_drop

Values = NDArray[np.float64]

KINDS: tuple[Callable[[np.random.Generator, int, int], tuple[Values, Values]], ...] = (
    graded_runs,
    lucky_runs,
    binary_runs,
    perfect_runs,
)
SIZES = (20, 50, 100, 300, 1000, 3000)


def measure_time() -> None:
    """Print the best of five times for HotpotQA's size: 7,405 cases and 25 metrics."""
    generator = np.random.default_rng(0)
    before = generator.random((7405, 25))
    after = np.clip(before + generator.normal(0, 0.1, before.shape), 0, 1)
    times = []
    for _ in range(5):
        start = time.perf_counter()
        compare_paired(before, after)
        times.append(time.perf_counter() - start)
    print(f"10,000 resamples of 7,405 cases x 25 metrics: best {min(times):.2f} s, worst {max(times):.2f} s of 5")


def alarms(before: Values, after: Values) -> float:
    """Return the share of the runs, one a column, that ``significant`` fails."""
    policy = Policy("significant", "ndcg@10", 0.0)
    results = [result for result in compare_paired(before, after) if result is not None]
    return sum(not policy.holds(result, result.p) for result in results) / len(results)


def simulate(runs: int) -> None:
    """Print, for each kind of values and number of cases, false alarms and power, and how the two runs correlate."""
    print(f"{runs} runs a setting, significant at {LEVEL:.0%}")
    print(f"{'values':<14}{'cases':>6}{'correlation':>13}{'detectable':>12}{'false alarms':>14}{'power':>8}")
    for kind in KINDS:
        for cases in SIZES:
            generator = np.random.default_rng(cases)
            before, after = kind(generator, cases, runs)
            drops = np.array([detectable_drop(list(column)) or np.nan for column in before.T])
            after_drop = with_drop(generator, after, np.nan_to_num(drops))
            known = ~np.isnan(drops)
            power = f"{alarms(before[:, known], after_drop[:, known]):.1%}" if known.any() else "-"
            with np.errstate(invalid="ignore"):
                correlation = np.corrcoef(before.ravel(), after.ravel())[0, 1]
            print(
                f"{kind.__name__:<14}{cases:>6}{correlation:>13.2f}{np.nanmean(drops):>12.3f}"
                f"{alarms(before, after):>14.1%}{power:>8}"
            )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--runs", type=int, default=200, help="simulated runs a setting (default: %(default)s)")
    arguments = parser.parse_args()
    measure_time()
    simulate(arguments.runs)
