"""The report as a table for other tools: one row a case, mode and metric."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from pytest_heta.records import EvaluationCaseResult, EvaluationReport
from pytest_heta.reports.text import recipe_name
from pytest_heta.reports.whole_file import write_whole

_BATCH = 100_000


class Row(NamedTuple):
    """One metric of one case in one mode; None where there is nothing. ``labels`` is JSON.

    ``value`` is None where the case is unscored (``reason`` says why), errored (``error``) or was not run.
    """

    benchmark: str
    split: str
    recipe: str
    report_id: str
    unit_id: str
    case_id: str
    mode: str
    metric: str
    value: float | None
    status: str
    reason: str | None
    error: str | None
    latency_ms: float | None
    amortised: bool
    shallow: bool
    hits: int
    labels: str


def rows(reports: Iterable[EvaluationReport]) -> Iterator[Row]:
    """Yield a row for every planned case, mode and metric, in the order of the reports, whatever became of it."""
    for report in reports:
        for result in report.cases:
            yield from _case_rows(report, result)


def _case_rows(report: EvaluationReport, result: EvaluationCaseResult) -> Iterator[Row]:
    scores = {score.name: score for score in result.scores}
    labels = json.dumps(result.labels, ensure_ascii=False, sort_keys=True, default=str)
    error = f"{result.error.error_type}: {result.error.message}" if result.error else None
    for metric in report.metrics:
        score = scores.get(metric)
        yield Row(
            benchmark=report.benchmark.name,
            split=report.benchmark.split,
            recipe=recipe_name(report),
            report_id=report.report_id,
            unit_id=result.unit_id,
            case_id=result.case_id,
            mode=result.mode,
            metric=metric,
            value=score.value if score else None,
            status=result.status,
            reason=score.metadata.get("reason") if score else None,
            error=error,
            latency_ms=result.latency_ms,
            amortised=result.amortised,
            shallow=result.shallow,
            hits=len(result.hits),
            labels=labels,
        )


def write_csv(path: Path, report: EvaluationReport, others: Sequence[EvaluationReport]) -> tuple[Path, ...]:
    r"""Write the rows as CSV (RFC 4180 quoting, UTF-8, ``\n`` at line ends), floats as the shortest text that reads
    back as the same number, booleans as ``true`` and ``false``.

    Raises:
        ReportError: The file cannot be written.
    """
    write_whole(path, _csv_chunks(rows((report, *others))))
    return (path,)


def _csv_chunks(table: Iterable[Row]) -> Iterator[bytes]:
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(Row._fields)
    for row in table:
        writer.writerow(str(cell).lower() if isinstance(cell, bool) else cell for cell in row)
        yield buffer.getvalue().encode("utf-8", "surrogatepass")
        buffer.seek(0)
        buffer.truncate()
    yield buffer.getvalue().encode()


def write_parquet(path: Path, report: EvaluationReport, others: Sequence[EvaluationReport]) -> tuple[Path, ...]:
    """Write the rows as Parquet, with the same columns as CSV, typed.

    Raises:
        ReportError: The file cannot be written.
    """
    write_whole(path, (_parquet(list(rows((report, *others)))),))
    return (path,)


def _parquet(table: Sequence[Row]) -> bytes:
    arrow, parquet = import_module("pyarrow"), import_module("pyarrow.parquet")
    schema = _schema(arrow)
    sink = arrow.BufferOutputStream()
    with parquet.ParquetWriter(sink, schema) as writer:
        for start in range(0, len(table), _BATCH):
            columns = zip(*table[start : start + _BATCH], strict=True)
            arrays = [arrow.array(column, field.type) for column, field in zip(columns, schema, strict=True)]
            writer.write_table(arrow.Table.from_arrays(arrays, schema=schema))
    return bytes(sink.getvalue())


def _schema(arrow: Any) -> Any:
    types = {"value": arrow.float64(), "latency_ms": arrow.float64(), "hits": arrow.int64()}
    types |= {"amortised": arrow.bool_(), "shallow": arrow.bool_()}
    return arrow.schema([(name, types.get(name, arrow.string())) for name in Row._fields])
