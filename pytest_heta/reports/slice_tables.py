"""The means of each slice in a table, for the summary."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from pytest_heta.records import EvaluationReport
from pytest_heta.reports.lines import Line, Row, table
from pytest_heta.reports.slices import SLICES
from pytest_heta.reports.text import mean, one_line

_DEPTH = 10
_AT_K = re.compile(r"(.+)@(\d+)")


def slice_lines(report: EvaluationReport, mode: str, names: Mapping[str, str], width: int) -> Iterator[Line]:
    """Yield a table for each label that the report was sliced by: a row a value, with its cases and means.

    Of each family of metrics the one whose depth is nearest to 10 is shown, under its name in ``names``; the report has
    all.
    """
    metrics = _one_a_family(names)
    for label, slices in report.metadata.get(SLICES, {}).items():
        rows = [
            Row(f"  {one_line(value) or '(no label)'}", tuple(_cells(figures, mode, metrics)))
            for value, figures in slices.items()
        ]
        yield from table(f"  by {one_line(label)}", ["cases", "failed", *metrics.values()], rows, width, keep=2)


def _one_a_family(names: Mapping[str, str]) -> dict[str, str]:
    nearest: dict[str, tuple[int, str]] = {}
    for metric, name in names.items():
        match = _AT_K.fullmatch(name)
        family, distance = (match[1], abs(int(match[2]) - _DEPTH)) if match else (name, 0)
        nearest[family] = min(nearest.get(family, (distance, metric)), (distance, metric), key=lambda pair: pair[0])
    return {metric: names[metric] for _, metric in nearest.values()}


def _cells(figures: Mapping[str, Any], mode: str, metrics: Mapping[str, str]) -> Iterator[str]:
    counts = [figures["counts"][f"{mode}.{metric}"] for metric in metrics]
    yield str(max(count["planned"] for count in counts))
    yield str(max(count["errored"] + count["not_run"] for count in counts))
    for metric in metrics:
        yield mean(figures["score_summary"].get(f"{mode}.{metric}"))
