"""The comparison with the baseline in a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_heta.reports.against_baseline import BaselineComparison
from pytest_heta.reports.lines import Line, Row, table, wrapped
from pytest_heta.reports.mode_summary import labels
from pytest_heta.reports.paired import PairedResult
from pytest_heta.reports.text import fit, one_line, plural

_COLUMNS = ("before", "now", "change", "95 % interval", "p", "+/=/-")
_SHOWN_CASES = 5


def baseline_lines(comparison: BaselineComparison, width: int = 80) -> list[Line]:
    """Return what has changed since the baseline, no line wider than ``width``.

    Where there are gates, only their metrics are shown. ``+/=/-`` are the numbers of better, equal and worse cases.
    The verdicts of the gates are not repeated.
    """
    return [
        Line("compared with the baseline", "bold"),
        *(line for note in comparison.notes for line in wrapped(one_line(note), width)),
        *_tables(comparison, width),
        *_worse(comparison, width),
    ]


def _tables(comparison: BaselineComparison, width: int) -> Iterator[Line]:
    gated = {(gate.mode, gate.metric) for gate in comparison.gates}
    shown = [one for one in comparison.changes if not gated or one[:2] in gated]
    names = labels(list(dict.fromkeys(metric for _, metric, _ in shown)))
    for mode in dict.fromkeys(mode for mode, *_ in shown):
        rows = [Row(f"  {one_line(names[metric])}", _cells(change)) for own, metric, change in shown if own == mode]
        yield from table(mode, _COLUMNS, rows, width)


def _cells(change: PairedResult) -> tuple[str, ...]:
    return (
        f"{change.before:.4f}",
        f"{change.after:.4f}",
        f"{change.difference:+.4f}",
        f"{change.low:+.4f} {change.high:+.4f}",
        f"{change.p:.4f}",
        f"{change.better}/{change.equal}/{change.worse}",
    )


def _worse(comparison: BaselineComparison, width: int) -> Iterator[Line]:
    if comparison.worse:
        yield Line(fit(f"  worse where a gate failed: {plural(len(comparison.worse), 'score')}", width), "dim")
    for case in comparison.worse[:_SHOWN_CASES]:
        place = one_line(f"case {case.case_id} ({case.mode}, {case.metric})")
        yield Line(fit(f"    {-case.drop:+.4f}  {place}", width), "dim")
