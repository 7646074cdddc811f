"""The cases that a reader should look at first: those that failed, scored lowest, took longest."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pytest_heta.records import EvaluationCaseResult, EvaluationReport
from pytest_heta.reports.text import listed


@dataclass(frozen=True)
class ErrorGroup:
    """Failures that say the same: ``example`` is the first of ``count`` cases."""

    message: str
    count: int
    example: str


def error_groups(report: EvaluationReport) -> list[ErrorGroup]:
    """Group the failures by message, the most frequent first, then by first appearance.

    Messages that differ in nothing but numbers or quoted texts (a case id, a time) are one group, shown as its first.
    """
    found: dict[str, list[tuple[str, str]]] = {}
    for place, message in _failures(report):
        found.setdefault(re.sub(r"\d+(?:\.\d+)?|'[^']*'|\"[^\"]*\"", "#", message), []).append((place, message))
    groups = [ErrorGroup(members[0][1], len(members), members[0][0]) for members in found.values()]
    return sorted(groups, key=lambda group: -group.count)


def _failures(report: EvaluationReport) -> Iterator[tuple[str, str]]:
    asked = {result.unit_id for result in report.cases}
    for base in report.knowledge_bases:
        # Where a unit has cases, each of them carries the error of its knowledge base.
        if base.error is not None and base.unit_id not in asked:
            yield f"knowledge base {base.name}", f"{base.error.error_type}: {base.error.message}"
    for result in report.cases:
        place = f"case {result.case_id} ({result.mode})"
        if result.error is not None:
            yield place, f"{result.error.error_type}: {result.error.message}"
        elif result.status == "errored":
            yield place, "failed without a message"
        elif result.status == "finished" and (missing := _without_score(result, report.metrics)):
            yield place, f"no score for {listed(missing)}"


def _without_score(result: EvaluationCaseResult, metrics: Sequence[str]) -> list[str]:
    names = {score.name for score in result.scores}
    return [metric for metric in metrics if metric not in names]


ScoredCase = tuple[float, EvaluationCaseResult]


def lowest_cases(report: EvaluationReport, mode: str, metric: str, count: int) -> list[ScoredCase]:
    """Return up to ``count`` finished cases with the lowest score, ties in the report's order.

    Cases that reach the highest score of the mode are not among them: where all are equal, none stands out.
    """
    scored = _scored(report, mode, metric)
    best = max((value for value, _ in scored), default=0.0)
    return sorted((pair for pair in scored if pair[0] < best), key=lambda pair: pair[0])[:count]


def highest_cases(report: EvaluationReport, mode: str, metric: str, count: int) -> list[ScoredCase]:
    """Return up to ``count`` finished cases with the highest score, as ``lowest_cases`` does at the other end."""
    scored = _scored(report, mode, metric)
    worst = min((value for value, _ in scored), default=0.0)
    return sorted((pair for pair in scored if pair[0] > worst), key=lambda pair: -pair[0])[:count]


def _scored(report: EvaluationReport, mode: str, metric: str) -> list[ScoredCase]:
    return [
        (score.value, result)
        for result in report.cases
        if result.mode == mode and result.status == "finished"
        for score in result.scores
        if score.name == metric and score.value is not None
    ]


def slowest_cases(report: EvaluationReport, mode: str, count: int) -> list[tuple[float, EvaluationCaseResult]]:
    """Return up to ``count`` cases with the longest query, ties in the report's order.

    A time that is a share of a batch says nothing about its case and does not count.
    """
    timed = [
        (result.latency_ms, result)
        for result in report.cases
        if result.mode == mode and result.latency_ms is not None and not result.amortised
    ]
    return sorted(timed, key=lambda pair: -pair[0])[:count]
