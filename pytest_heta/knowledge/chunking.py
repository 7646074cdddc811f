"""Cutting pages into chunks that overlap."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple, Protocol

from pytest_heta.errors import RecipeError
from pytest_heta.knowledge.parsing.page import Page

_VISIBLE = re.compile(r"\S")
_WORD_START = re.compile(r"(?<=\s)\S")
# Text without spaces (Chinese, base64) is no single word.
_TOKEN = re.compile(r"\S{1,40}")


class Chunk(NamedTuple):
    """A piece of a page: ``text`` is the page's ``text[char_start:char_end]``, without white space at its ends."""

    text: str
    page_index: int
    char_start: int
    char_end: int


class Chunker(Protocol):
    """Cuts the pages of one document. Every character that is no white space is in at least one chunk."""

    def chunk(self, pages: Iterable[Page]) -> Iterator[Chunk]:
        """Yield the chunks in reading order; none reaches over a page's end."""
        ...

    def declaration(self) -> dict[str, Any]:
        """Return everything that changes the chunks, as JSON."""
        ...


@dataclass(frozen=True)
class CharacterChunker:
    """Chunks of at most ``size`` characters; the next one begins up to ``overlap`` characters before the last ends.

    A cut is made at the last white space in the second half of the chunk, and inside a word only where there is none.
    """

    size: int = 1000
    overlap: int = 100

    def __post_init__(self) -> None:
        _check(self.size, self.overlap)

    def chunk(self, pages: Iterable[Page]) -> Iterator[Chunk]:
        """Yield the chunks in reading order; none reaches over a page's end."""
        for page in pages:
            text = page.text.rstrip()
            start = end = _first_visible(text, 0)
            while end < len(text):
                cut = self._cut(text, start, beyond=end) or start + self.size
                piece = text[start:cut].rstrip()
                yield Chunk(piece, page.page_index, start, start + len(piece))
                end = _first_visible(text, cut)
                start = self._next_start(text, start, end)

    def _cut(self, text: str, start: int, beyond: int) -> int | None:
        """Return where a chunk can end, behind ``beyond`` (so that no chunk lies inside the last), if it can."""
        limit = start + self.size
        if limit >= len(text):
            return len(text)
        places = range(limit, max(start + self.size // 2, beyond), -1)
        return next((place for place in places if text[place].isspace()), None)

    def _next_start(self, text: str, start: int, end: int) -> int:
        """Return the first word in the overlap from which a chunk gets to a proper end; ``end`` where there is none."""
        words = (word.start() for word in _WORD_START.finditer(text, max(end - self.overlap, start + 1), end))
        return next((word for word in words if self._cut(text, word, beyond=end)), end)

    def declaration(self) -> dict[str, Any]:
        """Return everything that changes the chunks, as JSON."""
        return {"by": "characters", **asdict(self)}


@dataclass(frozen=True)
class TokenChunker:
    """Chunks of at most ``size`` tokens, ``overlap`` of which it shares with the chunk before.

    A token is a run of characters other than white space, or 40 characters of a longer run.
    """

    size: int = 512
    overlap: int = 64

    def __post_init__(self) -> None:
        _check(self.size, self.overlap)

    def chunk(self, pages: Iterable[Page]) -> Iterator[Chunk]:
        """Yield the chunks in reading order; none reaches over a page's end."""
        for page in pages:
            spans = [match.span() for match in _TOKEN.finditer(page.text)]
            for first in range(0, len(spans), self.size - self.overlap):
                window = spans[first : first + self.size]
                start, end = window[0][0], window[-1][1]
                yield Chunk(page.text[start:end], page.page_index, start, end)
                if first + self.size >= len(spans):
                    break

    def declaration(self) -> dict[str, Any]:
        """Return everything that changes the chunks, as JSON."""
        return {"by": "tokens", **asdict(self)}


def _first_visible(text: str, start: int) -> int:
    found = _VISIBLE.search(text, start)
    return found.start() if found else len(text)


def _check(size: int, overlap: int) -> None:
    if size < 1 or not 0 <= overlap < size:
        raise RecipeError(f"a chunk needs size >= 1 and 0 <= overlap < size, not size={size}, overlap={overlap}")
