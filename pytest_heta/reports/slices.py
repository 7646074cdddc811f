"""Slices: the cases that share a label, judged by themselves."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pytest_heta.errors import UnknownNameError
from pytest_heta.records import EvaluationCaseResult, EvaluationReport
from pytest_heta.reports.aggregate import latency_summary, summarize_scores

UNLABELLED = ""
"""The slice of the cases that lack the label, so that the slices of a label hold all cases."""

SLICES = "slices"
"""Where a report's metadata holds the figures of its slices."""


@dataclass(frozen=True)
class Slice:
    """The cases whose label has a value, written as in ``question_type=inference_query``."""

    label: str
    value: str

    def holds(self, labels: Mapping[str, Any]) -> bool:
        """Tell whether a case with these labels belongs to the slice."""
        return self.value in label_values(labels, self.label)

    @property
    def text(self) -> str:
        """The slice as a threshold writes it."""
        return f"{self.label}={self.value}"


def label_values(labels: Mapping[str, Any], label: str) -> tuple[str, ...]:
    """Return the slices of ``label`` to which a case with these labels belongs, at least one.

    A label may be any JSON: a text stands for itself, a list for each of its members, anything else for its JSON text.
    """
    value = labels.get(label)
    members = value if isinstance(value, list | tuple) else [value]
    return tuple(dict.fromkeys(map(_text, members))) or (UNLABELLED,)


def _text(value: Any) -> str:
    if value is None:
        return UNLABELLED
    return value.strip() if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True)


def known_labels(label_sets: Iterable[Mapping[str, Any]]) -> tuple[str, ...]:
    """Return the names of all labels, sorted."""
    return tuple(sorted({name for labels in label_sets for name in labels}))


def check_slices(
    labels: Iterable[str], slices: Iterable[Slice | None], label_sets: Sequence[Mapping[str, Any]]
) -> None:
    """Refuse what no case has; to be called before the run. ``label_sets`` are the labels of the planned cases.

    Raises:
        UnknownNameError: No case has such a label, or such a value of it; lists those that there are.
    """
    wanted = [one for one in slices if one is not None]
    for label in (*labels, *(one.label for one in wanted)):
        if not any(label in members for members in label_sets):
            raise UnknownNameError("label", label, known_labels(label_sets))
    for one in wanted:
        values = {value for members in label_sets for value in label_values(members, one.label)}
        if one.value not in values:
            raise UnknownNameError(f"value of {one.label}", one.value, sorted(values))


def sliced_report(report: EvaluationReport, where: Slice | None) -> EvaluationReport:
    """Return the report as it would be, had only the cases of the slice been planned; all of it for None.

    What belongs to the whole run, such as durations and knowledge bases, stays; a throughput has no meaning and goes.
    """
    if where is None:
        return report
    cases = tuple(result for result in report.cases if where.holds(result.labels))
    summary, counts = summarize_scores(cases, report.query_modes, report.metrics)
    latency = latency_summary(cases, report.query_modes)
    return report.model_copy(update={"cases": cases, "score_summary": summary, "counts": counts, "latency": latency})


def with_slices(report: EvaluationReport, labels: Sequence[str]) -> EvaluationReport:
    """Return the report with the means and counts of each slice of these labels in ``metadata["slices"]``.

    The shape is ``{label: {value: {"score_summary": …, "counts": …}}}``, the two as in the report itself.
    """
    if not labels:
        return report
    figures = {label: _figures(report, label) for label in dict.fromkeys(labels)}
    return report.model_copy(update={"metadata": report.metadata | {SLICES: figures}})


def _figures(report: EvaluationReport, label: str) -> dict[str, Any]:
    members: dict[str, list[EvaluationCaseResult]] = {}
    for result in report.cases:
        for value in label_values(result.labels, label):
            members.setdefault(value, []).append(result)
    found = {}
    for value in sorted(members):
        summary, counts = summarize_scores(members[value], report.query_modes, report.metrics)
        found[value] = {
            "score_summary": summary,
            "counts": {key: count.model_dump() for key, count in counts.items()},
        }
    return found
