"""One writer a format, chosen by the suffix of the file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path

from pytest_heta.errors import UsageError
from pytest_heta.records import EvaluationReport
from pytest_heta.reports.json_file import write_report
from pytest_heta.reports.writers.html import write_html
from pytest_heta.reports.writers.markdown import write_markdown
from pytest_heta.reports.writers.table import write_csv, write_parquet
from pytest_heta.reports.writers.trec import write_qrels, write_run

Writer = Callable[[Path, EvaluationReport, Sequence[EvaluationReport]], tuple[Path, ...]]


def _write_json(path: Path, report: EvaluationReport, others: Sequence[EvaluationReport]) -> tuple[Path, ...]:
    write_report(path, report)
    return (path,)


WRITERS: dict[str, Writer] = {
    ".json": _write_json,
    ".html": write_html,
    ".md": write_markdown,
    ".csv": write_csv,
    ".parquet": write_parquet,
    ".run": write_run,
    ".qrels": write_qrels,
}
"""The formats by suffix. Those that compare (HTML, Markdown) show the other reports; the tables have their rows."""


def writer_of(path: Path) -> Writer:
    """Return the writer of the format that a file's suffix names, in any case. To be called before a run, too.

    Raises:
        UsageError: No format has this suffix (lists those that exist), or what the format needs is not installed.
    """
    suffix = path.suffix.lower()
    if suffix not in WRITERS:
        raise UsageError(f"{path}: no report format has this suffix (known: {', '.join(WRITERS)})")
    if suffix == ".parquet" and find_spec("pyarrow") is None:
        raise UsageError(f"{path}: Parquet needs pyarrow: pip install 'pytest-heta[parquet]'")
    return WRITERS[suffix]


def write_report_file(
    path: Path, report: EvaluationReport, *, others: Sequence[EvaluationReport] = ()
) -> tuple[Path, ...]:
    """Write ``report`` in the format of ``path``'s suffix and return the files: one, but for a TREC run of many modes.

    ``others`` are reports on the same benchmark to compare it with, such as a baseline or those of other recipes.

    Raises:
        UsageError: As ``writer_of``, or the other reports are on another benchmark.
        ReportError: A file cannot be written; names it.
    """
    return writer_of(path)(path, report, others)
