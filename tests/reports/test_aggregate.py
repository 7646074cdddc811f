"""Means and counts: nothing vanishes from a denominator."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_heta.errors import ReportError
from pytest_heta.records import EvaluationCaseResult, EvaluationError, EvaluationScore, MetricCounts
from pytest_heta.reports.aggregate import (
    latency_summary,
    nearest_rank,
    official_summary,
    summarize_scores,
)
from tests.reports.samples import MODE, errored, finished, not_run, report_of

METRICS = ("a", "b")


def test_an_errored_case_counts_zero_and_an_unscored_one_does_not_count() -> None:
    """The mean is the sum of the scores over scored and errored cases; the counts add up to the planned cases."""
    cases = [
        finished("1", {"a": 1.0}),
        finished("2", {"a": 0.5}),
        finished("3", {"a": None}),
        errored("4"),
        not_run("5"),
    ]
    summary, counts = summarize_scores(cases, (MODE,), ("a",))
    assert summary == {f"{MODE}.a": 0.5}
    assert counts == {f"{MODE}.a": MetricCounts(planned=5, scored=2, unscored=1, errored=1, not_run=1)}


def test_a_missing_score_of_a_finished_case_is_an_error_of_that_metric_only() -> None:
    """A metric whose evaluator left nothing counts as errored, the other metrics of the case as scored."""
    summary, counts = summarize_scores(
        [finished("1", {"a": 1.0}), finished("2", {"a": 1.0, "b": 1.0})], (MODE,), METRICS
    )
    assert summary == {f"{MODE}.a": 1.0, f"{MODE}.b": 0.5}
    assert (counts[f"{MODE}.b"].scored, counts[f"{MODE}.b"].errored) == (1, 1)


def test_scores_that_an_errored_case_still_carries_do_not_count() -> None:
    """A case whose status is errored is worth 0 in every metric, whatever scores came with it."""
    half_done = errored("1", scores=finished("1", {"a": 1.0}).scores)
    assert summarize_scores([half_done], (MODE,), ("a",))[0] == {f"{MODE}.a": 0.0}


def test_a_metric_without_scored_or_errored_case_has_counts_but_no_mean() -> None:
    """Absent means are absent, not 0 and not NaN; every expected key has counts, in the order of modes and metrics."""
    summary, counts = summarize_scores([finished("1", {"a": None, "b": 0.0})], (MODE, "idle"), METRICS)
    assert summary == {f"{MODE}.b": 0.0}
    assert list(counts) == [f"{MODE}.a", f"{MODE}.b", "idle.a", "idle.b"]
    assert counts["idle.a"].planned == 0


def test_an_unplanned_mode_is_an_error() -> None:
    """A result in a mode that is not part of the run is never dropped silently."""
    with pytest.raises(ReportError, match="mode 'vector_search', which was not planned"):
        summarize_scores([finished("1", {"a": 1.0})], ("other",), ("a",))


def test_means_of_huge_values_stay_finite() -> None:
    """Values whose sum is beyond the range of a float still have their mean."""
    cases = [finished(str(number), {"a": 1.7e308}) for number in range(4)]
    assert summarize_scores(cases, (MODE,), ("a",))[0][f"{MODE}.a"] == pytest.approx(1.7e308)


def test_the_official_view_leaves_failures_out() -> None:
    """As a benchmark's own script does: the mean over the scored cases; a metric that scored none has no value."""
    report = report_of([finished("1", {"a": 0.9}), finished("2", {"a": 0.3}), errored("3")], METRICS)
    assert report.score_summary == {f"{MODE}.a": pytest.approx(0.4), f"{MODE}.b": 0.0}
    assert official_summary(report) == {f"{MODE}.a": pytest.approx(0.6)}


def test_the_official_view_leaves_missing_answers_out() -> None:
    """A metric may say that the benchmark's script skips a case; in the mean it counts the value that it was given."""
    missing = EvaluationScore(name="a", value=0.0, metadata={"official": "left out"})
    unanswered = finished("2", {}).model_copy(update={"scores": (missing,)})
    report = report_of([finished("1", {"a": 0.5}), unanswered], ("a",))
    assert report.score_summary == {f"{MODE}.a": 0.25}
    assert official_summary(report) == {f"{MODE}.a": 0.5}


scores = st.one_of(st.none(), st.floats(0.0, 1.0))
case_lists = st.lists(
    st.one_of(
        st.builds(lambda a, b: finished("x", {"a": a, "b": b}), scores, scores),
        st.builds(lambda b: finished("x", {"b": b}), scores),
        st.just(errored("x")),
        st.just(not_run("x")),
    ),
    min_size=1,
    max_size=12,
)


def _numbered(cases: list[EvaluationCaseResult]) -> list[EvaluationCaseResult]:
    return [case.model_copy(update={"case_id": str(number)}) for number, case in enumerate(cases)]


@given(case_lists)
def test_means_are_the_exact_ones_and_counts_add_up(cases: list[EvaluationCaseResult]) -> None:
    """The mean is the exact sum, correctly rounded, over scored + errored; planned is the sum of its four parts."""
    summary, counts = summarize_scores(_numbered(cases), (MODE,), METRICS)
    for metric in METRICS:
        key, count = f"{MODE}.{metric}", counts[f"{MODE}.{metric}"]
        assert count.planned == len(cases) == count.scored + count.unscored + count.errored + count.not_run
        values = [s.value for c in cases for s in c.scores if s.name == metric and s.value is not None]
        assert count.scored == len(values)
        if count.scored + count.errored:
            assert summary[key] == float(sum(map(Fraction, values), Fraction())) / (count.scored + count.errored)
        else:
            assert key not in summary


@given(case_lists, st.data())
def test_no_failure_can_raise_a_mean(cases: list[EvaluationCaseResult], data: st.DataObject) -> None:
    """Errors, timeouts, lost scores and another order raise no mean and leave no planned case out."""
    cases = _numbered(cases)
    before, planned = summarize_scores(cases, (MODE,), METRICS)
    worse = [_damaged(case, data.draw(st.sampled_from(["keep", "error", "timeout", "lose a score"]))) for case in cases]
    random.Random(data.draw(st.integers(0, 9))).shuffle(worse)
    after, counts = summarize_scores(worse, (MODE,), METRICS)
    for key, mean in before.items():
        assert after[key] <= mean
    assert {key: count.planned for key, count in counts.items()} == {key: c.planned for key, c in planned.items()}


def _damaged(case: EvaluationCaseResult, damage: str) -> EvaluationCaseResult:
    if damage == "keep" or case.status != "finished":
        return case
    if damage == "lose a score":
        return case.model_copy(update={"scores": case.scores[1:]})
    error = EvaluationError(message="30 s", error_type="TimeoutError", retryable=True, attempts=3)
    return errored(case.case_id) if damage == "error" else errored(case.case_id, error=error, scores=case.scores)


def test_percentiles_are_measured_times_at_the_nearest_rank() -> None:
    """Of 1 to 20 ms, half of the cases take at most 10 ms, 95 % at most 19 ms, and 99 % at most 20 ms."""
    cases = [finished(str(ms), {}, latency_ms=float(ms)) for ms in range(20, 0, -1)]
    found = latency_summary(cases, (MODE,))[MODE]
    assert (found["p50_ms"], found["p95_ms"], found["p99_ms"], found["mean_ms"]) == (10.0, 19.0, 20.0, 10.5)


def test_an_errored_case_counts_as_slower_than_all_others() -> None:
    """A query that failed at once makes no percentile smaller; one that falls on a failure is absent."""
    cases = [finished("1", {}, latency_ms=5.0), errored("2", latency_ms=0.1), finished("3", {}, latency_ms=7.0)]
    found = latency_summary(cases, (MODE,))[MODE]
    assert found["p50_ms"] == 7.0
    assert "p95_ms" not in found
    assert found["mean_ms"] == 6.0


def test_the_latency_summary_counts_what_was_not_usual() -> None:
    """Amortised, shallow and empty cases are counted among the finished ones, and a mode without cases has zeros."""
    cases = [
        finished("1", {}, latency_ms=1.0, amortised=True, shallow=True),
        finished("2", {}, hits=()),
        errored("3"),
        not_run("4"),
    ]
    found = latency_summary(cases, (MODE, "idle"), {MODE: 0.5})
    counts = ("count", "amortised", "errored", "shallow", "empty_results")
    assert [found[MODE][name] for name in counts] == [1, 1, 1, 1, 1]
    assert found[MODE]["queries_per_second"] == 4.0
    assert found["idle"] == dict.fromkeys(counts, 0)


@pytest.mark.parametrize(("percent", "total", "expected"), [(50, 4, 2.0), (51, 4, 3.0), (99, 4, None), (50, 0, None)])
def test_the_nearest_rank_is_rounded_up(percent: int, total: int, expected: float | None) -> None:
    """The rank is ceil(percent / 100 * total), and beyond the known values there is none."""
    assert nearest_rank([1.0, 2.0, 3.0], percent, total) == expected
