"""The report as Markdown, for pull requests and the summary page of a GitHub workflow."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path

from pytest_heta.errors import ReportError
from pytest_heta.records import EvaluationCaseResult, EvaluationReport
from pytest_heta.reports.findings import error_groups, lowest_cases
from pytest_heta.reports.metric_names import headline_metrics
from pytest_heta.reports.mode_summary import labels
from pytest_heta.reports.text import ABSENT, benchmark_title, mean, milliseconds, one_line, plural, recipe_name
from pytest_heta.reports.whole_file import write_whole
from pytest_heta.reports.writers.entrants import Entrant, all_metrics, entrants

STEP_SUMMARY_LIMIT = 1024 * 1024
"""What GitHub takes as the summary of one step, in bytes; it shows nothing of a longer one."""

_SHOWN = 5
_LONGEST = 200
# No more than what means something, as people read the source too: _ and @ inside a word are plain.
_MARKUP = re.compile(r"[\\`*\[\]|~$]|(?<!\w)[@_]|_(?!\w)|#(?=\d)")


def escaped(text: str) -> str:
    """Return foreign text as one line that Markdown and HTML show as it is: no markup, no mention, no table cell."""
    plain = one_line(text)
    short = plain if len(plain) <= _LONGEST else plain[: _LONGEST - 3] + "..."
    return _MARKUP.sub(lambda match: f"&#{ord(match[0])};", html.escape(short, quote=False))


def write_markdown(path: Path, report: EvaluationReport, others: Sequence[EvaluationReport]) -> tuple[Path, ...]:
    """Write the report as Markdown.

    Raises:
        UsageError: The other reports are on another benchmark.
        ReportError: The file cannot be written.
    """
    write_whole(path, (markdown(report, others).encode(),))
    return (path,)


def append_step_summary(path: Path, text: str, pointer: str = "the report file of this run") -> None:
    """Append Markdown to the file that ``GITHUB_STEP_SUMMARY`` names, cut at a line so that it stays below 1 MiB.

    Where it is cut, the last line says so and names ``pointer``, where the rest is.

    Raises:
        ReportError: The file cannot be written.
    """
    note = f"\n\n*Cut here: a summary may hold 1 MiB. The rest is in {escaped(pointer)}.*\n"
    data = text.encode()
    try:
        room = STEP_SUMMARY_LIMIT - 1 - (path.stat().st_size if path.exists() else 0)
        if len(data) > room:
            kept = data[: max(room - len(note.encode()), 0)].rpartition(b"\n")[0]
            data = (kept + note.encode())[: max(room, 0)]
        with path.open("ab") as file:
            file.write(data)
    except OSError as error:
        raise ReportError(f"{path}: the step summary cannot be written: {error.strerror or error}") from error


def markdown(report: EvaluationReport, others: Sequence[EvaluationReport] = ()) -> str:
    """Return the report as Markdown: verdict, gates, means beside those of the others, failures, lowest cases.

    Raises:
        UsageError: The other reports are on another benchmark.
    """
    found = entrants(report, others)
    sections = (_head(report), _gates(report), _means(found), _denominators(report), _errors(report), _lowest(report))
    return "\n".join(chain.from_iterable([*section, ""] for section in map(list, sections) if section))


def _head(report: EvaluationReport) -> Iterator[str]:
    failed = sum(not gate.passed for gate in report.gates)
    broken = sum(case.status != "finished" for case in report.cases)
    mark = "❌" if failed or broken else "✅"
    yield f"### {mark} {escaped(benchmark_title(report))} with {escaped(recipe_name(report))}"
    yield ""
    cases = len({(case.unit_id, case.case_id) for case in report.cases})
    parts = [plural(cases, "case"), plural(len(report.query_modes), "mode")]
    if report.gates:
        parts.append(f"{len(report.gates) - failed} of {plural(len(report.gates), 'gate')} passed")
    yield f"{', '.join(parts)}; report `{re.sub(r'[^A-Za-z0-9._-]', '_', report.report_id)}` of {report.created_at}"


def _gates(report: EvaluationReport) -> Iterator[str]:
    if report.gates:
        yield from _table_head(["", "gate", "reason"], numbers=0)
    for gate in report.gates:
        yield f"| {'✅' if gate.passed else '❌'} | {escaped(gate.name)} | {escaped(gate.reason)} |"


def _means(found: Sequence[Entrant]) -> Iterator[str]:
    first, rest = found[0], found[1:]
    columns = [escaped(first.label)]
    for entrant in rest:
        columns += [escaped(entrant.label), "difference"]
    yield from _table_head(["", *columns], numbers=len(columns))
    for metric, label in labels(all_metrics(found)).items():
        cells = [mean(first.mean(metric))]
        for entrant in rest:
            cells += [mean(entrant.mean(metric)), _difference(entrant.mean(metric), first.mean(metric))]
        yield f"| {escaped(label)} | {' | '.join(cells)} |"
    cells = [milliseconds(_p95(first))]
    for entrant in rest:
        cells += [milliseconds(_p95(entrant)), ""]
    yield f"| latency p95, ms | {' | '.join(cells)} |"
    if rest:
        yield ""
        yield "A difference is the column to its left minus the first one."


def _table_head(columns: Sequence[str], numbers: int) -> Iterator[str]:
    yield f"| {' | '.join(columns)} |"
    yield "|" + " --- |" * (len(columns) - numbers) + " ---: |" * numbers


def _difference(value: float | None, other: float | None) -> str:
    return ABSENT if value is None or other is None else f"{value - other:+.4f}"


def _p95(entrant: Entrant) -> float | None:
    return entrant.report.latency.get(entrant.mode, {}).get("p95_ms")


def _denominators(report: EvaluationReport) -> Iterator[str]:
    """What the means are over, where it is not simply every case."""
    whole = all(counts.scored == counts.planned for counts in report.counts.values())
    if whole:
        return
    yield from _table_head(["", "planned", "scored", "unscored", "errored", "not run"], numbers=5)
    for key, counts in report.counts.items():
        if counts.scored != counts.planned:
            yield f"| {escaped(key)} | {' | '.join(map(str, counts.model_dump().values()))} |"


def _errors(report: EvaluationReport) -> Iterator[str]:
    groups = error_groups(report)
    if groups:
        yield f"**{plural(sum(group.count for group in groups), 'error')}**"
        yield ""
    for group in groups[:_SHOWN]:
        yield f"- {group.count} × {escaped(group.message)} (first: {escaped(group.example)})"
    if len(groups) > _SHOWN:
        yield f"- and {plural(len(groups) - _SHOWN, 'other kind')}"


def _lowest(report: EvaluationReport) -> Iterator[str]:
    metric = next(iter(headline_metrics(report.metrics)), None)
    lines = [
        f"| {escaped(mode)} | {value:.4f} | {escaped(case.case_id)} | {escaped(case.query)} | {_expected(case)} |"
        for mode in (report.query_modes if metric else ())
        for value, case in lowest_cases(report, mode, str(metric), _SHOWN)
    ]
    if lines:
        yield f"<details><summary>Lowest {escaped(labels(report.metrics)[str(metric)])}</summary>"
        yield ""
        yield from _table_head(["mode", "score", "case", "query", "expected"], numbers=0)
        yield from lines
        yield ""
        yield "</details>"


def _expected(case: EvaluationCaseResult) -> str:
    ids = [gold.original_id or gold.document_id or "a text" for gold in case.gold]
    return ", ".join(map(escaped, ids[:_SHOWN])) + (f" and {len(ids) - _SHOWN} more" if len(ids) > _SHOWN else "")
