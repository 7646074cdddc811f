"""From case results to means and counts.

The expected set (every planned case x mode x metric) is fixed first and each of its members is counted exactly once, so
that nothing can vanish from a denominator: planned = scored + unscored + errored + not_run.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from pytest_heta.errors import ReportError
from pytest_heta.records import EvaluationCaseResult, EvaluationReport, MetricCounts


def results_by_mode(
    results: Iterable[EvaluationCaseResult], modes: Sequence[str]
) -> dict[str, list[EvaluationCaseResult]]:
    """Return the results of each mode, every mode present.

    Raises:
        ReportError: A result is in a mode that is not one of ``modes``.
    """
    found: dict[str, list[EvaluationCaseResult]] = {mode: [] for mode in modes}
    for result in results:
        if result.mode not in found:
            raise ReportError(f"case {result.case_id} was answered in mode {result.mode!r}, which was not planned")
        found[result.mode].append(result)
    return found


def failed(result: EvaluationCaseResult, metrics: Iterable[str]) -> bool:
    """Tell whether the query failed, or any of the metrics left no score on a finished case."""
    if result.status == "finished":
        return not {score.name for score in result.scores}.issuperset(metrics)
    return result.status == "errored"


@dataclass
class _Tally:
    """What became of the planned cases under one metric."""

    values: list[float] = field(default_factory=list)
    unscored: int = 0
    errored: int = 0
    not_run: int = 0

    def add(self, result: EvaluationCaseResult, scores: Mapping[str, float | None], metric: str) -> None:
        if result.status == "not_run":
            self.not_run += 1
        elif result.status == "errored" or metric not in scores:
            self.errored += 1
        elif (value := scores[metric]) is None:
            self.unscored += 1
        else:
            self.values.append(value)

    def counts(self) -> MetricCounts:
        scored = len(self.values)
        return MetricCounts(
            planned=scored + self.unscored + self.errored + self.not_run,
            scored=scored,
            unscored=self.unscored,
            errored=self.errored,
            not_run=self.not_run,
        )


def summarize_scores(
    results: Iterable[EvaluationCaseResult], modes: Sequence[str], metrics: Sequence[str]
) -> tuple[dict[str, float], dict[str, MetricCounts]]:
    """Return the means and the counts, both under the key ``{mode}.{metric}``, in the order of modes and metrics.

    The mean is over scored and errored cases, an errored case counting 0; it is correctly rounded, so it does not
    depend on the order of the cases. A metric that no such case has is absent from the means, never from the counts.
    A finished case that lacks a metric's score counts as errored for that metric, whatever the reason of the lack.
    A case that was not run is in no mean: its count says so, and no gate passes while there is one.
    """
    summary: dict[str, float] = {}
    counts: dict[str, MetricCounts] = {}
    for mode, members in results_by_mode(results, modes).items():
        tallies = {metric: _Tally() for metric in metrics}
        for result in members:
            scores = {score.name: score.value for score in result.scores}
            for metric, tally in tallies.items():
                tally.add(result, scores, metric)
        for metric, tally in tallies.items():
            counts[f"{mode}.{metric}"] = tally.counts()
            if judged := len(tally.values) + tally.errored:
                summary[f"{mode}.{metric}"] = _total(tally.values, judged)
    return summary, counts


def _total(values: Sequence[float], divisor: int) -> float:
    try:
        return math.fsum(values) / divisor
    except OverflowError:  # only the sum leaves the range of a float; the mean of its values cannot
        return math.fsum(value / divisor for value in values)


LEFT_OUT = "left out"
"""What a score's ``metadata["official"]`` says where the benchmark's own script would not count the case."""


def official_summary(report: EvaluationReport, mode: str | None = None) -> dict[str, float]:
    """Return the means as the benchmarks' own scripts print them: over what these count, failed cases left out.

    Those of one mode, or of all where there is none given.

    BEIR averages over the queries present in the run. UDA skips missing predictions: its metrics give these 0 and say
    ``left out``. Keys as in ``score_summary``; equal to it where nothing is left out, absent where everything is.
    """
    values: dict[str, list[float]] = {}
    for result in report.cases:
        if result.status != "finished" or mode not in (None, result.mode):
            continue
        for score in result.scores:
            if score.value is not None and score.metadata.get("official") != LEFT_OUT:
                values.setdefault(f"{result.mode}.{score.name}", []).append(score.value)
    return {key: _total(values[key], len(values[key])) for key in report.score_summary if key in values}


def latency_summary(
    results: Iterable[EvaluationCaseResult], modes: Sequence[str], query_seconds: Mapping[str, float] | None = None
) -> dict[str, dict[str, float]]:
    """Return figures about the queries of each mode; every mode is present.

    ``count``, ``errored``, ``amortised`` (timed as a share of a batch), ``shallow`` and ``empty_results`` are numbers
    of cases: ``count`` of finished ones with a time, the last two of finished ones. ``mean_ms`` is over ``count``.
    ``p50_ms``, ``p95_ms``, ``p99_ms`` are nearest-rank percentiles (a time that was measured, never an interpolation)
    over ``count + errored`` cases, an errored one counting as slower than all others: a failure cannot make a run look
    faster. A figure that has no value, such as a percentile that falls on an errored case, is absent.

    With ``query_seconds``, the wall time of a mode's queries, there are also ``query_seconds`` and
    ``queries_per_second`` (finished cases only).
    """
    walls = query_seconds or {}
    return {
        mode: _latency(members) | _throughput(members, walls.get(mode))
        for mode, members in results_by_mode(results, modes).items()
    }


def _latency(results: Sequence[EvaluationCaseResult]) -> dict[str, float]:
    finished = [result for result in results if result.status == "finished"]
    errored = sum(result.status == "errored" for result in results)
    times = sorted(result.latency_ms for result in finished if result.latency_ms is not None)
    percentiles = {f"p{percent}_ms": nearest_rank(times, percent, len(times) + errored) for percent in (50, 95, 99)}
    return {
        **{name: value for name, value in percentiles.items() if value is not None},
        **({"mean_ms": math.fsum(times) / len(times)} if times else {}),
        "count": len(times),
        "amortised": sum(result.amortised for result in finished),
        "errored": errored,
        "shallow": sum(result.shallow for result in finished),
        "empty_results": sum(not result.hits for result in finished),
    }


def _throughput(results: Sequence[EvaluationCaseResult], seconds: float | None) -> dict[str, float]:
    if seconds is None:
        return {}
    finished = sum(result.status == "finished" for result in results)
    return {"query_seconds": seconds} | ({"queries_per_second": finished / seconds} if seconds > 0 else {})


def nearest_rank(values: Sequence[float], percent: int, total: int) -> float | None:
    """Return the smallest of the ascending ``values`` that ``percent`` of ``total`` cases do not exceed.

    ``total`` >= ``len(values)``; the cases beyond are larger than all values. None where the rank falls on one of them.
    """
    rank = -(-percent * total // 100)
    return values[rank - 1] if 0 < rank <= len(values) else None
