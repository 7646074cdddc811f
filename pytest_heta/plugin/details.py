"""What a failure shows beside its reason: the case, its gold labels, its scores, and what came."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from pytest_heta.engine.scoring import finished_result
from pytest_heta.records import BenchmarkCase, EvaluationCaseResult, EvaluationScore
from pytest_heta.reports.case_lines import case_lines
from pytest_heta.reports.text import one_line

if TYPE_CHECKING:
    from pytest_heta.engine.asking import Outcome
    from pytest_heta.plugin.running import RunningCase

Section = tuple[str, str]
"""The title and the text of a section of a test report."""


def section(running: RunningCase, result: EvaluationCaseResult) -> Section:
    """Return the section about a case that was answered."""
    lines = case_lines(result, running.anchored.case_thresholds)
    return one_line(f"case {result.case_id} ({result.mode})"), "\n".join(line.text for line in lines)


def section_with_texts(
    running: RunningCase, case: BenchmarkCase, outcome: Outcome, scores: Iterable[EvaluationScore]
) -> Section:
    """Return the section about a case from what is there only while its test runs."""
    unit_id = running.planned.unit.unit.unit_id
    return section(running, finished_result(unit_id, case, outcome, tuple(scores), None, keep_texts=True))
