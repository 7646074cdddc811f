"""Thresholds: their text, the metric they mean, and their verdict on one case."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from pytest_heta.errors import UnknownNameError, UsageError
from pytest_heta.records import EvaluationCaseResult
from pytest_heta.reports.text import number, tell_apart

Bound = Literal["min", "max"]

FAMILY_PREFIXES = ("beir_", "uda_", "multihop_")
"""What a metric's name may begin with, and a user need not write."""

_TEXT = re.compile(r"(?:(?P<mode>[A-Za-z_][\w-]*)\.)?(?P<metric>[^=<>]*[^=<>\s])\s*=\s*(?P<value>\S+)")
_LIMIT = {"min": "below the minimum", "max": "above the maximum"}
_KEPT = {"min": "at least", "max": "at most"}


@dataclass(frozen=True)
class Threshold:
    """A bound that a metric must keep; the bound itself is allowed. ``mode`` None means every mode of the run."""

    metric: str
    bound: Bound
    value: float
    mode: str | None = None

    def holds(self, value: float) -> bool:
        """Compare exactly, without any rounding or tolerance."""
        return value >= self.value if self.bound == "min" else value <= self.value

    @property
    def text(self) -> str:
        """The threshold in short: ``ndcg@10 >= 0.65``."""
        return f"{short_name(self.metric)} {'>=' if self.bound == 'min' else '<='} {number(self.value)}"

    def verdict(self, value: float, digits: int = 3) -> str:
        """Say how ``value`` stands to the bound, with ``digits`` decimals, or more where it takes more to see it."""
        words = (_KEPT if self.holds(value) else _LIMIT)[self.bound]
        shown, limit = tell_apart(value, self.value, digits)
        return f"{short_name(self.metric)} = {shown}, {words} {limit}"


def parse_threshold(text: str, bound: Bound) -> Threshold:
    """Read ``METRIC=VALUE`` or ``MODE.METRIC=VALUE``; white space around the parts does not matter.

    What stands before the first dot is taken for a mode here; ``resolve_threshold`` knows the metrics and sees whether
    it is the beginning of a metric's name.

    Raises:
        UsageError: The text has another form, or its value is no finite number.
    """
    match = _TEXT.fullmatch(text.strip())
    value = _finite(match["value"]) if match else None
    if match is None or value is None:
        raise UsageError(
            f"cannot read the threshold {text!r}: write METRIC=VALUE or MODE.METRIC=VALUE with a finite number, "
            f"such as ndcg@10=0.65 or vector_search.ndcg@10=0.65"
        )
    return Threshold(metric=match["metric"], bound=bound, value=value, mode=match["mode"])


def _finite(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def short_name(metric: str) -> str:
    """Return a metric's name without the prefix of its benchmark family."""
    for prefix in FAMILY_PREFIXES:
        if metric.startswith(prefix):
            return metric.removeprefix(prefix) or metric
    return metric


def _candidates(name: str, metrics: Iterable[str]) -> list[str]:
    """The metrics that ``name`` may mean: the one of that very name, or those that differ by a family prefix."""
    known = list(dict.fromkeys(metrics))
    if name in known:
        return [name]
    return [metric for metric in known if name == short_name(metric) or metric == short_name(name)]


def resolve_metric(name: str, metrics: Sequence[str]) -> str:
    """Return the one of ``metrics`` that ``name`` means, written with or without its family prefix.

    Raises:
        UnknownNameError: There is none; lists the metrics.
        UsageError: There are several.
    """
    found = _candidates(name, metrics)
    if not found:
        raise UnknownNameError("metric", name, metrics)
    if len(found) > 1:
        raise UsageError(f"metric {name!r} could be any of {', '.join(found)}: write the whole name")
    return found[0]


def resolve_threshold(threshold: Threshold, metrics: Sequence[str], modes: Sequence[str]) -> Threshold:
    """Return the threshold with the full name of its metric, and a mode that the run has, or None.

    Raises:
        UnknownNameError: The metric or the mode does not exist.
        UsageError: The metric's name is ambiguous.
    """
    if threshold.mode is not None:
        whole = f"{threshold.mode}.{threshold.metric}"
        if _candidates(whole, metrics):
            return replace(threshold, metric=resolve_metric(whole, metrics), mode=None)
        if threshold.mode not in modes:
            raise UnknownNameError("mode", threshold.mode, modes)
    return replace(threshold, metric=resolve_metric(threshold.metric, metrics))


def check_case(
    thresholds: Iterable[Threshold], case_result: EvaluationCaseResult, benchmark_name: str
) -> tuple[str, ...]:
    """Return all misses of one case at once, one line each.

    ``ndcg@10 = 0.214, below the minimum 0.350 (beir_scifact, case 42, vector_search)``

    Only a finished case is judged: one that errored or was not run is reported as such by itself. An unscored metric is
    no miss: the case has no gold label for it, so no response could have done better or worse; the counts of the run
    and its gates show how many there are. A metric that left no score at all has failed, and is a miss.
    """
    if case_result.status != "finished":
        return ()
    place = f"({benchmark_name}, case {case_result.case_id}, {case_result.mode})"
    misses = (_miss(threshold, case_result) for threshold in thresholds if threshold.mode in (None, case_result.mode))
    return tuple(f"{miss} {place}" for miss in misses if miss)


def _miss(threshold: Threshold, result: EvaluationCaseResult) -> str | None:
    scores = {score.name: score.value for score in result.scores}
    names = _candidates(threshold.metric, scores)
    if not names:
        return f"{short_name(threshold.metric)} has no score: its evaluator failed, so {threshold.text} does not hold"
    value = scores[names[0]]
    return None if value is None or threshold.holds(value) else threshold.verdict(value)
