"""Several results on one benchmark side by side, with their differences to the first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from pytest_heta.errors import UsageError
from pytest_heta.records import EvaluationReport
from pytest_heta.reports.against_baseline import refusals
from pytest_heta.reports.baseline import snapshot
from pytest_heta.reports.case_pairs import PairedCases, case_values
from pytest_heta.reports.lines import Line, Row, table, wrapped
from pytest_heta.reports.mode_summary import labels
from pytest_heta.reports.paired import LEVEL, PairedResult, holm
from pytest_heta.reports.quantities import cases_of
from pytest_heta.reports.text import (
    ABSENT,
    benchmark_title,
    fit,
    listed,
    mean,
    milliseconds,
    one_line,
    plural,
    recipe_name,
)

_STARS = ((0.001, "***"), (0.01, "**"), (LEVEL, "*"))


@dataclass(frozen=True)
class _Entrant:
    """One recipe in one mode: a column of the table. ``changes`` says how each metric stands to the first column."""

    report: EvaluationReport
    mode: str
    changes: Mapping[str, PairedResult] = field(default_factory=dict)
    stars: Mapping[str, str] = field(default_factory=dict)

    def against(self, first: _Entrant) -> _Entrant:
        """Compare with the first column, on the cases that both have."""
        metrics = [metric for metric in self.report.metrics if metric in first.report.metrics]
        pairs = PairedCases.of(case_values(first.report, first.mode), case_values(self.report, self.mode))
        found = zip(metrics, pairs.compare(metrics), strict=True)
        changes = {metric: change for metric, change in found if change is not None}
        p_values = holm([change.p for change in changes.values()])
        return replace(self, changes=changes, stars=dict(zip(changes, map(_stars, p_values), strict=True)))

    def cell(self, metric: str) -> str:
        """The mean of a metric and its difference to the first column."""
        change = self.changes.get(metric)
        if change is None:
            return f"{mean(self.mean(metric)):>6} {ABSENT:>7}".ljust(14 + self._room)
        return f"{mean(self.mean(metric))} {change.difference:+.4f}{self.stars[metric].ljust(self._room)}"

    @property
    def _room(self) -> int:
        return max(map(len, self.stars.values()), default=0)

    def mean(self, metric: str) -> float | None:
        return self.report.score_summary.get(f"{self.mode}.{metric}")

    def status(self, name: str) -> str:
        return str(sum(result.status == name for result in cases_of(self.report, self.mode)))

    def cases(self) -> set[tuple[str, str]]:
        return {(result.unit_id, result.case_id) for result in cases_of(self.report, self.mode)}


def comparison_lines(reports: Sequence[EvaluationReport], width: int = 80) -> list[Line]:
    """Return one table with a column for each recipe and mode, and differences to the first of them.

    A difference is the mean over the cases that both columns have; its stars are those of the paired permutation test,
    with Holm's correction over the metrics of the column.

    Raises:
        UsageError: There is no report, or they are not all of one benchmark, version and split.
    """
    titles = {benchmark_title(report): None for report in reports}
    if len(titles) != 1:
        raise UsageError(f"only reports of one benchmark can be compared, not of {', '.join(titles) or 'none'}")
    first, *others = (_Entrant(report, mode) for report in reports for mode in report.query_modes)
    entrants = [first, *(other.against(first) for other in others)]
    return [
        Line(fit(one_line(f"{next(iter(titles))}: {plural(len(entrants), 'result')} compared"), width), "bold"),
        *_legend(entrants, width),
        Line(),
        *_table(entrants, width),
        *_star_legend(entrants, width),
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
    return mean(entrants[0].mean(metric)), *(entrant.cell(metric) for entrant in entrants[1:])


def _stars(p: float) -> str:
    return next((stars for level, stars in _STARS if p <= level), "")


def _star_legend(entrants: Sequence[_Entrant], width: int) -> Iterator[Line]:
    if any(any(entrant.stars.values()) for entrant in entrants):
        levels = listed([f"{stars} p <= {level}" for level, stars in reversed(_STARS)])
        text = f"{levels}: paired permutation test against [1], Holm's correction over the metrics"
        yield from wrapped(text, width, "dim", indent="")


def _p95(entrant: _Entrant) -> float | None:
    return entrant.report.latency.get(entrant.mode, {}).get("p95_ms")


def _differing_cases(entrants: Sequence[_Entrant], width: int) -> Iterator[Line]:
    """A warning for each column that was not measured as the first was: such means do not compare."""
    first, snapshots = entrants[0], {id(entrant.report): snapshot(entrant.report) for entrant in entrants}
    for number, entrant in enumerate(entrants[1:], 2):
        cases, missing = entrant.cases() - first.cases(), first.cases() - entrant.cases()
        if cases or missing:
            text = f"[{number}] lacks {len(missing)} of the cases of [1] and has {len(cases)} others"
            yield from wrapped(text, width, "bad", indent="")
        for difference in refusals(snapshots[id(first.report)], snapshots[id(entrant.report)]):
            yield from wrapped(f"[1] does not compare with [{number}]: {difference}", width, "bad", indent="")
