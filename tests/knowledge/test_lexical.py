"""BM25."""

from __future__ import annotations

import math
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Literal

import bm25s
import numpy as np
import pytest
import Stemmer
from bm25s.tokenization import tokenize

from pytest_heta.errors import BuildError, RecipeError
from pytest_heta.knowledge.lexical import Analyzer
from pytest_heta.knowledge.modes import Bm25, SearchIndex

TEXTS = [
    "The cat sat on the mat.",
    "Dogs and cats are running.",
    "A dog runs after the running cat, running fast",
    "Nothing in common here",
    "the and of",
    "Grüße aus München",
]


def index(mode: Bm25, texts: list[str], directory: Path) -> SearchIndex:
    """Build an index and open it from its files."""
    builder = mode.builder(directory)
    builder.add(texts[:2])
    builder.add(texts[2:])
    builder.finish()
    return mode.open(directory)


def test_scores_are_those_of_the_formula(tmp_path: Path) -> None:
    """Scores equal Lucene's BM25 worked out by hand from term counts, on plain words."""
    texts = ["red red blue", "blue green green green", "red yellow"]
    found = index(Bm25(k1=1.2, b=0.6, stemmer=None, stopwords=None), texts, tmp_path).search(["red green"], 10)[0]

    def score(text: str) -> float:
        words, mean, total = Counter(text.split()), 3.0, 0.0
        for term in ("red", "green"):
            df = sum(term in each.split() for each in texts)
            idf = math.log(1 + (3 - df + 0.5) / (df + 0.5))
            length = 1 - 0.6 + 0.6 * len(text.split()) / mean
            total += idf * words[term] / (words[term] + 1.2 * length)
        return total

    expected = sorted(((-score(text), row) for row, text in enumerate(texts)))
    assert found.rows.tolist() == [row for _, row in expected]
    assert found.scores == pytest.approx([-value for value, _ in expected], rel=1e-6)


def test_terms_are_those_of_bm25s() -> None:
    """The analyzer gives the terms that bm25s's own tokenizer gives with the same stemmer and stop words."""
    ours = [Analyzer("english", "english").terms(text) for text in TEXTS]
    theirs = tokenize(
        TEXTS, stopwords="english", stemmer=Stemmer.Stemmer("english"), return_ids=False, show_progress=False
    )
    assert ours == theirs


@pytest.mark.parametrize("method", ["lucene", "robertson", "atire", "bm25l", "bm25+"])
def test_results_are_those_of_bm25s(
    tmp_path: Path, method: Literal["lucene", "robertson", "atire", "bm25l", "bm25+"]
) -> None:
    """Each variant gives bm25s's scores, for the chunks that share a term with the query and for no others."""
    found = index(Bm25(method=method), TEXTS, tmp_path).search(["running cats"], 10)[0]
    engine = bm25s.BM25(method=method)
    engine.index(
        tokenize(TEXTS, stemmer=Stemmer.Stemmer("english"), return_ids=False, show_progress=False), show_progress=False
    )
    scores = engine.get_scores(["run", "cat"])
    assert set(found.rows.tolist()) <= {0, 1, 2}
    assert method == "robertson" or len(found.rows) == 3
    assert found.scores == pytest.approx(scores[found.rows])
    assert found.scores.tolist() == sorted(found.scores.tolist(), reverse=True)


def test_queries_without_a_known_word_find_nothing(tmp_path: Path) -> None:
    """Unknown words, stop words, and an empty query give no hits and no error."""
    rankings = index(Bm25(), TEXTS, tmp_path).search(["zebra quux", "the of", "", "?!"], 5)
    assert [len(ranking.rows) for ranking in rankings] == [0, 0, 0, 0]


def test_equal_scores_keep_the_order_of_chunks(tmp_path: Path) -> None:
    """Chunks of equal score come in table order, also where the cut falls between them."""
    texts = ["same words here", "other text", *["same words here"] * 30]
    searched = index(Bm25(), texts, tmp_path)
    assert searched.search(["same words"], 7)[0].rows.tolist() == [0, 2, 3, 4, 5, 6, 7]
    assert searched.search(["same words"], 100)[0].rows.tolist() == [0, *range(2, 32)]


def test_languages_are_parameters(tmp_path: Path) -> None:
    """Stemmer and stop words are a language, a list, or none; an unknown language is an error that lists the known."""
    assert Analyzer("german", "german").terms("Die Häuser und das Haus") == ["haus", "haus"]
    assert Analyzer(None, ("cat",)).terms("The cats and the cat") == ["the", "cats", "and", "the"]
    with pytest.raises(RecipeError, match=r"no stemmer for 'klingon'.*english"):
        Bm25(stemmer="klingon").builder(tmp_path)
    with pytest.raises(RecipeError, match=r"no stop words for 'klingon'.*english"):
        Bm25(stopwords="klingon").builder(tmp_path)


def test_parameters_outside_the_formula_are_refused() -> None:
    """An unknown variant lists the known ones; k1, delta and b outside their ranges are RecipeErrors."""
    with pytest.raises(RecipeError, match=r"no BM25 method 'bm42' \(known: lucene,"):
        Bm25(method="bm42")  # type: ignore[arg-type]
    with pytest.raises(RecipeError, match="0 <= b <= 1"):
        Bm25(b=1.5)
    with pytest.raises(RecipeError, match="k1 >= 0"):
        Bm25(k1=-1)


def test_chunks_without_any_term_cannot_be_indexed(tmp_path: Path) -> None:
    """A corpus of stop words only is a BuildError, not an index that answers nothing."""
    builder = Bm25().builder(tmp_path)
    builder.add(["the and of", "..."])
    with pytest.raises(BuildError, match=r"no chunk holds a word.*chunks: 2"):
        builder.finish()


def test_building_says_nothing(tmp_path: Path) -> None:
    """Neither building nor searching draws bm25s's progress bars, or leaves its debug messages in a test's report."""
    script = (
        "import logging, sys; from pathlib import Path; from pytest_heta.knowledge import Bm25\n"
        "logging.basicConfig(format='%(message)s'); builder = Bm25().builder(Path(sys.argv[1]))\n"
        "builder.add(['cat']); builder.finish(); logging.getLogger().handlers[0].setLevel(0)\n"
        "print(len(Bm25().open(Path(sys.argv[1])).search(['cat'], 2)[0].rows))\n"
    )
    done = subprocess.run([sys.executable, "-c", script, str(tmp_path)], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("1\n", "")


def test_the_index_is_mapped_and_not_pickled(tmp_path: Path) -> None:
    """What is saved are plain arrays and JSON, and the same chunks give the same bytes."""
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        index(Bm25(), TEXTS, tmp_path / name)
    files = sorted(path.name for path in (tmp_path / "a").iterdir())
    assert {Path(name).suffix for name in files} == {".npy", ".json"}
    for name in files:
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
    assert np.load(tmp_path / "a" / "data.csc.index.npy", allow_pickle=False).dtype == np.float32
