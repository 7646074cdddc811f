"""Lines of styled text, independent of who prints them, and the table that they are made of."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from pytest_heta.reports.text import cells, fit

Style = Literal["plain", "bold", "good", "bad", "dim"]

_NARROWEST = 8  # a mean and a gap: tables of the same metrics line up, whatever is absent from one


@dataclass(frozen=True)
class Line:
    """One line of a terminal and how it looks. Holds no line break and no escape sequence."""

    text: str = ""
    style: Style = "plain"


@dataclass(frozen=True)
class Row:
    """One row of a table: a name and one text a column."""

    name: str
    values: tuple[str, ...]


def table(title: str, columns: Sequence[str], rows: Sequence[Row], width: int, keep: int = 0) -> Iterator[Line]:
    """Yield a table no wider than ``width``, numbers to the right.

    Columns that do not fit beside each other go into further blocks; each repeats the names and the first ``keep``
    columns. Names take at most half of the width.
    """
    names = min(max(cells(text) for text in (title, *(row.name for row in rows))), width // 2)
    sizes = [
        max(_NARROWEST, *(cells(text) + 2 for text in column))
        for column in zip(columns, *(row.values for row in rows), strict=True)
    ]
    for position, block in enumerate(_blocks(sizes, width - names, keep)):
        cut = [(column, sizes[column]) for column in block]
        yield Line(_row("" if position else title, names, columns, cut), "bold")
        for row in rows:
            yield Line(_row(row.name, names, row.values, cut))


def _blocks(sizes: Sequence[int], room: int, keep: int) -> Iterator[list[int]]:
    kept = list(range(min(keep, len(sizes))))
    block = list(kept)
    for column in range(len(kept), len(sizes)):
        if len(block) > len(kept) and sum(sizes[i] for i in block) + sizes[column] > room:
            yield block
            block = list(kept)
        block.append(column)
    yield block


def _row(name: str, names: int, values: Sequence[str], cut: Sequence[tuple[int, int]]) -> str:
    shown = fit(name, names)
    padded = shown + " " * (names - cells(shown))
    return (padded + "".join(values[column].rjust(size) for column, size in cut)).rstrip()


def wrapped(text: str, width: int, style: Style = "plain", indent: str = "  ", hang: str = "    ") -> Iterator[Line]:
    """Yield a sentence in as many lines as it needs; the first begins with ``indent``, the others with ``hang``."""
    room, line = max(width, 20), ""
    for space, word in re.findall(r"(\s*)(\S+)", text):
        for piece in _pieces(word, room - max(len(indent), len(hang))):
            if not line:
                line = indent + piece
            elif cells(line) + len(space) + cells(piece) <= room:
                line += " " * len(space) + piece
            else:
                yield Line(line, style)
                line = hang + piece
    if line:
        yield Line(line, style)


def _pieces(word: str, room: int) -> Iterator[str]:
    """Break a word that takes more than ``room`` columns; textwrap would count wide characters as one."""
    piece, used = "", 0
    for char in word:
        size = cells(char)
        if used + size > room:
            yield piece
            piece, used = "", 0
        piece, used = piece + char, used + size
    yield piece
