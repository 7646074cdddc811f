"""What knowledge bases in real engines find."""

from __future__ import annotations

import numpy as np
import pytest

from pytest_heta.errors import UnknownNameError
from pytest_heta.knowledge.backends import Hnsw, ServerRecipe
from pytest_heta.knowledge.fusion import fuse
from pytest_heta.knowledge.ranking import Ranking
from tests.knowledge import helpers
from tests.knowledge.backends.conftest import Started
from tests.knowledge.backends.zoo import (
    EMBEDDED,
    GRAPHS,
    TEXTS,
    VECTORS,
    WORDS,
    WordEmbedder,
    build,
    graph,
    hybrid,
    vectors,
    words,
)
from tests.knowledge.helpers import raw

QUERIES = ("otter near the river", "where does the wolf sleep", "quiet valley", "42 !!!", "the stork hunts")


@pytest.mark.parametrize("kind", VECTORS)
def test_exact_vectors_give_what_numpy_gives(started: Started, kind: str) -> None:
    """Ids, order, places and texts are those of the embedded knowledge base, and scores equal to 1e-5."""
    reference = helpers.build(EMBEDDED, TEXTS)
    kb = build(vectors(started(kind)))
    assert (kb.document_count, kb.chunk_count) == (reference.document_count, reference.chunk_count)
    expected = reference.query_many(QUERIES, mode="vector_search", top_k=12)
    for response, right in zip(kb.query_many(QUERIES, mode="vector_search", top_k=12), expected, strict=True):
        assert [hit.id for hit in response.results] == [hit.id for hit in right.results]
        assert [hit.text for hit in response.results] == [hit.text for hit in right.results]
        assert [hit.source for hit in response.results] == [hit.source for hit in right.results]
        assert [hit.score for hit in response.results] == pytest.approx([hit.score for hit in right.results], abs=1e-5)
    kb.close()
    reference.close()


@pytest.mark.parametrize("kind", VECTORS)
def test_nothing_is_found_without_a_vector(started: Started, kind: str) -> None:
    """A query without known words finds nothing, and a chunk without them is never found."""
    kb = build(vectors(started(kind)))
    assert kb.query("?!", mode="vector_search", top_k=5).results == ()
    everything = kb.query("the otter", mode="vector_search", top_k=500).results
    assert len(everything) == kb.chunk_count - 1
    assert "silent" not in {hit.source["document_id"] for hit in everything}
    kb.close()


@pytest.mark.parametrize("kind", WORDS)
def test_full_text_finds_any_word_of_a_query_in_any_form(started: Started, kind: str) -> None:
    """Words are stemmed, one of them is enough, more of them rank higher, and operators are plain text."""
    kb = build(words(started(kind)))
    found = kb.query('otters\' rivers & (NOT) "zebra" -wolf:*', mode="full_text_search", top_k=100).results
    ids = [str(hit.source["document_id"]) for hit in found]
    assert ids[0] == "otter_river"
    assert set(ids) == {name for key in TEXTS if ("otter" in (name := key.split("/")[4])) or "_river" in name} | {
        name for key in TEXTS if "wolf" in (name := key.split("/")[4])
    }
    scores = [hit.score or 0 for hit in found]
    assert scores == sorted(scores, reverse=True)
    assert min(scores) > 0
    assert all(hit.text and hit.source["source_key"] in TEXTS for hit in found)
    kb.close()


@pytest.mark.parametrize("kind", WORDS)
def test_queries_without_words_find_nothing(started: Started, kind: str) -> None:
    """Stop words, signs and unknown words find nothing, in a batch as alone."""
    kb = build(words(started(kind)))
    queries = ["the", "?!", "zzzyx", "otter"]
    counts = [len(response.results) for response in kb.query_many(queries, mode="full_text_search", top_k=3)]
    assert counts == [0, 0, 0, 3]
    assert kb.query("?!", mode="full_text_search", top_k=3).results == ()
    kb.close()


@pytest.mark.parametrize("kind", ["pgvector", "lancedb"])
def test_a_fusion_joins_the_rankings_of_an_engine(started: Started, kind: str) -> None:
    """A fused ranking is the reciprocal-rank fusion of the two that its trace lists, alone and in a batch."""
    kb = build(hybrid(started(kind)))
    response = kb.query(QUERIES[0], mode="hybrid_search", top_k=5, trace=True)
    found = [[hit for hit, _ in response.trace["rankings"][part]] for part in ("vector_search", "full_text_search")]
    names = sorted({*found[0], *found[1]})
    parts = [Ranking(np.array([names.index(hit) for hit in hits]), np.zeros(0)) for hits in found]
    best = fuse(parts, (1.0, 1.0), 60, 1)
    assert response.results[0].score == pytest.approx(float(best.scores[0]))
    batch = kb.query_many(QUERIES, mode="hybrid_search", top_k=5)
    assert [hit.id for hit in batch[0].results] == [hit.id for hit in response.results]
    kb.close()


@pytest.mark.parametrize("kind", [*VECTORS, "opensearch"])
def test_a_batch_is_the_single_queries(started: Started, kind: str) -> None:
    """query_many gives what query gives, one after the other, also for more queries than one request holds."""
    kb = build(words(started(kind)) if kind == "opensearch" else vectors(started(kind)))
    (mode,) = kb.available_queries
    queries = [f"{QUERIES[number % 3]} {number}" for number in range(120)]
    batch = kb.query_many(queries, mode=mode, top_k=4)
    for number in (0, 1, 2, 99, 100, 119):
        alone = kb.query(queries[number], mode=mode, top_k=4)
        assert [hit.id for hit in alone.results] == [hit.id for hit in batch[number].results]
        assert len(alone.results) == 4
    with pytest.raises(UnknownNameError, match="nonsense"):
        kb.query("otter", mode="nonsense", top_k=1)
    kb.close()


@pytest.mark.parametrize("kind", GRAPHS)
def test_an_approximate_index_reports_its_recall(started: Started, kind: str) -> None:
    """The manifest says how many of the exact ten nearest chunks the index finds; in so small a table nearly all."""
    kb = build(graph(started(kind)))
    measured = kb.manifest["approximate"]
    assert 0.9 <= measured["recall@10"] <= 1
    assert measured["queries"] == len(TEXTS) - 1
    found = kb.query("otter near the river", mode="vector_search", top_k=3).results
    assert "otter_river" in {hit.source["document_id"] for hit in found}
    kb.close()


@pytest.mark.parametrize("kind", GRAPHS)
def test_an_approximate_index_gives_as_many_as_asked(started: Started, kind: str) -> None:
    """More results than ef_search are found where they are asked for, also beyond what a first scan can hold."""
    letters = str.maketrans("0123456789", "abcdefghij")
    texts = {raw(str(number)): f"otter {number}".translate(letters) for number in range(1200)}
    modes = {"vector_search": Hnsw(WordEmbedder(), ef_search=10)}
    kb = build(ServerRecipe("zoo", server=started(kind), modes=modes), texts)
    for top_k in (40, 1100):
        assert len(kb.query("otter", mode="vector_search", top_k=top_k).results) == top_k
    kb.close()
