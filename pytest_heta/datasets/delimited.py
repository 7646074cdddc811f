"""Rows of a delimited text file (CSV and its relatives) with the line on which each begins."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from pytest_heta.errors import DataError


class DelimitedRow(NamedTuple):
    """One row: ``values`` maps a column of the header to its cell.

    ``line`` is where the row begins, counted from 1. ``joined_line`` is where its second half began, in a row that was
    broken in two; None in any other.
    """

    line: int
    values: dict[str, str]
    joined_line: int | None = None


def read_delimited(
    path: Path,
    *,
    delimiter: str = ",",
    required: tuple[str, ...] = (),
    is_broken: Callable[[list[str]], bool] = lambda fields: False,
) -> Iterator[DelimitedRow]:
    r"""Yield the rows below the header. Quoted cells may hold delimiters and line ends; empty lines are passed over.

    A row that is too short, for which ``is_broken(fields)`` is true, and which is followed by a row with an empty first
    field is one row that a stray line end broke: the two are joined. A lone ``\r`` outside quotes ends a line, too.

    Raises:
        DataError: for a file that is missing, is not UTF-8, has no header or not the ``required`` columns, and for a
            row with too few or too many fields, with its line.

    """
    rows = _raw_rows(path, delimiter)
    _, header = next(rows, (1, []))
    missing = [column for column in required if column not in header]
    if missing or not header:
        raise DataError.at(path, 1, f"the header must name {', '.join(missing) or 'columns'}; it is {header}")
    for line, fields in rows:
        joined_line = None
        if len(fields) < len(header) and is_broken(fields):
            joined_line, rest = next(rows, (line, []))
            if rest[:1] == [""]:
                fields = [*fields, *rest[1:]]
        if len(fields) != len(header):
            raise DataError.at(path, line, f"{len(fields)} fields instead of {len(header)} ({', '.join(header)})")
        yield DelimitedRow(line, dict(zip(header, fields, strict=True)), joined_line)


def _raw_rows(path: Path, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    line = 1
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file, delimiter=delimiter, strict=True)
            for fields in reader:
                if fields:
                    yield line, fields
                line = reader.line_num + 1
    except csv.Error as error:
        raise DataError.at(path, line, f"the row that begins here cannot be read: {error}") from error
    except UnicodeDecodeError as error:
        raise DataError.at(path, line, f"here or below the text is not UTF-8: {error}") from error
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}") from error
