"""What an answer can be taken from: the sentences of a text, and the rows of the tables in it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from pytest_heta.knowledge.figures import figures, years

# No sentence ends behind an initial or a common abbreviation, nor before a small letter.
_SENTENCE_END = re.compile(
    r"(?:(?<=[.!?])|(?<=[.!?][\"”’)]))"
    r"(?<!\b[A-Z]\.)(?<!\bMr\.)(?<!\bDr\.)(?<!\bMs\.)(?<!\bMrs\.)(?<!\bSt\.)(?<!\bNo\.)(?<!\bInc\.)(?<!\bal\.)"
    r"\s+(?![a-z])|\n\s*\n"
)
_REFERENCE_MARK = re.compile(r"\[\d{1,3}\]")
_MONEY, _DIGITS = r"(?:[$€£] ?)?", r"(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?"
# Atomic: a line of many cells that is no row must not be tried in all ways.
_CELL = rf"(?>(?:-?{_MONEY}{_DIGITS}|{_MONEY}\( ?{_MONEY}{_DIGITS}(?: ?%)? ?\))(?: ?%)?|[—–-])(?!\S)"
_ROW_END = re.compile(rf"(?: {_CELL}){{2,}}$")
_LETTER = re.compile(r"[^\W\d_]")
_CELLS = re.compile(_CELL)
_VISIBLE = re.compile(r"\w")
_LONGEST_SENTENCE = 300


@dataclass(frozen=True)
class Passage:
    """A sentence, or a table row with its ``cells``; ``headings`` are the years above the last of them, if any."""

    text: str
    cells: tuple[str, ...] = ()
    headings: tuple[str, ...] = ()

    @property
    def columns(self) -> dict[str, str]:
        """The cells by the year above them."""
        return dict(zip(reversed(self.headings), reversed(self.cells), strict=False))


def passages(text: str) -> list[Passage]:
    """Return the passages of a text in order, white space made one space, without reference marks such as ``[12]``.

    A line that ends in two or more numbers is a table row; one whose only numbers are years, two or more and the last
    at its end, heads the rows below it. All other lines are prose, cut into sentences; what is longer than a sentence
    is cut at its line ends.
    """
    found: list[Passage] = []
    prose: list[str] = []
    headings: tuple[str, ...] = ()
    for spaced in _REFERENCE_MARK.sub("", text).split("\n"):
        line = " ".join(spaced.split())
        heads = _headings(line)
        cells = () if heads else _row_cells(line)
        if not heads and not cells:
            prose.append(line)
            continue
        found += _sentences(prose)
        prose.clear()
        headings = heads or headings
        found.append(Passage(line, cells, headings if cells else ()))
    return [*found, *_sentences(prose)]


def _headings(line: str) -> tuple[str, ...]:
    found = years(line)
    heads = len(found) > 1 and line.endswith(found[-1]) and not figures("quantity", line)
    return tuple(found) if heads else ()


def _row_cells(line: str) -> tuple[str, ...]:
    end = _ROW_END.search(line)
    if end is None or not _LETTER.search(line, 0, end.start()):
        return ()
    return tuple(_CELLS.findall(end.group()))


def _sentences(lines: list[str]) -> Iterator[Passage]:
    for sentence in _SENTENCE_END.split("\n".join(lines)):
        for piece in sentence.splitlines() if len(sentence) > _LONGEST_SENTENCE else [sentence]:
            if _VISIBLE.search(piece):
                yield Passage(" ".join(piece.split()))
