"""The run store: what earlier runs left behind, ``runs/{run id}/{evaluation}/report.json``."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from pytest_heta.errors import ReportError, UsageError
from pytest_heta.records import SCHEMA_VERSION, EvaluationReport
from pytest_heta.reports.json_file import read_report

REPORT = "report.json"

_CASES = b' "cases": [\n'


@dataclass(frozen=True)
class StoredEvaluation:
    """One evaluation of a run. ``head`` is its report without the cases; None where it has none that can be read."""

    run_id: str
    folder: Path
    head: EvaluationReport | None
    problem: str = ""

    @property
    def name(self) -> str:
        """What names it: ``{run id}/{evaluation}``."""
        return f"{self.run_id}/{self.folder.name}"


class RunStore:
    """The runs below one folder. A run id may be shortened to any beginning that only one run has."""

    def __init__(self, folder: Path) -> None:
        """Take the folder ``runs``; it need not exist."""
        self.folder = folder

    def run_ids(self) -> list[str]:
        """Return the ids of all runs, the oldest first."""
        if not self.folder.is_dir():
            return []
        return sorted(entry.name for entry in self.folder.iterdir() if entry.is_dir())

    def evaluations(self, run_id: str) -> list[StoredEvaluation]:
        """Return the evaluations of a run by name; those without a report are among them."""
        folders = sorted(entry for entry in (self.folder / run_id).iterdir() if entry.is_dir())
        return [_stored(run_id, folder) for folder in folders]

    def find(self, name: str) -> list[StoredEvaluation]:
        """Return the evaluations that ``RUN`` or ``RUN/EVALUATION`` names; both may be shortened.

        Raises:
            UsageError: None has this name, or several runs begin with it.
        """
        run, _, evaluation = name.partition("/")
        run_id = self._run_id(run)
        found = [one for one in self.evaluations(run_id) if one.folder.name.startswith(evaluation)]
        exact = [one for one in found if one.folder.name == evaluation]
        if not found:
            raise UsageError(f"run {run_id} in {self.folder} has no evaluation whose name begins with {evaluation!r}")
        return exact or found

    def report(self, name: str) -> EvaluationReport:
        """Return the whole report of the one evaluation that ``name`` (as in ``find``, or a file's path) names.

        Raises:
            UsageError: It names none or several.
            ReportError: The report cannot be read.
        """
        if name.endswith(".json"):
            return read_report(Path(name))
        found = self.find(name)
        if len(found) > 1:
            raise UsageError(f"{name} holds several evaluations, name one: {', '.join(one.name for one in found)}")
        return read_report(found[0].folder / REPORT)

    def remove(self, run: str) -> str:
        """Remove a run with all that it holds, and return its id.

        Raises:
            UsageError: No run has this id, or several begin with it.
            OSError: Something of it cannot be removed.
        """
        run_id = self._run_id(run)
        shutil.rmtree(self.folder / run_id)
        return run_id

    def _run_id(self, prefix: str) -> str:
        known = self.run_ids()
        found = [prefix] if prefix in known else [run_id for run_id in known if prefix and run_id.startswith(prefix)]
        if not found:
            raise UsageError(f"no run in {self.folder} has an id that begins with {prefix!r}")
        if len(found) > 1:
            raise UsageError(f"several runs begin with {prefix!r}: {', '.join(found)}")
        return found[0]


def _stored(run_id: str, folder: Path) -> StoredEvaluation:
    if not (folder / REPORT).exists():
        return StoredEvaluation(run_id, folder, None, "unfinished")
    try:
        return StoredEvaluation(run_id, folder, read_head(folder / REPORT))
    except ReportError as error:
        return StoredEvaluation(run_id, folder, None, str(error))


def read_head(path: Path) -> EvaluationReport:
    """Return the report in a file, without its cases; of a file that we wrote only the beginning is read.

    Raises:
        ReportError: The file cannot be read, or is no report of this schema version.
    """
    head = bytearray()
    try:
        with path.open("rb") as file:
            for line in file:
                head += line
                if line == _CASES:
                    report = EvaluationReport.model_validate_json(bytes(head) + b"]}")
                    if report.schema_version == SCHEMA_VERSION:
                        return report
                    break
    except (OSError, ValidationError):
        pass  # the whole file's reader says what is wrong, or reads what others have formatted
    return read_report(path).model_copy(update={"cases": ()})
