"""BM25 through bm25s: an index of precomputed term scores (Lù, 2024, https://arxiv.org/abs/2407.03618)."""

from __future__ import annotations

import logging
import re
import threading
from array import array
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pytest_heta.errors import BuildError, RecipeError
from pytest_heta.knowledge.extras import require
from pytest_heta.knowledge.ranking import NO_HITS, Ranking, ranked

if TYPE_CHECKING:
    from pytest_heta.knowledge.modes import Bm25

_TERM = re.compile(r"\b\w\w+\b")


class Analyzer:
    """Turns a text into terms as ``bm25s.tokenize`` does: words of two letters or more, lower case, stemmed."""

    def __init__(self, stemmer: str | None, stopwords: str | Sequence[str] | None) -> None:
        """Use the Snowball stemmer and the stop words of these languages, or a list of stop words; None for none."""
        self._stopwords = _stopwords(stopwords)
        self._stem = None if stemmer is None else _stemmer(stemmer).stemWord
        self._stems: dict[str, str] = {}
        # A Snowball stemmer is not made for two threads at once.
        self._lock = threading.Lock()

    def terms(self, text: str) -> list[str]:
        """Return the terms of a text in order, with repetitions."""
        words = [word for word in _TERM.findall(text.lower()) if word not in self._stopwords]
        if self._stem is None:
            return words
        stems = self._stems
        with self._lock:
            for word in words:
                if word not in stems:
                    stems[word] = self._stem(word)
        return [stems[word] for word in words]


class Bm25Builder:
    """Takes the chunks' texts in, a batch at a time, and writes bm25s's files."""

    def __init__(self, mode: Bm25, directory: Path) -> None:
        self._mode, self._directory = mode, directory
        self._analyzer = Analyzer(mode.stemmer, mode.stopwords)
        self._vocabulary: dict[str, int] = {}
        self._documents: list[array[int]] = []
        # Asked for here, so that what is not installed is said before anything is parsed.
        self._bm25s = _bm25s()

    def add(self, texts: Sequence[str]) -> None:
        """Append chunks, in the order of the chunk table."""
        number = self._vocabulary.setdefault
        for text in texts:
            terms = self._analyzer.terms(text)
            self._documents.append(array("i", [number(term, len(self._vocabulary)) for term in terms]))

    def finish(self) -> None:
        """Score every term of every chunk and write the index.

        Raises:
            BuildError: no chunk holds a term.
        """
        if not self._vocabulary:
            raise BuildError(
                f"full-text search has nothing to index: no chunk holds a word that is no stop word "
                f"(chunks: {len(self._documents)}, stopwords={self._mode.stopwords!r})"
            )
        mode = self._mode
        engine = self._bm25s.BM25(k1=mode.k1, b=mode.b, delta=mode.delta, method=mode.method, backend="numpy")
        engine.index((self._documents, self._vocabulary), create_empty_token=False, show_progress=False)
        engine.save(self._directory, show_progress=False)


class Bm25Index:
    """Answers queries from a mapped index."""

    def __init__(self, mode: Bm25, directory: Path) -> None:
        self._analyzer = Analyzer(mode.stemmer, mode.stopwords)
        self._engine = _bm25s().BM25.load(directory, mmap=True, show_progress=False)

    def search(self, queries: Sequence[str], k: int) -> list[Ranking]:
        """Return the chunks that share a term with each query, at most ``k``, best first."""
        return [self._search(query, k) for query in queries]

    def _search(self, query: str, k: int) -> Ranking:
        terms = self._engine.get_tokens_ids(self._analyzer.terms(query))
        if not terms:
            return NO_HITS
        scores = self._engine.get_scores_from_ids(terms)
        rows = np.flatnonzero(scores > self._score_without_terms(terms))
        return ranked(rows, scores[rows], k)

    def _score_without_terms(self, terms: list[int]) -> Any:
        """Return what a chunk with none of the terms scores: 0 but in BM25L and BM25+."""
        base = self._engine.nonoccurrence_array
        return 0.0 if base is None else base[terms].sum()


def _bm25s() -> Any:
    logger = logging.getLogger("bm25s")
    level = logger.level
    bm25s = require("bm25s", "bm25")
    # Importing it turns its debug messages on, which every failing test would show.
    logger.setLevel(level)
    return bm25s


def _stemmer(language: str) -> Any:
    stemmer = require("Stemmer", "bm25")
    if language not in stemmer.algorithms():
        raise RecipeError(f"no stemmer for {language!r} (known: {', '.join(stemmer.algorithms())})")
    return stemmer.Stemmer(language)


def _stopwords(chosen: str | Sequence[str] | None) -> frozenset[str]:
    if chosen is None:
        return frozenset()
    if not isinstance(chosen, str):
        return frozenset(chosen)
    lists = {
        name.removeprefix("STOPWORDS_").lower(): words
        for name, words in vars(_bm25s().stopwords).items()
        if name.startswith("STOPWORDS_")
    }
    lists["english"] = lists.pop("en")
    lists["english_plus"] = lists.pop("en_plus")
    if chosen not in lists:
        raise RecipeError(f"no stop words for {chosen!r} (known: {', '.join(sorted(lists))}; or give a list of words)")
    return frozenset(lists[chosen])
