"""The report as a JSON file: readable, one case a line, written whole or not at all."""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Iterable, Iterator
from pathlib import Path

from pydantic import BaseModel, ValidationError
from pydantic_core import PydanticSerializationError

from pytest_heta.errors import ReportError
from pytest_heta.records import SCHEMA_VERSION, EvaluationCaseResult, EvaluationReport
from pytest_heta.reports.collector import collector_paused


class _Version(BaseModel):
    schema_version: int


def write_report(path: Path, report: EvaluationReport) -> None:
    """Write ``report`` to ``path`` in UTF-8, making its folders; an older file is replaced at once, never half.

    The fields come in the order of the record, ``cases`` last. A case is one line, without the fields that hold their
    default. NaN and the infinities in open places (labels, metadata, manifests) become null.

    Raises:
        ReportError: The file cannot be written, or something in the report is not JSON.
    """
    try:
        replace_file(path, _chunks(report))
    except OSError as error:
        raise ReportError(f"{path}: the report cannot be written: {error.strerror or error}") from error


def replace_file(path: Path, chunks: Iterable[bytes]) -> None:
    """Write a file, making its folders, in a way that every reader sees the old content or all of the new."""
    path.parent.mkdir(parents=True, exist_ok=True)
    # Not a tempfile: that would be readable by its owner only, and so would the report.
    temporary = path.parent / f".{path.name}.{secrets.token_hex(4)}.tmp"
    try:
        with temporary.open("xb") as file:
            file.writelines(chunks)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def _chunks(report: EvaluationReport) -> Iterator[bytes]:
    head = json.dumps(json.loads(_head(report)), ensure_ascii=False, allow_nan=False, indent=1)
    yield head.removesuffix("\n}").encode() + b',\n "cases": ['
    for position, case in enumerate(report.cases):
        yield (b",\n" if position else b"\n") + _case(case)
    yield b"\n ]\n}\n"


def _head(report: EvaluationReport) -> str:
    try:
        return report.model_dump_json(exclude={"cases"})
    except PydanticSerializationError as error:
        raise ReportError(f"report {report.report_id} holds something that is not JSON: {error}") from error


def _case(case: EvaluationCaseResult) -> bytes:
    try:
        return b"  " + case.model_dump_json(exclude_defaults=True).encode()
    except PydanticSerializationError as error:
        raise ReportError(f"case {case.case_id} ({case.mode}) holds something that is not JSON: {error}") from error


def read_report(path: Path) -> EvaluationReport:
    """Return the report in the file.

    Raises:
        ReportError: The file cannot be read, is no report, or is one of another schema version.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ReportError(f"{path}: the report cannot be read: {error.strerror or error}") from error
    try:
        version = _Version.model_validate_json(data).schema_version
        if version != SCHEMA_VERSION:
            raise ReportError(
                f"{path}: schema version {version} is not the {SCHEMA_VERSION} that this pytest-heta reads"
            )
        with collector_paused():
            return EvaluationReport.model_validate_json(data)
    except ValidationError as error:
        raise ReportError(f"{path}: not an evaluation report: {first_fault(error)}") from error


def first_fault(error: ValidationError) -> str:
    """Say where the first fault is and what it is."""
    fault = error.errors(include_url=False, include_input=False)[0]
    return ": ".join(part for part in (".".join(map(str, fault["loc"])), fault["msg"]) if part)
