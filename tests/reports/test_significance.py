"""The paired comparison: right by enumeration and by scipy, the same everywhere, and honest about noise."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from pytest_heta.reports import significance
from pytest_heta.reports.detectable import detectable_drop
from pytest_heta.reports.paired import PairedResult, holm
from pytest_heta.reports.policies import Policy
from pytest_heta.reports.significance import compare_paired
from tests.reports.simulations import binary_runs, graded_runs, lucky_runs, perfect_runs, with_drop

RUNS = 200
ALARM_NOISE = 2 * (0.05 * 0.95 / RUNS) ** 0.5  # two standard errors of a share of 5 % in so many runs
POWER_NOISE = 2 * (0.8 * 0.2 / RUNS) ** 0.5


def _compare(before: Any, after: Any) -> PairedResult:
    (result,) = compare_paired(np.asarray(before)[:, None], np.asarray(after)[:, None])
    assert result is not None
    return result


def _sample(cases: int, seed: int) -> tuple[Any, Any]:
    generator = np.random.default_rng(seed)
    before = generator.random(cases)
    return before, np.clip(before + generator.normal(-0.03, 0.15, cases), 0, 1)


def test_the_p_value_is_that_of_all_sign_flips() -> None:
    """For ten cases the 1024 flips can be counted; 10,000 random ones come to the same within Monte-Carlo error."""
    before, after = _sample(10, seed=5)
    differences = after - before
    sums = [abs(np.dot(signs, differences)) for signs in itertools.product((-1, 1), repeat=10)]
    exact = np.mean(np.array(sums) >= abs(differences.sum()) - 1e-12)
    assert 0.1 < exact < 0.9
    assert _compare(before, after).p == pytest.approx(exact, abs=4 * (exact * (1 - exact) / 10_000) ** 0.5)


def test_means_difference_and_counts_are_exact() -> None:
    """Better, equal and worse are numbers of cases, and the difference is that of the means."""
    result = _compare([0.5, 0.5, 1.0, 0.0], [0.75, 0.5, 0.25, 0.0])
    assert (result.cases, result.better, result.equal, result.worse) == (4, 1, 2, 1)
    assert (result.before, result.after) == (0.5, 0.375)
    assert result.difference == pytest.approx(-0.125, abs=1e-12)


@pytest.mark.parametrize(("cases", "seed"), [(40, 1), (300, 2), (1000, 3)])
def test_values_agree_with_scipy(cases: int, seed: int) -> None:
    """The interval and the p-value are those of scipy.stats to Monte-Carlo error."""
    stats = pytest.importorskip("scipy.stats")
    before, after = _sample(cases, seed)
    differences, result = after - before, _compare(before, after)
    flips = stats.permutation_test(
        (differences,), np.mean, permutation_type="samples", n_resamples=10_000, rng=seed, axis=0, vectorized=True
    )
    drawn = stats.bootstrap((differences,), np.mean, n_resamples=10_000, method="percentile", rng=seed)
    ends, spread = drawn.confidence_interval, float(drawn.standard_error)
    assert result.p == pytest.approx(flips.pvalue, abs=6 * max(flips.pvalue * (1 - flips.pvalue), 1e-4) ** 0.5 / 100)
    assert result.low == pytest.approx(ends.low, abs=0.12 * spread)
    assert result.high == pytest.approx(ends.high, abs=0.12 * spread)


def test_results_are_the_same_on_every_machine() -> None:
    """These figures are pinned to the last bit: the random stream and all sums are exact everywhere."""
    before = [(7 * n % 11) / 10 for n in range(30)]
    after = [(5 * n % 11) / 10 for n in range(30)]
    result = _compare(before, after)
    assert (result.p, result.low, result.high) == (0.9764023597640236, -0.14999999998447797, 0.14333333331160247)


def test_a_result_depends_on_its_own_metric_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not on the metrics beside it, those that lack some cases, nor on how many draws are made at once."""
    before, after = _sample(60, seed=4)
    other = np.where(np.arange(60) < 20, np.nan, after)
    both = compare_paired(np.stack([before, before, before], 1), np.stack([other, after, other], 1))
    assert both[1] == _compare(before, after)
    assert both[0] == both[2] == _compare(before[20:], after[20:])
    monkeypatch.setattr(significance, "_BLOCK", 5000)
    assert _compare(before, after) == both[1]


def test_a_metric_without_common_cases_has_no_result() -> None:
    """Nothing is made up where one side has no value."""
    assert compare_paired(np.array([[np.nan, 1.0]]), np.array([[1.0, np.nan]])) == [None, None]


def test_equal_runs_do_not_differ() -> None:
    """No difference has the p-value 1 and an interval without width; so have differences of mere rounding."""
    values = np.arange(20) / 20
    result = _compare(values, values + 0.0)
    assert (result.p, result.low, result.difference, result.high, result.equal) == (1.0, 0.0, 0.0, 0.0, 20)
    thirds = _compare([0.1 + 0.2, 0.5], [0.3, 0.4])
    assert (thirds.better, thirds.equal, thirds.worse) == (0, 1, 1)


def test_one_case_is_never_significant() -> None:
    """Its two signs are equally extreme."""
    result = _compare([1.0], [0.0])
    assert (result.p, result.low, result.high) == (1.0, -1.0, -1.0)


def test_holm_adjusts_step_by_step() -> None:
    """0.005 x 4, 0.01 x 3, 0.03 x 2, and 0.04 not below the one before; never above 1."""
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([]) == []


@pytest.mark.parametrize("cases", [30, 250])
@pytest.mark.parametrize("runs_of", [graded_runs, lucky_runs, binary_runs])
def test_false_alarms_are_rare_and_the_announced_drop_is_found(runs_of: Any, cases: int) -> None:
    """``significant`` fails at most 5 % of runs without a drop, and 80 % of those with the smallest detectable one."""
    generator = np.random.default_rng(cases)
    before, after = runs_of(generator, cases, RUNS)
    assert _alarms(before, after) <= 0.05 + ALARM_NOISE
    assert _alarms(before, with_drop(generator, after, _detectable(before))) >= 0.8 - POWER_NOISE


def test_the_drop_of_a_perfect_baseline_is_found() -> None:
    """Where the baseline has no variance, the number of cases that must get worse decides."""
    generator = np.random.default_rng(0)
    before, after = perfect_runs(generator, 100, RUNS)
    drops = _detectable(before)
    assert drops == pytest.approx(0.079, abs=0.001)  # Poisson with this mean x 100 is 6 or more in 80 % of the runs
    assert _alarms(before, after) == 0
    assert _alarms(before, with_drop(generator, after, drops)) >= 0.8 - POWER_NOISE


def _detectable(before: Any) -> Any:
    drops = [detectable_drop(list(column)) for column in before.T]
    assert None not in drops
    return np.array(drops, dtype=float)


def _alarms(before: Any, after: Any) -> float:
    policy = Policy("significant", "ndcg@10", 0.0)
    results = [result for result in compare_paired(before, after) if result is not None]
    return sum(not policy.holds(result, result.p) for result in results) / len(results)


@pytest.mark.parametrize(
    ("values", "level"),
    [([1.0] * 5, 0.05), ([0.5, 0.0, 0.5, 0.0, 0.5, 0.0], 0.05), ([0.0] * 100, 0.05), ([1.0] * 8, 0.05 / 25)],
)
def test_too_few_cases_detect_nothing(values: list[float], level: float) -> None:
    """Where even the loss of everything may not be significant, there is no such drop."""
    assert detectable_drop(values, level) is None


def test_the_detectable_drop_falls_with_the_root_of_the_cases() -> None:
    """For many cases it nears (1.960 + 0.842) standard deviations over the root of their number."""
    assert detectable_drop([0.0, 1.0] * 200_000) == pytest.approx(2.8016 * 0.5 / 400_000**0.5, rel=0.01)
    assert detectable_drop([0.0, 1.0] * 100) == pytest.approx(0.1185, abs=1e-4)  # by hand, from the formula
