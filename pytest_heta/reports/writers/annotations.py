"""Failed gates as annotations of a GitHub workflow.

Format: https://docs.github.com/actions/reference/workflow-commands-for-github-actions
"""

from __future__ import annotations

from collections.abc import Iterable

from pytest_heta.records import EvaluationReport
from pytest_heta.reports.text import benchmark_title, one_line, plural, recipe_name

MOST = 10
"""How many annotations of one kind GitHub shows for a step."""


def gate_annotations(reports: Iterable[EvaluationReport]) -> list[str]:
    """Return a workflow command for each failed gate, to be printed one a line; what is beyond 10 is counted in one."""
    failed = [
        _command(f"{benchmark_title(report)}, {recipe_name(report)}: {gate.name}", gate.reason)
        for report in reports
        for gate in report.gates
        if not gate.passed
    ]
    if len(failed) <= MOST:
        return failed
    rest = len(failed) - MOST + 1
    return [*failed[: MOST - 1], _command("heta", f"{plural(rest, 'further gate')} failed, see the report")]


def _command(title: str, message: str) -> str:
    return f"::error title={_escaped(title, ':,')}::{_escaped(message)}"


def _escaped(text: str, more: str = "") -> str:
    # one_line takes the line breaks out, so that no text can begin a command of its own.
    escaped = one_line(text).replace("%", "%25")
    for char in more:
        escaped = escaped.replace(char, f"%{ord(char):02X}")
    return escaped
