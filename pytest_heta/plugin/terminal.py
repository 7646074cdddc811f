"""The summary at the end of a run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import pytest

from pytest_heta.records import EvaluationReport
from pytest_heta.reports.against_baseline import BaselineComparison
from pytest_heta.reports.baseline_lines import baseline_lines
from pytest_heta.reports.case_lines import ranking_lines
from pytest_heta.reports.compare import comparison_lines
from pytest_heta.reports.lines import Line
from pytest_heta.reports.summary import summary_lines
from pytest_heta.reports.text import one_line


@dataclass(frozen=True)
class Written:
    """A report, the files that it was written to, and what came of holding it against a baseline."""

    report: EvaluationReport
    files: Sequence[str]
    comparison: BaselineComparison | None


_MARKUP: dict[str, dict[str, bool]] = {
    "plain": {},
    "bold": {"bold": True},
    "good": {"green": True},
    "bad": {"red": True},
    "dim": {"light": True},
}


def print_summary(terminal: pytest.TerminalReporter, written: Sequence[Written]) -> None:
    """Print a section for each evaluation, and one for each benchmark on which several results stand to compare."""
    width = terminal.config.get_terminal_writer().fullwidth
    for one in written:
        terminal.section(f"heta: {one.report.benchmark.name} with {one.report.recipe['name']}")
        print_lines(terminal, summary_lines(one.report, width, one.files, terminal.config.get_verbosity()))
        if one.comparison is not None:
            print_lines(terminal, [Line(), *baseline_lines(one.comparison, width)])
    for name, reports in _by_benchmark(one.report for one in written).items():
        if sum(len(report.query_modes) for report in reports) > 1:
            terminal.section(f"heta: {name} compared")
            print_lines(terminal, comparison_lines(reports, width))


def print_rankings(
    terminal: pytest.TerminalReporter, reports: Sequence[EvaluationReport], shown: Iterable[str]
) -> None:
    """Print all that came for the cases of these ids, and a line for an id that no case has."""
    width = terminal.config.get_terminal_writer().fullwidth
    for case_id in shown:
        found = [(report, result) for report in reports for result in report.cases if result.case_id == case_id]
        if not found:
            terminal.write_line(f"heta: --heta-show: no case of this run has the id {case_id!r}", red=True)
        for report, result in found:
            terminal.section(one_line(f"heta: case {case_id} of {report.benchmark.name} with {report.recipe['name']}"))
            print_lines(terminal, ranking_lines(result, width))


def print_lines(terminal: pytest.TerminalReporter, lines: Iterable[Line]) -> None:
    """Print styled lines."""
    for line in lines:
        terminal.write_line(line.text, **_MARKUP[line.style])


def _by_benchmark(reports: Iterable[EvaluationReport]) -> dict[str, list[EvaluationReport]]:
    groups: dict[str, list[EvaluationReport]] = {}
    for report in reports:
        groups.setdefault(benchmark_key(report), []).append(report)
    return groups


def benchmark_key(report: EvaluationReport) -> str:
    """Return what reports on the same benchmark have in common."""
    return f"{report.benchmark.name}@{report.benchmark.split}"
