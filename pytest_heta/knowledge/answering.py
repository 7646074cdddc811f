"""Answers taken word for word from the retrieved chunks, without a language model."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Protocol

from pytest_heta.knowledge.arithmetic import calculation
from pytest_heta.knowledge.figures import asked_for, figures, years
from pytest_heta.knowledge.passages import Passage, passages

_WORD = re.compile(r"\w+")
_STOPWORD = re.compile(
    r"(?:a|an|and|are|as|at|be|been|by|did|do|does|for|from|had|has|have|how|in|into|is|it|its|of|on|or|that|the|their|"
    r"they|this|to|was|were|what|when|where|which|who|whom|whose|why|will|with)"
)
_ENDING = re.compile(r"(?<=\w{3})(?:ies|ied|es|ed|ing|y|e|s)$")
# The usual constants of BM25.
_K1, _B = 1.2, 0.75


class Answerer(Protocol):
    """Makes an answer out of the first ``depth`` chunks that a query found."""

    @property
    def depth(self) -> int:
        """How many chunks it reads."""
        ...

    def answer(self, query: str, texts: Sequence[str]) -> str | None:
        """Return the answer, or None where the chunks give none. ``texts`` are in rank order, at most ``depth``."""
        ...

    def declaration(self) -> dict[str, Any]:
        """Return everything that changes the answers, as JSON."""
        ...


@dataclass(frozen=True)
class SentenceAnswerer:
    """Answers with the passage (sentence or table row) that fits the query best, or with a figure in it.

    Passages are ranked by BM25 over word stems without stop words; among equals that of the better chunk wins. Where
    the query asks for a date, a percentage or another number, only passages that hold one count, and the answer is
    the one nearest to the query's words that the query does not name itself. A table row answers with its cells below
    the years that the query names, and where it asks for a change, an average or a total of them, with that.
    """

    depth: int = 5

    def answer(self, query: str, texts: Sequence[str]) -> str | None:
        """Return the answer, or None where there is no text."""
        found = [passage for text in texts for passage in passages(text)]
        if not found:
            return None
        kind, terms, named = asked_for(query), _terms(query), years(query)
        compute = calculation(query, named)
        rows = [passage for passage in found if compute and compute(passage.columns)]
        if compute and rows:
            return compute(_best(rows, terms).columns)
        given = figures(kind, query).keys()
        telling = [passage for passage in found if figures(kind, passage.text).keys() - given]
        best = _best(telling or found, terms)
        if best.cells and kind in ("count", "quantity", "text"):
            return ", ".join(_cells(best, named))
        return _nearest(figures(kind, best.text), given, best.text, terms) if telling else best.text

    def declaration(self) -> dict[str, Any]:
        """Return everything that changes the answers, as JSON."""
        return {"by": "passage", **asdict(self)}


def _stems(text: str) -> list[str]:
    return [_ENDING.sub("", word) for word in _WORD.findall(text.lower())]


def _terms(query: str) -> set[str]:
    return {_ENDING.sub("", word) for word in _WORD.findall(query.lower()) if not _STOPWORD.fullmatch(word)}


def _best(found: Sequence[Passage], terms: set[str]) -> Passage:
    counts = [Counter(_stems(" ".join((passage.text, *passage.headings)))) for passage in found]
    lengths = [count.total() for count in counts]
    average = sum(lengths) / len(lengths)
    frequency = Counter(term for count in counts for term in count if term in terms)

    def score(place: int) -> float:
        norm = _K1 * (1 - _B + _B * lengths[place] / average)
        # fsum is exact in any order; that of a set changes from process to process.
        return math.fsum(
            math.log(1 + (len(found) - frequency[term] + 0.5) / (frequency[term] + 0.5))
            * (counts[place][term] * (_K1 + 1) / (counts[place][term] + norm))
            for term in terms
            if counts[place][term]
        )

    return found[max(range(len(found)), key=score)]


def _cells(row: Passage, named: Sequence[str]) -> Sequence[str]:
    """Return the cells below the named years, in the order of these; the first cell where none is."""
    return [row.columns[year] for year in named if year in row.columns] or row.cells[:1]


def _nearest(found: Mapping[str, int], given: Collection[str], text: str, terms: set[str]) -> str:
    """Return the figure that stands nearest to a term, the first among equals."""
    places = [match.start() for match in _WORD.finditer(text) if _terms(match.group()) & terms]
    wanted = [figure for figure in found if figure not in given]
    return min(wanted, key=lambda figure: min((abs(found[figure] - place) for place in places), default=0))
