"""A report file that is there whole or not at all, or an error that names it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from pytest_heta.errors import ReportError
from pytest_heta.reports.json_file import replace_file


def write_whole(path: Path, chunks: Iterable[bytes]) -> None:
    """Write the chunks to ``path``, making its folders; an older file is replaced at once, never half.

    Raises:
        ReportError: The file cannot be written; names it.
    """
    try:
        replace_file(path, chunks)
    except OSError as error:
        raise ReportError(f"{path}: the report cannot be written: {error.strerror or error}") from error
