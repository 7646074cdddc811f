"""A baseline: the values of every case of a run that was good enough, to hold later runs against.

The file is made to be kept in version control: sorted, one line a case, and only what the comparison needs.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, ValidationError

from pytest_heta.engine.selection import RULES
from pytest_heta.errors import ReportError
from pytest_heta.records import EvaluationCaseResult, EvaluationReport, FiniteFloat, Record
from pytest_heta.reports.json_file import first_fault, replace_file
from pytest_heta.reports.text import plural, recipe_name

CaseKey = tuple[str, str]
"""A run unit's id and the id of one of its cases."""

CaseRow = tuple[str | None, tuple[tuple[FiniteFloat | None, ...] | None, ...]]
"""What a baseline holds of one case: a digest of its query and gold labels, and for each mode the values.

The values are in the order of ``modes`` and ``metrics``. A value None: the case had none (unscored); values None: the
query failed. Such cases cannot be compared.
"""

DEFINITIONS = "evaluators"
"""Where a report's metadata holds the definition of each metric."""

DOCUMENTS_DIGEST = "documents_digest"
"""Where the manifest of a report's knowledge base holds the digest of its documents."""


class Baseline(Record):
    """The values of a run, and what a run must share to be comparable: benchmark, documents, metrics, cases.

    ``metrics`` maps a name to its definition. ``documents`` maps a run unit to the digest of its documents, where that
    is known. ``cases`` maps a run unit and a case to its row. ``means``, ``recipe`` and ``selection`` are there to be
    read by people.
    """

    schema_version: Literal[1] = 1
    benchmark: dict[Literal["name", "version", "split"], str]
    recipe: str
    selection: dict[str, Any] = Field(default_factory=dict)
    modes: tuple[str, ...]
    metrics: dict[str, str]
    means: dict[str, FiniteFloat]
    documents: dict[str, str]
    cases: dict[str, dict[str, CaseRow]]

    def values(self, mode: str) -> dict[CaseKey, Mapping[str, float | None]]:
        """Return the values of each case in one mode by metric; none where the query failed or there is no mode."""
        if mode not in self.modes:
            return {}
        position = self.modes.index(mode)
        return {
            (unit, case): dict(zip(self.metrics, row[1][position] or (), strict=False))
            for unit, cases in self.cases.items()
            for case, row in cases.items()
        }

    def digests(self) -> dict[CaseKey, str | None]:
        """Return the digest of each case."""
        return {(unit, case): row[0] for unit, cases in self.cases.items() for case, row in cases.items()}


def baseline_of(report: EvaluationReport) -> Baseline:
    """Return the baseline that later runs will be held against.

    Raises:
        ReportError: Something that was planned was not run, or left out by hand: a part of a run is no baseline.
    """
    not_run = sum(result.status == "not_run" for result in report.cases)
    left_out = report.selection.get("planned", 0) - report.selection.get("selected", 0)
    if not_run or left_out > 0 or not report.cases:
        raise ReportError(
            f"no baseline is made of this run: it has {plural(len(report.cases), 'result')}, "
            f"{plural(not_run, 'case')} not run and {max(left_out, 0)} left out; a baseline needs a complete run "
            f"(choose cases with --heta-sample, --heta-limit or --heta-case, which a baseline records)"
        )
    return snapshot(report)


def snapshot(report: EvaluationReport) -> Baseline:
    """Return the same as ``baseline_of``, of any run."""
    definitions = report.metadata.get(DEFINITIONS, {})
    metrics = {metric: str(definitions.get(metric, metric)) for metric in sorted(report.metrics)}
    digests = ((base.unit_id, base.manifest.get(DOCUMENTS_DIGEST)) for base in report.knowledge_bases)
    return Baseline(
        benchmark={
            "name": report.benchmark.name,
            "version": report.benchmark.version,
            "split": report.benchmark.split,
        },
        recipe=recipe_name(report),
        selection={rule: report.selection[rule] for rule in RULES if rule in report.selection},
        modes=tuple(sorted(report.query_modes)),
        metrics=metrics,
        means={key: rounded(report.score_summary[key]) for key in sorted(report.score_summary)},
        documents={unit: str(digest) for unit, digest in sorted(digests) if digest},
        cases=_rows(report, tuple(sorted(report.query_modes)), tuple(metrics)),
    )


def rounded(value: float) -> float:
    """Return the value with six significant digits, as a baseline keeps it and as both sides are compared."""
    return float(f"{value:.6g}")


def _rows(report: EvaluationReport, modes: tuple[str, ...], metrics: tuple[str, ...]) -> dict[str, dict[str, CaseRow]]:
    found: dict[str, dict[str, dict[str, EvaluationCaseResult]]] = {}
    for result in report.cases:
        found.setdefault(result.unit_id, {}).setdefault(result.case_id, {})[result.mode] = result
    return {
        unit: {case: _row(by_mode, modes, metrics) for case, by_mode in sorted(cases.items())}
        for unit, cases in sorted(found.items())
    }


def _row(by_mode: Mapping[str, EvaluationCaseResult], modes: tuple[str, ...], metrics: tuple[str, ...]) -> CaseRow:
    digests = (case_digest(result) for result in by_mode.values() if result.status == "finished")
    return next(digests, None), tuple(_values(by_mode.get(mode), metrics) for mode in modes)


def _values(result: EvaluationCaseResult | None, metrics: tuple[str, ...]) -> tuple[float | None, ...] | None:
    if result is None or result.status != "finished":
        return None
    scores = {score.name: score.value for score in result.scores}
    return tuple(None if (value := scores.get(metric)) is None else rounded(value) for metric in metrics)


def case_digest(result: EvaluationCaseResult) -> str:
    """Return eight hex digits that change with the query or the gold labels of a finished case."""
    gold = sorted((label.document_id or "", label.relevance) for label in result.gold)
    return sha256(json.dumps([result.query, gold]).encode()).hexdigest()[:8]


def write_baseline(path: Path, baseline: Baseline) -> None:
    """Write the file, which no reader ever sees half; equal baselines give equal bytes.

    Raises:
        ReportError: The file cannot be written.
    """
    try:
        replace_file(path, (line.encode() for line in _lines(baseline)))
    except OSError as error:
        raise ReportError(f"{path}: the baseline cannot be written: {error.strerror or error}") from error


def _lines(baseline: Baseline) -> Iterator[str]:
    head = json.dumps(baseline.model_dump(exclude={"cases"}), ensure_ascii=False, allow_nan=False, indent=1)
    yield head.removesuffix("\n}") + ',\n "cases": {'
    for number, (unit, cases) in enumerate(baseline.cases.items()):
        yield f"{',' if number else ''}\n  {_json(unit)}: {{"
        for position, (case, (digest, values)) in enumerate(cases.items()):
            numbers = [row and [_plain(value) for value in row] for row in values]
            yield f"{',' if position else ''}\n   {_json(case)}: {_json([digest, numbers])}"
        yield "\n  }"
    yield "\n }\n}\n"


def _plain(value: float | None) -> float | None:
    """Write whole numbers without a point: most values are 0 or 1."""
    return int(value) if value is not None and value.is_integer() else value


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def read_baseline(path: Path) -> Baseline:
    """Return the baseline in the file.

    Raises:
        ReportError: The file cannot be read or is no baseline.
    """
    try:
        baseline = Baseline.model_validate_json(path.read_bytes())
    except OSError as error:
        raise ReportError(f"{path}: the baseline cannot be read: {error.strerror or error}") from error
    except ValidationError as error:
        raise ReportError(
            f"{path}: not a baseline that this pytest-heta reads: {first_fault(error)}; "
            f"make it anew with --heta-update-baseline"
        ) from error
    _check_shape(path, baseline)
    return baseline


def _check_shape(path: Path, baseline: Baseline) -> None:
    for unit, cases in baseline.cases.items():
        for case, (_, values) in cases.items():
            sizes = {len(row) for row in values if row is not None}
            if len(values) != len(baseline.modes) or not sizes <= {len(baseline.metrics)}:
                raise ReportError(f"{path}: case {case} of run unit {unit} has not one value for each mode and metric")
