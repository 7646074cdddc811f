"""Thresholds: their text, the metric they mean, and their verdict on one case."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from pytest_heta.errors import UnknownNameError, UsageError
from pytest_heta.records import EvaluationCaseResult
from pytest_heta.reports.slices import Slice
from pytest_heta.reports.text import number, tell_apart

Bound = Literal["min", "max"]

FAMILY_PREFIXES = ("beir_", "uda_", "multihop_")
"""What a metric's name may begin with, and a user need not write."""

_TEXT = re.compile(
    r"(?:(?P<mode>[A-Za-z_][\w-]*)\.)?(?P<metric>[^=<>]*?[^=<>\s])"
    r"(?:\s+where\s+(?P<label>[^=]*[^=\s])\s*=\s*(?P<member>.*?))?\s*=\s*(?P<value>[^=\s]+)"
)
_LIMIT = {"min": "below the minimum", "max": "above the maximum"}
_KEPT = {"min": "at least", "max": "at most"}


@dataclass(frozen=True)
class Threshold:
    """A bound that a metric must keep; the bound itself is allowed.

    ``mode`` None means every mode of the run; ``where`` bounds the metric on a slice of the cases only.
    """

    metric: str
    bound: Bound
    value: float
    mode: str | None = None
    where: Slice | None = None

    def holds(self, value: float) -> bool:
        """Compare exactly, without any rounding or tolerance."""
        return value >= self.value if self.bound == "min" else value <= self.value

    @property
    def text(self) -> str:
        """The threshold in short: ``ndcg@10 >= 0.65``."""
        return f"{self.subject} {'>=' if self.bound == 'min' else '<='} {number(self.value)}"

    @property
    def subject(self) -> str:
        """What is bounded, in short: ``ndcg@10``, ``ndcg@10 where question_type=inference_query``."""
        return short_name(self.metric) + (f" where {self.where.text}" if self.where else "")

    def verdict(self, value: float, digits: int = 3) -> str:
        """Say how ``value`` stands to the bound, with ``digits`` decimals, or more where it takes more to see it."""
        words = (_KEPT if self.holds(value) else _LIMIT)[self.bound]
        shown, limit = tell_apart(value, self.value, digits)
        return f"{self.subject} = {shown}, {words} {limit}"


@dataclass(frozen=True)
class Clause:
    """The parts of a threshold's text: ``[MODE.]METRIC [where LABEL=VALUE] = AMOUNT``."""

    mode: str | None
    metric: str
    where: Slice | None
    amount: str


def parse_clause(text: str) -> Clause | None:
    """Take the text of a threshold apart, or return None where it has another form.

    White space around the parts does not matter. The last equals sign is the one before the amount.
    """
    match = _TEXT.fullmatch(text.strip())
    if match is None or " where " in match["metric"]:
        return None
    where = Slice(match["label"], match["member"]) if match["label"] else None
    return Clause(match["mode"], match["metric"], where, match["value"])


def parse_threshold(text: str, bound: Bound) -> Threshold:
    """Read ``METRIC=VALUE``, ``MODE.METRIC=VALUE``, or one of these for a slice: ``METRIC where LABEL=MEMBER = VALUE``.

    What stands before the first dot is taken for a mode here; ``resolve_threshold`` knows the metrics and sees whether
    it is the beginning of a metric's name.

    Raises:
        UsageError: The text has another form, or its value is no finite number.
    """
    clause = parse_clause(text)
    value = finite(clause.amount) if clause else None
    if clause is None or value is None:
        raise UsageError(
            f"cannot read the threshold {text!r}: write METRIC=VALUE or MODE.METRIC=VALUE with a finite number, "
            f"such as ndcg@10=0.65 or vector_search.ndcg@10=0.65, and for a slice METRIC where LABEL=MEMBER = VALUE"
        )
    return Threshold(clause.metric, bound, value, clause.mode, clause.where)


def finite(text: str) -> float | None:
    """Return the number that a text is, or None where it is none or not finite."""
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
    mode, metric = resolve_subject(threshold.mode, threshold.metric, metrics, modes)
    return replace(threshold, mode=mode, metric=metric)


def resolve_subject(
    mode: str | None, metric: str, metrics: Sequence[str], modes: Sequence[str]
) -> tuple[str | None, str]:
    """Return the mode and the full name of the metric that a text means; raises as ``resolve_threshold``."""
    if mode is not None:
        whole = f"{mode}.{metric}"
        if _candidates(whole, metrics):
            return None, resolve_metric(whole, metrics)
        if mode not in modes:
            raise UnknownNameError("mode", mode, modes)
    return mode, resolve_metric(metric, metrics)


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
    misses = (_miss(threshold, case_result) for threshold in thresholds if concerns(threshold, case_result))
    return tuple(f"{miss} {place}" for miss in misses if miss)


def concerns(threshold: Threshold, result: EvaluationCaseResult) -> bool:
    """Tell whether a threshold is about this case: its mode, and its slice where it has one."""
    inside = threshold.where is None or threshold.where.holds(result.labels)
    return inside and threshold.mode in (None, result.mode)


def _miss(threshold: Threshold, result: EvaluationCaseResult) -> str | None:
    scores = {score.name: score.value for score in result.scores}
    names = _candidates(threshold.metric, scores)
    if not names:
        return f"{threshold.subject} has no score: its evaluator failed, so {threshold.text} does not hold"
    value = scores[names[0]]
    return None if value is None or threshold.holds(value) else threshold.verdict(value)
