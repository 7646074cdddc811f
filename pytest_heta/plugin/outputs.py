"""The files of a run: each report in the run folder, what ``--heta-report`` asks for, and what CI shows."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from pytest_heta.errors import HetaError
from pytest_heta.plugin.options import option_value
from pytest_heta.records import EvaluationReport
from pytest_heta.reports.writers import write_report_file, writer_of
from pytest_heta.reports.writers.annotations import gate_annotations
from pytest_heta.reports.writers.markdown import append_step_summary, markdown


class Outputs:
    """Writes reports. What cannot be written is a problem to tell at the end, not a reason to lose the rest."""

    def __init__(self, config: pytest.Config) -> None:
        """Check that every file that was asked for has a format.

        Raises:
            UsageError: for a suffix that names none.

        """
        self._config = config
        self._asked = [Path(config.invocation_params.dir, path) for path in option_value(config, "--heta-report")]
        for path in self._asked:
            writer_of(path)
        self.problems: list[str] = []

    def write(
        self, report: EvaluationReport, others: Sequence[EvaluationReport], run_folder: Path, *, several: bool
    ) -> list[str]:
        """Write a report wherever it belongs and return the files; ``others`` are beside it in those that compare.

        With ``several`` evaluations in the run, each file that was asked for becomes one for each.
        """
        asked = self._asked
        if several:
            asked = [for_evaluation(path, report.knowledge_base_name) for path in asked]
        files: list[str] = []
        for path in (run_folder / "report.json", *asked):
            try:
                files += map(self._shown, write_report_file(path, report, others=others))
            except HetaError as error:
                self.problems.append(f"heta: {error}")
        self._append_summary(report, others, files)
        return files

    def _shown(self, path: Path) -> str:
        """Return a path as one would write it here."""
        here = self._config.invocation_params.dir
        return str(path.relative_to(here) if path.is_relative_to(here) else path)

    def annotations(self, reports: Sequence[EvaluationReport]) -> list[str]:
        """Return a line for each failed gate that GitHub shows beside the change, where that was asked for."""
        return gate_annotations(reports) if option_value(self._config, "--heta-github") else []

    def _append_summary(
        self, report: EvaluationReport, others: Sequence[EvaluationReport], files: Sequence[str]
    ) -> None:
        summary = os.environ.get("GITHUB_STEP_SUMMARY")
        if not summary:
            return
        try:
            append_step_summary(Path(summary), markdown(report, others), *files[:1])
        except HetaError as error:
            self.problems.append(f"heta: {error}")


def for_evaluation(path: Path, name: str) -> Path:
    """Return the file of one evaluation where a session has several: ``out.json`` becomes ``out-NAME.json``."""
    return path.with_name(f"{path.stem}-{name}{path.suffix}")
