"""Several results on one benchmark side by side, with their differences to the first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pytest_heta.errors import UsageError
from pytest_heta.records import EvaluationReport
from pytest_heta.reports.lines import Line, Row, table, wrapped
from pytest_heta.reports.mode_summary import labels
from pytest_heta.reports.quantities import cases_of
from pytest_heta.reports.text import (
    ABSENT,
    benchmark_title,
    fit,
    mean,
    milliseconds,
    one_line,
    plural,
    recipe_name,
)


@dataclass(frozen=True)
class _Entrant:
    """One recipe in one mode: a column of the table."""

    report: EvaluationReport
    mode: str

    def mean(self, metric: str) -> float | None:
        return self.report.score_summary.get(f"{self.mode}.{metric}")

    def status(self, name: str) -> str:
        return str(sum(result.status == name for result in cases_of(self.report, self.mode)))

    def cases(self) -> set[tuple[str, str]]:
        return {(result.unit_id, result.case_id) for result in cases_of(self.report, self.mode)}


def comparison_lines(reports: Sequence[EvaluationReport], width: int = 80) -> list[Line]:
    """Return one table with a column for each recipe and mode, and differences to the first of them.

    Raises:
        UsageError: There is no report, or they are not all of one benchmark, version and split.
    """
    titles = {benchmark_title(report): None for report in reports}
    if len(titles) != 1:
        raise UsageError(f"only reports of one benchmark can be compared, not of {', '.join(titles) or 'none'}")
    entrants = [_Entrant(report, mode) for report in reports for mode in report.query_modes]
    return [
        Line(fit(one_line(f"{next(iter(titles))}: {plural(len(entrants), 'result')} compared"), width), "bold"),
        *_legend(entrants, width),
        Line(),
        *_table(entrants, width),
        *_differing_cases(entrants, width),
    ]


def _legend(entrants: Sequence[_Entrant], width: int) -> Iterator[Line]:
    for number, entrant in enumerate(entrants, 1):
        name = one_line(f"{recipe_name(entrant.report)}, {entrant.mode}")
        yield Line(fit(f"  [{number}] {name}{' (the others are compared with it)' if number == 1 else ''}", width))


def _table(entrants: Sequence[_Entrant], width: int) -> Iterator[Line]:
    metrics = list(dict.fromkeys(metric for entrant in entrants for metric in entrant.report.metrics))
    rows = [
        *(Row(one_line(label), _metric(entrants, metric)) for metric, label in labels(metrics).items()),
        Row("latency p95, ms", tuple(milliseconds(_p95(entrant)) for entrant in entrants)),
        *(
            Row(f"{name.replace('_', ' ')} cases", tuple(entrant.status(name) for entrant in entrants))
            for name in ("finished", "errored", "not_run")
        ),
    ]
    yield from table("", [f"[{number}]" for number in range(1, len(entrants) + 1)], rows, width, keep=1)


def _metric(entrants: Sequence[_Entrant], metric: str) -> tuple[str, ...]:
    first = entrants[0].mean(metric)
    return mean(first), *(_difference(entrant.mean(metric), first) for entrant in entrants[1:])


def _difference(value: float | None, first: float | None) -> str:
    if value is None or first is None:
        return f"{mean(value):>6} {ABSENT:>7}"
    return f"{mean(value)} {value - first:+.4f}"


def _p95(entrant: _Entrant) -> float | None:
    return entrant.report.latency.get(entrant.mode, {}).get("p95_ms")


def _differing_cases(entrants: Sequence[_Entrant], width: int) -> Iterator[Line]:
    """A warning for each column whose planned cases are not those of the first: such means do not compare."""
    first = entrants[0].cases()
    for number, entrant in enumerate(entrants[1:], 2):
        cases = entrant.cases()
        if cases != first:
            text = f"[{number}] lacks {len(first - cases)} of the cases of [1] and has {len(cases - first)} others"
            yield from wrapped(text, width, "bad", indent="")
