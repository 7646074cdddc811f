"""The parts of the page that need no script: headline numbers, gates, charts, comparison, slices, errors, origin."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Sequence

from pytest_heta.records import EvaluationReport
from pytest_heta.reports.baseline import CaseKey
from pytest_heta.reports.findings import error_groups
from pytest_heta.reports.metric_names import family_and_depth, headline_metrics
from pytest_heta.reports.mode_summary import labels
from pytest_heta.reports.slices import SLICES, UNLABELLED, label_values
from pytest_heta.reports.text import ABSENT, benchmark_title, listed, mean, milliseconds, plural, recipe_name, seconds
from pytest_heta.reports.writers.charts import curves, histogram, legend, score_edges, time_edges
from pytest_heta.reports.writers.elements import Html, element, join, section, table
from pytest_heta.reports.writers.entrants import Entrant, all_metrics
from pytest_heta.reports.writers.pairs import pair_rows


def header(report: EvaluationReport, found: Sequence[Entrant]) -> Html:
    """Return what was evaluated, the verdict, and the headline numbers of the first result."""
    failed = sum(not gate.passed for gate in report.gates)
    unfinished = sum(case.status != "finished" for case in report.cases)
    words = [
        f"{len(report.gates) - failed} of {plural(len(report.gates), 'gate')} passed" if report.gates else "no gates",
        *([f"{plural(unfinished, 'case')} errored or not run"] if unfinished else []),
    ]
    verdict = element("p", "; ".join(words), class_="verdict bad" if failed or unfinished else "verdict good")
    cases = len({(case.unit_id, case.case_id) for case in report.cases})
    facts = listed([plural(cases, "case"), plural(len(report.query_modes), "mode"), report.created_at])
    names = labels(report.metrics)
    tiles = [_tile(names[metric], mean(found[0].mean(metric))) for metric in headline_metrics(report.metrics, most=5)]
    tiles.append(_tile("latency p95, ms", milliseconds(_p95(found[0]))))
    return element(
        "header",
        element("h1", benchmark_title(report), element("small", f" with {recipe_name(report)}")),
        element("p", facts, class_="dim"),
        verdict,
        element("div", *tiles, class_="tiles"),
        element("p", found[0].label, class_="dim") if len(found) > 1 else Html(),
    )


def _tile(name: str, value: str) -> Html:
    return element("div", element("b", value), element("span", name), class_="tile")


def _p95(entrant: Entrant) -> float | None:
    return entrant.report.latency.get(entrant.mode, {}).get("p95_ms")


def gates_section(report: EvaluationReport) -> Html:
    """Return the verdict on each threshold."""
    if not report.gates:
        return Html()
    body = (
        (
            element("span", "pass" if gate.passed else "FAIL", class_="good" if gate.passed else "bad"),
            gate.name,
            ABSENT if gate.value is None else f"{gate.value:.4f}",
            gate.reason,
        )
        for gate in report.gates
    )
    return section("Gates", table(["", "gate", "value", "reason"], body, texts=4), id_="gates")


def means_section(found: Sequence[Entrant]) -> Html:
    """Return every mean of every result, what it is over, and the times of the queries."""
    tables = element("div", *map(_means, found), class_="grid-of-tables")
    return section("Means", tables, _denominators(found), id_="means")


def _means(entrant: Entrant) -> Html:
    """One row a metric family and one column a depth k; a metric without a k stands in the first column."""
    values: dict[str, dict[int, str]] = defaultdict(dict)
    for metric, label in labels(entrant.report.metrics).items():
        family, k = family_and_depth(label)
        values[family][k] = mean(entrant.mean(metric))
    depths = sorted({k for row in values.values() for k in row})
    body = [(family, *(row.get(k, "") for k in depths)) for family, row in values.items()]
    times = entrant.report.latency.get(entrant.mode, {})
    shown = ", ".join(f"{name} {milliseconds(times.get(f'{name}_ms'))}" for name in ("p50", "p95", "p99"))
    columns = ["", *(f"@{k}" if k else "mean" for k in depths)]
    return element("div", table(columns, body, caption=entrant.label), element("p", f"latency in ms: {shown}"))


def _denominators(found: Sequence[Entrant]) -> Html:
    groups: dict[tuple[str, str], list[str]] = defaultdict(list)
    for entrant in found:
        for metric, label in labels(entrant.report.metrics).items():
            counts = entrant.report.counts.get(f"{entrant.mode}.{metric}")
            if counts is not None:
                text = (
                    f"{counts.planned} planned: {counts.scored} scored, {counts.unscored} unscored, "
                    f"{counts.errored} errored (as 0), {counts.not_run} not run"
                )
                groups[entrant.label, text].append(label)
    every = {entrant.label: len(entrant.report.metrics) for entrant in found}
    items = (
        element("li", f"{label}: {text}" + ("" if len(members) == every[label] else f" ({', '.join(members)})"))
        for (label, text), members in groups.items()
    )
    return element("ul", *items, class_="dim")


def comparison_section(found: Sequence[Entrant]) -> Html:
    """Return how the first result stands to each of the others: differences, wins, losses, significance."""
    if len(found) < 2:
        return Html()
    metrics = headline_metrics(all_metrics(found))
    names = labels(all_metrics(found))
    columns = ["metric", "this", "other", "difference", "95 % interval", "p", "wins", "ties", "losses"]
    tables = (
        table(columns, pair_rows(other, found[0], metrics, names), caption=f"{found[0].label} against {other.label}")
        for other in found[1:]
    )
    note = "Differences are this minus the other, over the cases that both have; p: paired permutation test, two-sided."
    return section("Comparison", *tables, element("p", note, class_="dim"), id_="comparison")


def charts_section(found: Sequence[Entrant]) -> Html:
    """Return curves over k, distributions of scores and of query times."""
    figures = [*_curves(found), *_distributions(found), *_latencies(found)]
    if not figures:
        return Html()
    names = legend([entrant.label for entrant in found])
    return section("Charts", names, element("div", *figures, class_="charts"), id_="charts")


def _curves(found: Sequence[Entrant]) -> Iterator[Html]:
    families: dict[str, dict[int, str]] = defaultdict(dict)
    for metric, label in labels(all_metrics(found)).items():
        family, depth = family_and_depth(label)
        families[family][depth] = metric
    # Recall first: how much there is to find at each depth is what all else rests on.
    for family in sorted(families, key=lambda name: not name.startswith("recall")):
        depths = sorted(families[family])
        if len(depths) > 2 and depths[0] > 0:
            series = [(one.label, [one.mean(families[family][k]) for k in depths]) for one in found]
            yield curves(f"{family} at k", depths, series)


def _distributions(found: Sequence[Entrant]) -> Iterator[Html]:
    metrics = all_metrics(found)
    names = labels(metrics)
    for metric in headline_metrics(metrics):
        series = [(entrant.label, list(entrant.values(metric).values())) for entrant in found]
        values = [value for _, members in series for value in members]
        if values:
            yield histogram(f"cases by {names[metric]}", series, score_edges(values), lambda edge: f"{edge:.3g}")


def _latencies(found: Sequence[Entrant]) -> Iterator[Html]:
    series = [
        (entrant.label, [one.latency_ms for one in entrant.results.values() if one.latency_ms is not None])
        for entrant in found
    ]
    times = [time for _, members in series for time in members]
    if times:
        yield histogram("cases by latency, ms", series, time_edges(times), milliseconds)


def slices_section(found: Sequence[Entrant], sliced: Sequence[str]) -> Html:
    """Return the means of the cases that share the value of a label."""
    metrics = headline_metrics(all_metrics(found), most=3)
    names = labels(all_metrics(found))
    columns = [f"{names[metric]}, {entrant.label}" for metric in metrics for entrant in found]
    values = [entrant.values(metric) for metric in metrics for entrant in found]
    tables = (table([label, "cases", *columns], _slices(found, label, values), caption=label) for label in sliced)
    return section("Slices", *tables, id_="slices")


def _slices(found: Sequence[Entrant], label: str, values: Sequence[dict[CaseKey, float]]) -> Iterator[tuple[str, ...]]:
    members: dict[str, set[CaseKey]] = defaultdict(set)
    for entrant in found:
        for key, result in entrant.results.items():
            for value in label_values(result.labels, label):
                members[value].add(key)
    for value in sorted(members):
        cells = (_mean_over(members[value], each) for each in values)
        yield (value if value != UNLABELLED else "(none)", str(len(members[value])), *cells)


def _mean_over(keys: set[CaseKey], values: dict[CaseKey, float]) -> str:
    found = [value for key, value in values.items() if key in keys]
    return mean(sum(found) / len(found)) if found else ABSENT


def errors_section(report: EvaluationReport) -> Html:
    """Return what failed, the same failures together."""
    body = [(str(group.count), group.message, group.example) for group in error_groups(report)]
    return section("Errors", table(["cases", "message", "first"], body, texts=3), id_="errors") if body else Html()


def origin_section(report: EvaluationReport) -> Html:
    """Return everything else that the report says of its run."""
    bases = report.knowledge_bases
    built = seconds(sum(base.build_seconds or 0.0 for base in bases if not base.cached))
    cached = sum(base.cached for base in bases)
    facts = {
        "report": report.report_id,
        "knowledge bases": f"{len(bases)}, {cached} from the cache, the others built in {built}",
        "durations": report.durations,
        "selection": report.selection,
        "recipe": report.recipe,
        "benchmark": report.benchmark.model_dump(exclude_defaults=True),
        "versions": report.versions,
        **{name: value for name, value in report.metadata.items() if name != SLICES},
    }
    rows = join(join([element("dt", name), element("dd", _shown(value))]) for name, value in facts.items() if value)
    return element("details", element("summary", "Where this comes from"), element("dl", rows), id_="origin")


def _shown(value: object) -> Html:
    if isinstance(value, str | int | float):
        return element("span", str(value))
    return element("pre", json.dumps(value, ensure_ascii=False, indent=1, default=str))
