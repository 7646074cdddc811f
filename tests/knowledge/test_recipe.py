"""Recipes and their knowledge bases."""

from __future__ import annotations

import asyncio
import json
import shutil
import tempfile
from pathlib import Path

import pytest

from pytest_heta.errors import BuildError, ObjectNotFoundError, RecipeError, UnknownNameError, UsageError
from pytest_heta.keys import document_id_of
from pytest_heta.knowledge import (
    Bm25,
    Fusion,
    MemoryObjectStore,
    Recipe,
    SentenceAnswerer,
    TokenChunker,
    Vectors,
    WordLlamaEmbedder,
)
from pytest_heta.protocols import KnowledgeBaseProtocol, RecipeProtocol
from pytest_heta.records import QueryResponse
from tests.knowledge.helpers import build, raw
from tests.knowledge.pdfs import pdf

TEXTS: dict[str, str | bytes] = {
    raw("cats"): "The cat is a small animal.\nCats sleep all day and hunt at night.",
    raw("empty"): "\n\n",
    raw("dogs"): "The dog is a friend. A dog barks.",
    raw("cars"): "An automobile has four wheels and an engine.",
}

MODES = {
    "full_text_search": Bm25(),
    "vector_search": Vectors(WordLlamaEmbedder()),
    "hybrid_search": Fusion("full_text_search", "vector_search"),
}


def hybrid(**changes: object) -> Recipe:
    """Return a recipe with all three modes."""
    return Recipe("hybrid", **{"modes": MODES, "chunker": TokenChunker(8, 2), **changes})  # type: ignore[arg-type]


def ids(response: QueryResponse) -> list[str]:
    """Return the chunk ids of a response."""
    return [result.id for result in response.results]


def test_it_keeps_the_protocols() -> None:
    """The recipe and what it builds are what the engine expects, and say the same modes in the same order."""
    recipe = hybrid()
    kb = build(recipe, TEXTS)
    assert isinstance(recipe, RecipeProtocol)
    assert isinstance(kb, KnowledgeBaseProtocol)
    assert kb.available_queries == recipe.available_queries == tuple(MODES)
    kb.close()


def test_a_hit_says_where_it_comes_from() -> None:
    """Text, score and every field of source lead back to the exact place in the raw document."""
    kb = build(hybrid(), TEXTS)
    hit = kb.query("hunts at night", mode="full_text_search", top_k=1).results[0]
    assert hit.id == "cats#1"
    assert hit.kind == "chunk"
    assert hit.source == {
        "source_key": raw("cats"),
        "object_key": raw("cats"),
        "document_id": "cats",
        "name": "cats.txt",
        "page_index": 0,
        "chunk_index": 1,
        "char_start": 27,
        "char_end": 64,
    }
    assert str(TEXTS[raw("cats")])[27:64] == hit.text == "Cats sleep all day and hunt at night."
    assert hit.score is not None
    assert document_id_of(hit) == "cats"
    kb.close()


def test_pages_of_a_pdf_are_told() -> None:
    """A hit in a PDF has the index of its page, and an object outside a benchmark is named by its key."""
    kb = build(hybrid(), {"reports/a.pdf": pdf(["nothing here"], ["the profit was large"])})
    hit = kb.query("profit", mode="full_text_search", top_k=5).results[0]
    assert (hit.id, hit.source["page_index"], hit.source["chunk_index"]) == ("reports/a.pdf#1", 1, 1)
    assert "document_id" not in hit.source
    kb.close()


def test_each_mode_finds_in_its_own_way() -> None:
    """BM25 finds shared words only, vectors find a meaning without shared words, and fusion has both."""
    kb = build(hybrid(), TEXTS)
    assert ids(kb.query("vehicle", mode="full_text_search", top_k=9)) == []
    assert ids(kb.query("vehicle", mode="vector_search", top_k=9))[0] == "cars#0"
    assert len(ids(kb.query("vehicle", mode="vector_search", top_k=99))) == kb.chunk_count == 4
    fused = kb.query("dog", mode="hybrid_search", top_k=9)
    assert ids(fused)[0] == "dogs#0"
    assert fused.results[0].score == pytest.approx(2 / 61)
    kb.close()


@pytest.mark.parametrize("mode", list(MODES))
def test_batches_give_what_single_queries_give(mode: str) -> None:
    """query_many gives each query the response of query, bit for bit, also for queries that find nothing."""
    kb = build(hybrid(answerer=SentenceAnswerer()), TEXTS)
    queries = ["cat", "", "friend that barks", "zzzz", "four wheels", "cat"]
    single = [kb.query(text, mode=mode, top_k=3) for text in queries]
    assert kb.query_many(queries, mode=mode, top_k=3) == single
    assert all(len(response.results) <= 3 for response in single)
    assert single[0].answer is not None
    kb.close()


def test_a_trace_tells_what_was_fused() -> None:
    """With trace, a fused response carries the rankings of its parts; without, it carries none."""
    kb = build(hybrid(), TEXTS)
    traced = kb.query("dog", mode="hybrid_search", top_k=1, trace=True)
    assert list(traced.trace["rankings"]) == ["full_text_search", "vector_search", "hybrid_search"]
    assert [chunk for chunk, _ in traced.trace["rankings"]["hybrid_search"]] == ["dogs#0"]
    assert len(traced.trace["rankings"]["vector_search"]) == kb.chunk_count
    assert kb.query("dog", mode="hybrid_search", top_k=1).trace is None
    kb.close()


def test_a_query_that_cannot_be_is_refused() -> None:
    """An unknown mode lists the known ones; top_k below 1 and unknown options are errors."""
    kb = build(hybrid(), TEXTS)
    with pytest.raises(UnknownNameError, match=r"unknown query mode 'vector'.*did you mean 'vector_search'"):
        kb.query("cat", mode="vector", top_k=1)
    with pytest.raises(UsageError, match="top_k must be 1 or more, not 0"):
        kb.query_many(["cat"], mode="vector_search", top_k=0)
    with pytest.raises(UsageError, match=r"no query options .*rerank"):
        kb.query("cat", mode="vector_search", top_k=1, options={"rerank": True})
    kb.close()


def test_empty_documents_are_counted() -> None:
    """A document without text stays a document without chunks, and the manifest counts and names it."""
    kb = build(hybrid(), TEXTS)
    assert (kb.document_count, kb.chunk_count) == (4, 4)
    assert kb.manifest["documents"] == 4
    assert kb.manifest["empty_documents"] == {"count": 1, "first": [raw("empty")]}
    assert json.loads(json.dumps(kb.manifest)) == kb.manifest
    kb.close()


def test_a_saved_knowledge_base_answers_the_same(tmp_path: Path) -> None:
    """What save wrote is enough for load, in a moved folder and after the first KB is closed; nothing is pickled."""
    recipe = hybrid()
    kb = build(recipe, TEXTS)
    before = [kb.query("a small dog", mode=mode, top_k=5) for mode in MODES]
    kb.save(tmp_path / "a")
    kb.close()
    shutil.move(tmp_path / "a", tmp_path / "b")
    loaded = recipe.load(tmp_path / "b", name="again")
    assert [loaded.query("a small dog", mode=mode, top_k=5) for mode in MODES] == before
    assert (loaded.name, loaded.document_count, loaded.manifest["documents"]) == ("again", 4, 4)
    loaded.close()
    files = [path for path in (tmp_path / "b").rglob("*") if path.is_file()]
    assert {path.suffix for path in files} == {".npy", ".bin", ".json"}
    assert not any(b"pickle" in path.read_bytes() for path in files)


def test_what_is_no_such_knowledge_base_is_not_loaded(tmp_path: Path) -> None:
    """An empty folder, a torn manifest, and a KB of another recipe are BuildErrors."""
    kb = build(hybrid(), TEXTS)
    kb.save(tmp_path / "kb")
    kb.close()
    with pytest.raises(BuildError, match="no saved knowledge base"):
        hybrid().load(tmp_path, name="x")
    with pytest.raises(BuildError, match="another recipe"):
        hybrid(chunker=TokenChunker(9, 2)).load(tmp_path / "kb", name="x")
    (tmp_path / "kb" / "knowledge_base.json").write_text('{"recipe":')
    with pytest.raises(BuildError, match="no saved knowledge base"):
        hybrid().load(tmp_path / "kb", name="x")


def test_the_fingerprint_follows_every_declaration(monkeypatch: pytest.MonkeyPatch) -> None:
    """Any parameter and any library version changes the fingerprint; an equal recipe has the same."""
    variants = [
        hybrid(),
        hybrid(chunker=TokenChunker(8, 3)),
        hybrid(answerer=SentenceAnswerer()),
        hybrid(modes={**MODES, "full_text_search": Bm25(k1=1.4)}),
        hybrid(modes={**MODES, "hybrid_search": Fusion("full_text_search", "vector_search", k=10)}),
        hybrid(modes={"vector_search": MODES["vector_search"]}),
    ]
    prints = [recipe.fingerprint() for recipe in variants]
    assert len(set(prints)) == len(prints)
    assert hybrid().fingerprint() == prints[0]
    monkeypatch.setattr("pytest_heta.knowledge.modes.installed_version", lambda name: f"99 of {name}")
    assert hybrid().fingerprint() != prints[0]


def test_progress_counts_documents_and_chunks() -> None:
    """The callback hears of documents out of their total, and of chunks, up to the whole."""
    calls: list[tuple[str, int, int | None]] = []
    texts: dict[str, str | bytes] = {raw(f"d{number}"): f"document number {number}" for number in range(600)}
    build(Recipe("r", modes={"m": Bm25()}), texts, progress=lambda *call: calls.append(call)).close()
    assert [call for call in calls if call[0] == "documents"][-1] == ("documents", 600, 600)
    assert [call for call in calls if call[0] == "chunks"][-1] == ("chunks", 600, None)
    assert len(calls) > 2


def test_a_failed_build_names_the_document_and_leaves_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A broken file, a missing object, a key given twice, or no text at all is an error; no folder stays behind."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    recipe = Recipe("r", modes={"m": Bm25()})
    with pytest.raises(BuildError, match=r"'b\.pdf': .*truncated"):
        build(recipe, {raw("a"): "text", raw("b", "b.pdf"): pdf(["x"])[:50]})
    with pytest.raises(BuildError, match="none of the 2 documents holds any text"):
        build(recipe, {raw("a"): "", raw("b"): " "})
    for keys, error in ((["gone"], ObjectNotFoundError), (["gone", "gone"], BuildError)):
        with pytest.raises(error, match="gone"):
            asyncio.run(recipe.build(name="x", objects=MemoryObjectStore(), source_keys=keys))
    assert list(tmp_path.iterdir()) == []


def test_a_closed_knowledge_base_leaves_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The folder of a KB that was built is gone after close, and also when the KB is forgotten without it."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    kb = build(Recipe("r", modes={"m": Bm25()}), TEXTS)
    assert len(list(tmp_path.iterdir())) == 1
    kb.close()
    kb = build(Recipe("r", modes={"m": Bm25()}), TEXTS)
    del kb
    assert list(tmp_path.iterdir()) == []


def test_a_recipe_that_cannot_work_is_refused() -> None:
    """No modes, a mode name that is no file name, no way to search, and fusions of what is not there are errors."""
    with pytest.raises(RecipeError, match="'r' has no query modes"):
        Recipe("r", modes={})
    with pytest.raises(RecipeError, match=r"'\.\./up' is no name"):
        Recipe("r", modes={"../up": Bm25()})
    with pytest.raises(RecipeError, match="'m' is a str"):
        Recipe("r", modes={"m": "bm25"})  # type: ignore[dict-item]
    with pytest.raises(RecipeError, match=r"'f' cannot fuse 'b' \(it can fuse: a\)"):
        Recipe("r", modes={"a": Bm25(), "f": Fusion("a", "b")})
