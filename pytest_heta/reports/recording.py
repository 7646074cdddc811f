"""What a run recorded of its responses, from its report or, where it was interrupted, from its journal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_heta.engine.journal import JournalHeader, read_journal
from pytest_heta.engine.recipes import LoadedRecipe
from pytest_heta.engine.resume import ResultKey
from pytest_heta.errors import UsageError
from pytest_heta.records import EvaluationCaseResult, EvaluationReport
from pytest_heta.reports.history import REPORT
from pytest_heta.reports.json_file import read_report


@dataclass(frozen=True)
class RecordedRecipe:
    """What stands for the recipe of a recording: its name, modes and manifest. It builds nothing."""

    name: str
    available_queries: tuple[str, ...]
    manifest: Mapping[str, Any]


@dataclass(frozen=True)
class Recording:
    """The results of a run. ``benchmark`` is ``name@split``; ``depth`` is how many results each query asked for."""

    path: Path
    benchmark: str
    recipe: LoadedRecipe
    modes: tuple[str, ...]
    depth: int
    results: Mapping[ResultKey, EvaluationCaseResult]

    @property
    def has_texts(self) -> bool:
        """Whether the texts of all hits are recorded."""
        return all(hit.text is not None for result in self.results.values() for hit in result.hits)


def read_recording(path: Path) -> Recording:
    """Read a report in JSON, or the folder of one evaluation of a run, which holds its report, its journal or both.

    Raises:
        UsageError: the folder holds neither.
        ReportError: something in it cannot be read.
    """
    if not path.is_dir():
        return _of_report(path, read_report(path))
    if (path / REPORT).is_file():
        return _of_report(path, read_report(path / REPORT))
    header, results = read_journal(path)
    if header is None:
        raise UsageError(f"{path}: holds neither a {REPORT} nor a journal: name the folder of one evaluation of a run")
    return _of_journal(path, header, results)


def _of_report(path: Path, report: EvaluationReport) -> Recording:
    name = str(report.recipe.get("name") or report.knowledge_base_name)
    return Recording(
        path=path,
        benchmark=f"{report.benchmark.name}@{report.benchmark.split}",
        recipe=LoadedRecipe(RecordedRecipe(name, report.query_modes, report.recipe), name),
        modes=report.query_modes,
        depth=int(report.metadata.get("top_k") or _deepest(report.cases)),
        results=_by_key(report.cases),
    )


def _of_journal(path: Path, header: JournalHeader, results: Iterable[EvaluationCaseResult]) -> Recording:
    found = _by_key(results)
    return Recording(
        path=path,
        benchmark=header.benchmark,
        recipe=LoadedRecipe(RecordedRecipe(header.recipe, header.modes, {"name": header.recipe}), header.recipe),
        modes=header.modes,
        depth=header.depth or _deepest(found.values()),
        results=found,
    )


def _by_key(results: Iterable[EvaluationCaseResult]) -> dict[ResultKey, EvaluationCaseResult]:
    return {(result.unit_id, result.case_id, result.mode): result for result in results}


def _deepest(results: Iterable[EvaluationCaseResult]) -> int:
    return max((len(result.hits) for result in results), default=0)
