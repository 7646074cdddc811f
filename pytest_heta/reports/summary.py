"""The end of a run in a terminal: what was measured, how well it went, what to look at, where the rest is."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from itertools import chain

from pytest_heta.engine.shard import SHARD
from pytest_heta.records import EvaluationReport
from pytest_heta.reports.findings import error_groups
from pytest_heta.reports.lines import Line, wrapped
from pytest_heta.reports.mode_summary import mode_lines
from pytest_heta.reports.strangers import strangers
from pytest_heta.reports.text import benchmark_title, fit, listed, one_line, plural, recipe_name, seconds

_SHOWN_ERRORS = 5


def summary_lines(
    report: EvaluationReport, width: int = 80, report_paths: Iterable[object] = (), verbosity: int = 0
) -> list[Line]:
    """Return the summary of one report, no line wider than ``width`` but those that name a file.

    With a ``verbosity`` from 1 there is more about the best and the worst cases.
    """
    sections = (
        _header(report, width),
        *(mode_lines(report, mode, width, verbosity) for mode in report.query_modes),
        _gates(report, width),
        _errors(report, width),
        (Line(f"report: {path}", "bold") for path in report_paths),
    )
    spaced = ([Line(), *section] for section in map(list, sections) if section)
    return list(chain.from_iterable(spaced))[1:]


def _header(report: EvaluationReport, width: int) -> Iterator[Line]:
    yield Line(fit(one_line(f"{benchmark_title(report)}, recipe {recipe_name(report)}"), width), "bold")
    cases = len({(result.unit_id, result.case_id) for result in report.cases})
    units = len({result.unit_id for result in report.cases})
    yield from wrapped(
        listed([plural(cases, "case"), plural(units, "run unit"), plural(len(report.query_modes), "mode")]), width
    )
    if bases := _knowledge_bases(report):
        yield from wrapped(bases, width)
    if report.durations:
        times = (f"{name.removesuffix('_seconds')} {seconds(value)}" for name, value in report.durations.items())
        yield from wrapped(f"time: {listed(list(times))}", width)
    for notice in report.metadata.get("notices", ()):
        yield from wrapped(f"note: {one_line(str(notice))}", width)
    for found in filter(None, (strangers(report, mode) for mode in report.query_modes)):
        yield from wrapped(f"note: {one_line(found)}", width, "bad")


def _knowledge_bases(report: EvaluationReport) -> str:
    built = [base for base in report.knowledge_bases if not base.cached and base.error is None]
    cached = sum(base.cached and base.error is None for base in report.knowledge_bases)
    failures = sum(base.error is not None for base in report.knowledge_bases)
    took = math.fsum(base.build_seconds or 0.0 for base in built)
    return listed(
        [
            f"{plural(len(built), 'knowledge base')} built in {seconds(took)}" if built else "",
            f"{plural(cached, 'knowledge base')} from the cache" if cached else "",
            f"{plural(failures, 'knowledge base')} failed to build" if failures else "",
        ]
    )


def _gates(report: EvaluationReport, width: int) -> Iterator[Line]:
    if not report.gates:
        return
    if SHARD in report.selection:
        yield Line("gates: judged when the shards are merged; so far", "bold")
        for gate in report.gates:
            yield from wrapped(one_line(gate.reason), width, hang=" " * 8)
        return
    yield Line(f"gates: {sum(gate.passed for gate in report.gates)} of {len(report.gates)} passed", "bold")
    for gate in report.gates:
        text = f"{'pass' if gate.passed else 'FAIL'}  {one_line(gate.reason)}"
        yield from wrapped(text, width, "good" if gate.passed else "bad", hang=" " * 8)


def _errors(report: EvaluationReport, width: int) -> Iterator[Line]:
    groups = error_groups(report)
    if not groups:
        return
    yield Line(f"errors: {sum(group.count for group in groups)}", "bold")
    for group in groups[:_SHOWN_ERRORS]:
        yield Line(fit(f"  {group.count} x {one_line(group.message)}", width), "bad")
        yield Line(fit(f"      {'first' if group.count > 1 else 'in'}: {one_line(group.example)}", width), "dim")
    if len(groups) > _SHOWN_ERRORS:
        rest = sum(group.count for group in groups[_SHOWN_ERRORS:])
        yield Line(f"  {rest} more of {plural(len(groups) - _SHOWN_ERRORS, 'other kind')}, see the report", "bad")
