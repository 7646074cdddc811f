"""How one result stands to another, metric by metric, as the cells of a table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pytest_heta.reports.case_pairs import PairedCases
from pytest_heta.reports.text import mean
from pytest_heta.reports.writers.entrants import Entrant


def pair_rows(
    before: Entrant, after: Entrant, metrics: Sequence[str], names: Mapping[str, str]
) -> Iterator[tuple[str, ...]]:
    """Yield a row a metric that both have: name, means, difference, interval, p, wins, ties and losses of ``after``.

    Errored cases count 0, as in the means; cases that one of the two lacks play no part.
    """
    shared = [metric for metric in metrics if metric in before.report.metrics and metric in after.report.metrics]
    found = PairedCases.of(before.worth, after.worth).compare(shared)
    for metric, result in zip(shared, found, strict=True):
        if result is not None:
            yield (
                names[metric],
                mean(result.after),
                mean(result.before),
                f"{result.difference:+.4f}",
                f"{result.low:+.4f} to {result.high:+.4f}",
                f"{result.p:.4f}",
                str(result.better),
                str(result.equal),
                str(result.worse),
            )
