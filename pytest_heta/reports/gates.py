"""Verdicts on a whole run: one for each threshold and mode, with the reason."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pytest_heta.errors import UsageError
from pytest_heta.records import EvaluationReport, GateResult
from pytest_heta.reports.quantities import QUANTITIES, Measured, Quantity, cases_of
from pytest_heta.reports.slices import sliced_report
from pytest_heta.reports.text import listed, plural
from pytest_heta.reports.thresholds import Threshold, resolve_threshold


def resolve_gates(
    thresholds: Iterable[Threshold], metrics: Sequence[str], modes: Sequence[str]
) -> tuple[Threshold, ...]:
    """Return the thresholds of a run with full names, each once. To be called before the run, so that typing errors
    show before any time is spent.

    Raises:
        UnknownNameError: A metric or mode does not exist.
        UsageError: A name is ambiguous, or a quantity such as a latency is bounded on its good side.
    """
    known = (*metrics, *QUANTITIES)
    resolved = tuple(dict.fromkeys(resolve_threshold(threshold, known, modes) for threshold in thresholds))
    for threshold in resolved:
        quantity = _quantity(threshold, metrics)
        if quantity is not None and quantity.bound != threshold.bound:
            raise UsageError(f"{threshold.metric} can only have a {quantity.bound}imum, not '{threshold.text}'")
        if quantity is not None and threshold.mode and not quantity.per_mode:
            raise UsageError(f"{threshold.metric} belongs to no mode: leave out {threshold.mode!r}")
        if quantity is not None and threshold.where and not quantity.per_slice:
            raise UsageError(f"{threshold.metric} belongs to no slice: leave out 'where {threshold.where.text}'")
    return resolved


def _quantity(threshold: Threshold, metrics: Sequence[str]) -> Quantity | None:
    return None if threshold.metric in metrics else QUANTITIES.get(threshold.metric)


def check_report(thresholds: Iterable[Threshold], report: EvaluationReport) -> tuple[GateResult, ...]:
    """Return one verdict for each threshold and each mode that it bounds (mode ``""`` where it belongs to none).

    A gate fails, whatever its value, where a case was not run or nothing could be measured; its reason says so.
    Errored cases count 0 in a mean, and fail a maximum, which a 0 would flatter. So no failure can open a gate, given
    that the scores of a metric with a minimum are not negative.

    Raises:
        UsageError: As ``resolve_gates``.
    """
    return tuple(
        _gate(threshold, sliced, mode)
        for threshold in resolve_gates(thresholds, report.metrics, report.query_modes)
        for sliced in (sliced_report(report, threshold.where),)
        for mode in _modes(threshold, report)
    )


def _modes(threshold: Threshold, report: EvaluationReport) -> tuple[str, ...]:
    quantity = _quantity(threshold, report.metrics)
    if quantity is not None and not quantity.per_mode:
        return ("",)
    return report.query_modes if threshold.mode is None else (threshold.mode,)


def _gate(threshold: Threshold, report: EvaluationReport, mode: str) -> GateResult:
    quantity = _quantity(threshold, report.metrics)
    measured = quantity.measure(report, mode) if quantity else _mean(threshold, report, mode)
    not_run = sum(result.status == "not_run" for result in cases_of(report, mode))
    value = measured.value
    if value is None:
        head, notes = f"{threshold.subject} has no value: {measured.note}", ""
    else:
        head, notes = threshold.verdict(value, quantity.digits if quantity else 3), measured.note
    flaws = listed([measured.flaw, f"{plural(not_run, 'case')} not run" if not_run else ""])
    return GateResult(
        name=f"{mode}.{threshold.text}" if mode else threshold.text,
        mode=mode,
        metric=threshold.metric,
        bound=threshold.bound,
        threshold=threshold.value,
        value=value,
        passed=value is not None and threshold.holds(value) and not flaws,
        reason=f"{head} ({listed((report.benchmark.name, mode, notes))})"
        + (f"; {flaws}, so this gate cannot pass" if flaws else ""),
    )


def _mean(threshold: Threshold, report: EvaluationReport, mode: str) -> Measured:
    key = f"{mode}.{threshold.metric}"
    counts = report.counts.get(key)
    if counts is None or not counts.scored:
        parts = counts.model_dump(exclude={"planned", "scored"}).items() if counts else ()
        return Measured(None, listed(("no case was scored", *(f"{n} {name.replace('_', ' ')}" for name, n in parts))))
    mean, scored = report.score_summary[key], plural(counts.scored, "case")
    if not counts.errored:
        return Measured(mean, scored)
    flaw = f"{plural(counts.errored, 'case')} errored, and 0 would flatter it" if threshold.bound == "max" else ""
    return Measured(mean, f"{scored} and {counts.errored} errored as 0", flaw)
