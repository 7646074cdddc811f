"""Answers taken word for word from the retrieved chunks, without a language model."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Protocol

_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n\s*\n")
_WORD = re.compile(r"\w+")
# 1,234.5 and (12.3)% and $ 7, with what belongs to the number; the digits inside a word such as COVID19 are none.
_NUMBER = re.compile(r"[-(]?[$€£]?\s?(?<![\w.,])(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?\)?\s?%?(?!\w)")
_YEAR = re.compile(r"(?:19|20)\d\d")
_ASKS_FOR_YEAR = re.compile(r"\bwhen\b|\b(?:what|which) year\b", re.IGNORECASE)
_ASKS_FOR_QUANTITY = re.compile(
    r"\bhow (?:many|much|old|long|large|big|high|far|often)\b|\bpercent(?:age)?\b|"
    r"\bwhat (?:was|is|were|are) the (?:\w+ ){0,4}?"
    r"(?:number|amount|total|sum|ratio|rate|average|difference|change|growth)\b",
    re.IGNORECASE,
)
_STOPWORDS = re.compile(
    r"(?:a|an|and|are|as|at|be|been|by|did|do|does|for|from|had|has|have|how|in|into|is|it|its|of|on|or|that|the|their|"
    r"they|this|to|was|were|what|when|where|which|who|whom|whose|why|will|with)"
)
_LONGEST_SENTENCE = 300


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
    """Answers with the sentence that shares the most and the rarest words with the query.

    Where the query asks for a number, the answer is the number of such a sentence that stands nearest to those words
    and is not in the query. Among equals the shorter sentence wins, then the one of the better chunk.
    """

    depth: int = 5

    def answer(self, query: str, texts: Sequence[str]) -> str | None:
        """Return the answer, or None where there is no text."""
        sentences = [sentence for text in texts for sentence in _sentences(text)]
        terms = {term for term in _terms(query) if not _STOPWORDS.fullmatch(term)}
        wanted = _wanted_numbers(query)
        telling = [sentence for sentence in sentences if wanted(sentence)]
        if telling:
            best = _best(telling, terms)
            return _nearest(best, wanted(best), terms)
        return _best(sentences, terms) if sentences else None

    def declaration(self) -> dict[str, Any]:
        """Return everything that changes the answers, as JSON."""
        return {"by": "sentence", **asdict(self)}


def _sentences(text: str) -> list[str]:
    """Split at sentence ends; what is longer than a sentence (a table of a PDF) is split at its line ends too."""
    found: list[str] = []
    for sentence in _SENTENCE_END.split(text):
        found += sentence.splitlines() if len(sentence) > _LONGEST_SENTENCE else [sentence]
    joined = (" ".join(sentence.split()) for sentence in found)
    return [sentence for sentence in joined if _WORD.search(sentence)]


def _terms(text: str) -> set[str]:
    return set(_WORD.findall(text.lower()))


def _best(sentences: Sequence[str], terms: set[str]) -> str:
    shared = [_terms(sentence) & terms for sentence in sentences]
    frequency = Counter(term for found in shared for term in found)
    weight = {term: math.log(1 + len(sentences) / count) for term, count in frequency.items()}

    def rank(index: int) -> tuple[float, int, int]:
        # fsum is exact in any order; that of a set changes from process to process.
        return -math.fsum(weight[term] for term in shared[index]), len(sentences[index]) if shared[index] else 0, index

    return sentences[min(range(len(sentences)), key=rank)]


def _wanted_numbers(query: str) -> Callable[[str], dict[str, int]]:
    """Return what finds, in a sentence, the numbers that can answer the query, and where each stands first.

    Numbers that the query itself names are no answers; years are where a year is asked for, and only there.
    """
    year, quantity = _ASKS_FOR_YEAR.search(query), _ASKS_FOR_QUANTITY.search(query)
    given = set(_numbers(query))

    def wanted(sentence: str) -> dict[str, int]:
        if not (year or quantity):
            return {}
        found = _numbers(sentence).items()
        return {
            number: place
            for number, place in found
            if number not in given and bool(_YEAR.fullmatch(number)) == bool(year)
        }

    return wanted


def _numbers(text: str) -> dict[str, int]:
    found: dict[str, int] = {}
    for match in _NUMBER.finditer(text):
        found.setdefault(match.group().strip(), match.start())
    return found


def _nearest(sentence: str, numbers: dict[str, int], terms: set[str]) -> str:
    places = [match.start() for match in _WORD.finditer(sentence) if match.group().lower() in terms]

    def distance(number: str) -> int:
        return min((abs(numbers[number] - place) for place in places), default=0)

    return min(numbers, key=distance)
