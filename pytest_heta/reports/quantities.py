"""What a gate can bound beside the means of metrics: failures, emptiness, time.

Each quantity is defined so that a failure can never make it look better: an errored case counts as slow, empty,
shallow and unscored, and leaves a throughput that no gate trusts.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from pytest_heta.records import EvaluationCaseResult, EvaluationReport
from pytest_heta.reports.aggregate import failed
from pytest_heta.reports.text import plural
from pytest_heta.reports.thresholds import Bound


@dataclass(frozen=True)
class Measured:
    """One value and how it came about; None with a note that says why there is none.

    ``flaw`` says why a gate cannot trust the value, if it cannot.
    """

    value: float | None
    note: str = ""
    flaw: str = ""


@dataclass(frozen=True)
class Quantity:
    """A figure of a run. ``bound`` is the one side on which it can be too bad; ``digits`` are decimals shown.

    ``per_mode`` and ``per_slice`` say whether each mode, and each slice of the cases, has a figure of its own.
    """

    bound: Bound
    measure: Callable[[EvaluationReport, str], Measured]
    digits: int = 3
    per_mode: bool = True
    per_slice: bool = True


def cases_of(report: EvaluationReport, mode: str) -> list[EvaluationCaseResult]:
    """Return the cases of one mode; of all modes where ``mode`` is empty."""
    return [result for result in report.cases if mode in ("", result.mode)]


def _error_rate(report: EvaluationReport, mode: str) -> Measured:
    run = [result for result in cases_of(report, mode) if result.status != "not_run"]
    if not run:
        return Measured(None, "no case was run")
    return Measured(sum(failed(result, report.metrics) for result in run) / len(run))


def _unscored_rate(report: EvaluationReport, mode: str) -> Measured:
    counts = [report.counts[key] for metric in report.metrics if (key := f"{mode}.{metric}") in report.counts]
    run = sum(count.planned - count.not_run for count in counts)
    without = sum(count.unscored + count.errored for count in counts)
    return Measured(without / run) if run else Measured(None, "no case was run")


def _cases_that(report: EvaluationReport, mode: str, bad: Callable[[EvaluationCaseResult], bool]) -> Measured:
    cases = cases_of(report, mode)
    if all(result.status == "not_run" for result in cases):
        return Measured(None, "no case was run")
    errored = sum(result.status == "errored" for result in cases)
    found = sum(bad(result) for result in cases if result.status == "finished")
    return Measured(found + errored, f"{plural(errored, 'errored case')} counted in" if errored else "")


def _empty_results(report: EvaluationReport, mode: str) -> Measured:
    return _cases_that(report, mode, lambda result: not result.hits)


def _errored(report: EvaluationReport, mode: str) -> Measured:
    return _cases_that(report, mode, lambda result: failed(result, report.metrics))


def _unscored(report: EvaluationReport, mode: str) -> Measured:
    def lacks_a_value(result: EvaluationCaseResult) -> bool:
        return len({score.name for score in result.scores if score.value is not None}) < len(report.metrics)

    return _cases_that(report, mode, lacks_a_value)


def _shallow(report: EvaluationReport, mode: str) -> Measured:
    return _cases_that(report, mode, lambda result: result.shallow)


def _query_figure(report: EvaluationReport, mode: str, name: str) -> Measured:
    figures = report.latency.get(mode, {})
    if name in figures:
        return Measured(figures[name], "amortised over batches" if figures.get("amortised") else "")
    errored = figures.get("errored")
    return Measured(None, f"{plural(int(errored), 'case')} errored" if errored else "it was not measured")


def _queries_per_second(report: EvaluationReport, mode: str) -> Measured:
    measured = _query_figure(report, mode, "queries_per_second")
    errored = sum(result.status == "errored" for result in cases_of(report, mode))
    return replace(
        measured,
        flaw=f"{plural(errored, 'case')} errored, and failing can be quicker than answering" if errored else "",
    )


def _spent(report: EvaluationReport, mode: str, name: str) -> Measured:
    """The sum of what each response's metadata says under ``name``: a number, or a mapping of numbers."""
    cases = cases_of(report, mode)
    spent = [_amount(result.metadata.get(name)) for result in cases if result.status == "finished"]
    known = [amount for amount in spent if amount is not None]
    if not spent or len(known) < len(spent):
        return Measured(None, f"{len(known)} of {plural(len(spent), 'response')} say in their metadata their {name}")
    errored = sum(result.status == "errored" for result in cases)
    return Measured(
        math.fsum(known), flaw=f"{plural(errored, 'case')} errored and spent an unknown amount" if errored else ""
    )


def _amount(value: Any) -> float | None:
    amounts = list(value.values()) if isinstance(value, dict) else [value]
    if not all(type(amount) in (int, float) and math.isfinite(amount) for amount in amounts):
        return None
    return math.fsum(amounts)


def _index_bytes(report: EvaluationReport, _: str) -> Measured:
    sizes = [_amount(base.manifest.get("index_bytes")) for base in report.knowledge_bases]
    known = [size for size in sizes if size is not None]
    if not sizes or len(known) < len(sizes):
        return Measured(None, f"{len(known)} of {plural(len(sizes), 'knowledge base')} say their index_bytes")
    return Measured(math.fsum(known))


def _build_seconds(report: EvaluationReport, _: str) -> Measured:
    bases = report.knowledge_bases
    for base in bases:
        if base.error is not None:
            return Measured(None, f"the knowledge base of {base.unit_id} could not be built")
    times = [base.build_seconds for base in bases if base.build_seconds is not None]
    if not bases or len(times) < len(bases):
        return Measured(None, f"{len(times)} of {plural(len(bases), 'knowledge base')} have a build time")
    cached = sum(base.cached for base in bases)
    return Measured(sum(times), f"{cached} of {len(bases)} built in an earlier run" if cached else "")


QUANTITIES: dict[str, Quantity] = {
    "error_rate": Quantity("max", _error_rate),
    "unscored_rate": Quantity("max", _unscored_rate),
    "errored": Quantity("max", _errored, digits=0),
    "unscored": Quantity("max", _unscored, digits=0),
    "empty_results": Quantity("max", _empty_results, digits=0),
    "shallow": Quantity("max", _shallow, digits=0),
    "latency_p50_ms": Quantity("max", partial(_query_figure, name="p50_ms")),
    "latency_p95_ms": Quantity("max", partial(_query_figure, name="p95_ms")),
    "latency_p99_ms": Quantity("max", partial(_query_figure, name="p99_ms")),
    "queries_per_second": Quantity("min", _queries_per_second, per_slice=False),
    "tokens": Quantity("max", partial(_spent, name="tokens"), digits=0),
    "cost": Quantity("max", partial(_spent, name="cost")),
    "build_seconds": Quantity("max", _build_seconds, per_mode=False, per_slice=False),
    "index_bytes": Quantity("max", _index_bytes, digits=0, per_mode=False, per_slice=False),
}
"""Every quantity by the name that a threshold uses.

``error_rate``: the share of the cases that were run whose query failed, or that lack the score of some metric (0..1).
``unscored_rate``: the share of all scores, over every metric and case that was run, without a value (0..1): unscored
or errored.
``errored``: the cases that ``error_rate`` counts. ``unscored``: those that lack a value of some metric, for any reason.
``empty_results``, ``shallow``: cases without any hit, and with fewer documents than the deepest metric looks at.
``latency_p50_ms``, ``latency_p95_ms``, ``latency_p99_ms``: nearest-rank percentiles, see ``latency_summary``.
``queries_per_second``: finished cases a second of query wall time; not to be trusted where a case errored.
``tokens``, ``cost``: the sum over all responses of ``response.metadata["tokens"]`` and ``["cost"]``, numbers or
mappings of numbers (``{"prompt": 812, "completion": 64}``); only where each response says it and no case errored.
``build_seconds``: the build times of all knowledge bases; one that came from the cache counts what it once took.
``index_bytes``: the sum of ``manifest["index_bytes"]`` of all knowledge bases, where each has it.
"""
