"""The lines of a UTF-8 text file, with their numbers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from pytest_heta.errors import DataError

_BOM = b"\xef\xbb\xbf"


def read_lines(path: Path) -> Iterator[tuple[int, str]]:
    r"""Yield ``(line number from 1, text)`` of each line that is not blank, without its line end.

    A line ends at the byte ``\n`` (and one ``\r`` before it) and nowhere else: U+2028 or U+0085 is part of the text.
    A byte order mark at the start of the file is dropped. The file is streamed.

    Raises:
        DataError: the file cannot be read, or a line is not UTF-8.
    """
    try:
        with path.open("rb") as file:
            for number, raw in enumerate(file, start=1):
                line = raw.removeprefix(_BOM) if number == 1 else raw
                if line.strip():
                    yield number, _decode(path, number, line.removesuffix(b"\n").removesuffix(b"\r"))
    except OSError as error:
        raise DataError.at(path, None, f"cannot be read: {error.strerror or error}") from error


def _decode(path: Path, number: int, line: bytes) -> str:
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError as error:
        raise DataError.at(path, number, f"not UTF-8: {error.reason} at byte {error.start} of the line") from error
