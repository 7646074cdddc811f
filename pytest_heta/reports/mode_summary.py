"""The part of the summary about one mode: means, denominators, speed, and the cases to look at."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence

from pytest_heta.records import EvaluationCaseResult, EvaluationReport, MetricCounts
from pytest_heta.reports.aggregate import official_summary
from pytest_heta.reports.case_lines import expected_and_found
from pytest_heta.reports.findings import highest_cases, lowest_cases, slowest_cases
from pytest_heta.reports.lines import Line, Row, Style, table, wrapped
from pytest_heta.reports.metric_names import headline_metrics
from pytest_heta.reports.slice_tables import slice_lines
from pytest_heta.reports.text import fit, listed, mean, milliseconds, one_line, plural, seconds
from pytest_heta.reports.thresholds import short_name

_SHOWN_CASES = 3
_AT_K = re.compile(r"(?P<family>.+)@(?P<k>\d+)")


def mode_lines(report: EvaluationReport, mode: str, width: int, verbosity: int = 0) -> Iterator[Line]:
    """Yield all about one mode of a report, no line wider than ``width``.

    With a ``verbosity`` from 1 the best cases are shown as well as the worst, with what they expected and found.
    """
    yield from _means(report, mode, mode, report.score_summary, width)
    yield from _counts(report, mode, width)
    yield from _queries(report, mode, width)
    official = official_summary(report, mode)
    if any(official.get(key) != report.score_summary.get(key) for key in _keys(report, mode)):
        words = "official view: what the benchmark's own script would print, failures left out"
        yield Line(fit(f"  {words}", width), "dim")
        yield from _means(report, mode, " " * len(mode), official, width)
    yield from slice_lines(report, mode, labels(report.metrics), width)
    yield from _notable(report, mode, width, verbosity)


def _keys(report: EvaluationReport, mode: str) -> list[str]:
    return [f"{mode}.{metric}" for metric in report.metrics]


def labels(metrics: Sequence[str]) -> dict[str, str]:
    """Return what to call each metric: its short name, or the whole one where two would look alike."""
    shared = Counter(map(short_name, metrics))
    return {metric: short_name(metric) if shared[short_name(metric)] == 1 else metric for metric in metrics}


def _means(report: EvaluationReport, mode: str, title: str, means: Mapping[str, float], width: int) -> Iterator[Line]:
    """One row a metric family and one column a depth k; a metric without a k stands in the first column."""
    values: dict[str, dict[int, str]] = defaultdict(dict)
    for metric, label in labels(report.metrics).items():
        match = _AT_K.fullmatch(label)
        family, k = (match["family"], int(match["k"])) if match else (label, 0)
        values[family][k] = mean(means.get(f"{mode}.{metric}"))
    depths = sorted({k for row in values.values() for k in row})
    rows = [Row(f"  {one_line(family)}", tuple(row.get(k, "") for k in depths)) for family, row in values.items()]
    yield from table(title, [f"@{k}" if k else "mean" for k in depths], rows, width)


def _counts(report: EvaluationReport, mode: str, width: int) -> Iterator[Line]:
    """The denominators: one line where all metrics share them, else one for each set of metrics that does."""
    groups: dict[MetricCounts, list[str]] = defaultdict(list)
    for metric, label in labels(report.metrics).items():
        groups[report.counts[f"{mode}.{metric}"]].append(label)
    for counts, members in groups.items():
        text = (
            f"{counts.planned} planned: {counts.scored} scored, {counts.unscored} unscored, "
            f"{counts.errored} errored, {counts.not_run} not run"
        )
        style: Style = "bad" if counts.errored or counts.not_run else "plain"
        yield from wrapped(text if len(groups) == 1 else f"{text} ({listed(members)})", width, style)


def _queries(report: EvaluationReport, mode: str, width: int) -> Iterator[Line]:
    figures = report.latency.get(mode, {})
    if "query_seconds" in figures:
        rate = f"{figures.get('queries_per_second', 0.0):.1f} queries a second"
        at_once = f"concurrency {report.metadata['concurrency']}" if "concurrency" in report.metadata else ""
        yield Line(fit(f"  queried in {listed([seconds(figures['query_seconds']), rate, at_once])}", width))
    if count := int(figures.get("count", 0)):
        times = listed([f"{name} {_time(figures, f'{name}_ms')}" for name in ("p50", "p95", "p99", "mean")])
        shares = int(figures.get("amortised", 0))
        note = f" ({'all' if shares == count else shares} amortised)" if shares else ""
        yield Line(fit(f"  latency in ms: {times}{note}", width))
    for name, words in (("shallow", "fewer documents than the deepest metric looks at"), ("empty_results", "no hit")):
        if cases := int(figures.get(name, 0)):
            yield Line(fit(f"  {plural(cases, 'case')} with {words}", width), "bad")


def _time(figures: Mapping[str, float], name: str) -> str:
    return milliseconds(figures.get(name)) if name in figures or not figures.get("errored") else "errored"


def _notable(report: EvaluationReport, mode: str, width: int, verbosity: int) -> Iterator[Line]:
    names = labels(report.metrics)
    for metric in headline_metrics(report.metrics, 1):
        ends = (("lowest", lowest_cases), ("highest", highest_cases)) if verbosity > 0 else (("lowest", lowest_cases),)
        for word, select in ends:
            found = [(f"{value:.4f}", result) for value, result in select(report, mode, metric, _SHOWN_CASES)]
            yield from _cases(f"  {word} {names[metric]}", found, width, verbosity)
    slowest = [(milliseconds(value), result) for value, result in slowest_cases(report, mode, _SHOWN_CASES)]
    yield from _cases("  slowest, in ms", slowest, width, 0)


def _cases(title: str, found: Sequence[tuple[str, EvaluationCaseResult]], width: int, verbosity: int) -> Iterator[Line]:
    if found:
        yield Line(fit(title, width), "dim")
    size = max((len(value) for value, _ in found), default=0)
    for value, result in found:
        case = f"case {result.case_id}: {result.query}" if result.query else f"case {result.case_id}"
        yield Line(fit(f"    {value:>{size}}  {one_line(case)}", width), "dim")
        for more in expected_and_found(result) if verbosity > 0 else ():
            yield Line(fit(f"    {'':>{size}}  {more}", width), "dim")
