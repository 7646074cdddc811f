"""The recipe checker: a good recipe passes, and each fault is found by the check that is about it."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from pytest_heta.checking import Finding, check_recipe
from pytest_heta.checking.corpus import MAIN, QUERIES
from pytest_heta.cli import check
from pytest_heta.integrations import as_recipe
from pytest_heta.integrations.documents import SourceDocument, read_documents
from pytest_heta.keys import safe_document_id
from pytest_heta.knowledge import Bm25, Recipe, TokenChunker
from pytest_heta.records import QueryResponse, QueryResult

Hits = list[tuple[str, float]]


class Sound:
    """A recipe of the protocol without a fault; each test breaks one of its methods."""

    available_queries: tuple[str, ...] = ("words",)

    async def build(self, *, name: str, objects: Any, source_keys: Sequence[str], progress: Any = None) -> Any:
        """Keep the texts by key."""
        texts = {document.source_key: document.text for document in await read_documents(objects, source_keys)}
        return self.knowledge_base(texts)

    def knowledge_base(self, texts: dict[str, str]) -> KnowledgeBase:
        """Return what answers."""
        return KnowledgeBase(self, texts)

    def load(self, directory: Path, *, name: str) -> KnowledgeBase:
        """Open what was saved."""
        return self.knowledge_base(json.loads((directory / "texts.json").read_text()))

    def rank(self, texts: dict[str, str], query: str, top_k: int) -> Hits:
        """Rank by shared words."""
        words = set(query.lower().split())
        scored = [(key, float(len(words & set(text.lower().split())))) for key, text in texts.items()]
        return sorted(scored, key=lambda pair: -pair[1])[:top_k]

    def result(self, key: str, score: float) -> QueryResult:
        """Make a hit."""
        return QueryResult(id=f"chunk of {key}", score=score, source={"source_key": key})


class KnowledgeBase:
    """Answers with what its recipe ranks."""

    def __init__(self, recipe: Sound, texts: dict[str, str]) -> None:
        self.available_queries = recipe.available_queries
        self._recipe, self._texts = recipe, texts

    def query(self, text: str, *, mode: str, top_k: int, **_: Any) -> QueryResponse:
        """Answer one."""
        ranked = self._recipe.rank(self._texts, text, top_k)
        return QueryResponse(mode=mode, results=tuple(self._recipe.result(key, score) for key, score in ranked))

    def query_many(self, texts: Sequence[str], *, mode: str, top_k: int) -> list[QueryResponse]:
        """Answer several."""
        return [self.query(text, mode=mode, top_k=top_k) for text in texts]

    def save(self, directory: Path) -> None:
        """Keep the texts."""
        (directory / "texts.json").write_text(json.dumps(self._texts))


def findings(recipe: Any, queries: Sequence[str] = ()) -> list[Finding]:
    """Check a recipe."""

    async def work() -> list[Finding]:
        return [finding async for finding in check_recipe(recipe, queries)]

    return asyncio.run(work())


def wrong(recipe: Any, queries: Sequence[str] = ()) -> dict[str, str]:
    """Return what is wrong, by check."""
    return {finding.check: finding.message for finding in findings(recipe, queries) if finding.verdict == "wrong"}


def test_sound_recipes_pass() -> None:
    """A recipe without a fault, and the built-in one with chunks, pass each check."""
    bm25 = Recipe("bm25", chunker=TokenChunker(size=64, overlap=8), modes={"full_text_search": Bm25()})
    for recipe in (Sound(), bm25):
        found = findings(recipe)
        assert {finding.verdict for finding in found} == {"ok"}
        assert len(found) == 14


def test_each_query_has_one_telling_document() -> None:
    """The tiny corpus is sound itself: each query shares the most words with its document."""
    for name, query in QUERIES.items():
        ranked = Sound().rank(dict(MAIN.texts), query, 2)
        assert ranked[0][0] == safe_document_id(name)


def test_a_build_that_fails_ends_the_check() -> None:
    """An error while building is the only finding, with its place and text."""

    class Failing(Sound):
        def knowledge_base(self, texts: dict[str, str]) -> KnowledgeBase:
            raise ValueError("the disk is full")

    (only,) = findings(Failing())
    assert (only.check, only.verdict) == ("build", "wrong")
    assert only.message.endswith("ValueError: the disk is full")
    assert "test_checker.py:" in only.message


def test_lost_ids_are_found() -> None:
    """Hits that name no document, or one that was never given, are told apart."""

    class Anonymous(Sound):
        def result(self, key: str, score: float) -> QueryResult:
            return QueryResult(id="chunk_1", score=score)

    class Renamed(Sound):
        def result(self, key: str, score: float) -> QueryResult:
            return QueryResult(id="doc_1", score=score, kind="document")

    assert "hits name no document, such as 'chunk_1'" in wrong(Anonymous())["ids"]
    assert "never given, such as 'doc_1'" in wrong(Renamed())["ids"]


def test_results_in_the_wrong_order_are_found() -> None:
    """Scores that rise, and scores that are no numbers, are errors."""

    class Distances(Sound):
        def result(self, key: str, score: float) -> QueryResult:
            return super().result(key, 1 - score)

    class Nan(Sound):
        def result(self, key: str, score: float) -> QueryResult:
            return super().result(key, float("nan"))

    assert "negate distances" in wrong(Distances())["order"]
    assert "not a number" in wrong(Nan())["order"]


def test_too_many_hits_are_found() -> None:
    """A recipe that ignores top_k is told so."""

    class Endless(Sound):
        def rank(self, texts: dict[str, str], query: str, top_k: int) -> Hits:
            return super().rank(texts, query, 100)

    assert wrong(Endless())["top_k"] == "top_k=1 gave 11 hits: cut the list"


def test_hits_that_change_are_found() -> None:
    """A recipe that answers the same query differently the second time is told so."""

    class Fickle(Sound):
        calls = 0

        def rank(self, texts: dict[str, str], query: str, top_k: int) -> Hits:
            self.calls += 1
            return super().rank(texts, query, top_k)[self.calls % 2 :]

    assert "runs cannot be compared" in wrong(Fickle())["determinism"]


class Unsafe(Sound):
    """Keeps the query in the object, where another thread overwrites it."""

    def rank(self, texts: dict[str, str], query: str, top_k: int) -> Hits:
        """Use the object as scratch space."""
        self.scratch = query
        time.sleep(0.002)
        return super().rank(texts, self.scratch, top_k)


def test_queries_that_disturb_each_other_are_found() -> None:
    """State that is shared between queries is found, unless the recipe asks for one query at a time."""

    class Careful(Unsafe):
        max_concurrency = 1

    assert "max_concurrency = 1" in wrong(Unsafe())["at once"]
    assert wrong(Careful()) == {}


def test_an_error_in_a_query_is_a_finding() -> None:
    """A query that raises is reported by the checks that needed it, and the other checks still run."""

    class Broken(Sound):
        def rank(self, texts: dict[str, str], query: str, top_k: int) -> Hits:
            if top_k == 1000:
                raise IndexError("too deep")
            return super().rank(texts, query, top_k)

    assert list(wrong(Broken())) == ["top_k"]
    assert wrong(Broken())["top_k"].endswith("IndexError: too deep")


def test_a_shared_index_is_found() -> None:
    """A recipe whose knowledge bases share one index leaks documents from one run unit to another."""

    class Shared(Sound):
        def __init__(self) -> None:
            self.all: dict[str, str] = {}

        def knowledge_base(self, texts: dict[str, str]) -> KnowledgeBase:
            self.all.update(texts)
            return KnowledgeBase(self, self.all)

    assert "a document of another one" in wrong(Shared())["leaks"]


def test_lost_duplicates_are_found() -> None:
    """A recipe that keys its chunks by their text loses a document with the same text as another."""

    class ByText(Sound):
        def knowledge_base(self, texts: dict[str, str]) -> KnowledgeBase:
            return KnowledgeBase(self, {key: text for text, key in {text: key for key, text in texts.items()}.items()})

    assert "'first' is lost" in wrong(ByText())["duplicates"]


def test_batches_that_differ_are_found() -> None:
    """A query_many in another order, or with too few answers, is told apart from query."""

    class Reversed(KnowledgeBase):
        def query_many(self, texts: Sequence[str], *, mode: str, top_k: int) -> list[QueryResponse]:
            return super().query_many(texts, mode=mode, top_k=top_k)[::-1]

    class Short(KnowledgeBase):
        def query_many(self, texts: Sequence[str], *, mode: str, top_k: int) -> list[QueryResponse]:
            return super().query_many(texts[1:], mode=mode, top_k=top_k)

    def with_base(base: type[KnowledgeBase]) -> Sound:
        recipe = Sound()
        recipe.knowledge_base = lambda texts: base(recipe, texts)  # type: ignore[method-assign]
        return recipe

    assert "in a batch and" in wrong(with_base(Reversed))["batches"]
    assert wrong(with_base(Short))["batches"] == "query_many returned 5 responses to 6 queries"


def test_what_is_lost_in_saving_is_found() -> None:
    """A knowledge base that answers otherwise after loading is told so."""

    class Forgetful(Sound):
        def load(self, directory: Path, *, name: str) -> KnowledgeBase:
            return self.knowledge_base(dict(list(json.loads((directory / "texts.json").read_text()).items())[1:]))

    assert "after loading" in wrong(Forgetful())["keeping"]


def test_nonsense_results_are_found() -> None:
    """A recipe whose first hits never answer the query is told so; one that finds nothing, too."""

    class Worst(Sound):
        def rank(self, texts: dict[str, str], query: str, top_k: int) -> Hits:
            return [(key, -score) for key, score in super().rank(texts, query, 100)[::-1]][:top_k]

    class Nothing(Sound):
        def rank(self, texts: dict[str, str], query: str, top_k: int) -> Hits:
            return []

    assert "for 6 of 6 queries" in wrong(Worst())["relevance"]
    assert "none of 6 queries found anything" in wrong(Nothing())["responses"]


def test_declared_modes_must_be_there() -> None:
    """A knowledge base without modes, or with others than its recipe declares, is told so."""

    class Modeless(Sound):
        def knowledge_base(self, texts: dict[str, str]) -> KnowledgeBase:
            kb = super().knowledge_base(texts)
            kb.available_queries = ()
            return kb

    class Promising(Modeless):
        def knowledge_base(self, texts: dict[str, str]) -> KnowledgeBase:
            kb = super().knowledge_base(texts)
            kb.available_queries = ("words", "vectors")
            return kb

    assert "no available_queries" in wrong(Modeless())["modes"]
    assert wrong(Promising())["modes"] == "the recipe declares ('words',), its knowledge base has ('words', 'vectors')"


def test_a_function_is_checked_on_its_own_documents() -> None:
    """A recipe without documents is asked the user's queries; what needs a corpus is skipped or left out."""
    asked = set()

    def search(query: str, top_k: int) -> Hits:
        asked.add((query, threading.current_thread() is threading.main_thread()))
        return [("D1", 1.0)][:top_k]

    found = findings(as_recipe(search, "here"), ["my query"])
    assert {finding.verdict for finding in found} == {"ok", "skipped"}
    assert {"leaks", "duplicates", "keeping"}.isdisjoint(finding.check for finding in found)
    assert asked == {("my query", False)}


def test_documents_reach_a_class_with_build() -> None:
    """A class with ``build(documents)`` is checked like any other recipe."""

    class Mine:
        def build(self, documents: list[SourceDocument]) -> None:
            self.texts = {document.document_id: document.text for document in documents}

        def search(self, query: str, top_k: int) -> Hits:
            return Sound().rank(self.texts, query, top_k)

    assert wrong(as_recipe(Mine, "here")) == {}


def test_the_command_lists_findings_and_tells_by_its_exit_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The command prints a line a check and a total; it returns 1 where something is wrong."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "good.py").write_text("def search(query, top_k):\n    return ['D1'][:top_k]\n")
    (tmp_path / "bad.py").write_text("def search(query, top_k):\n    return ['D1', 'D2']\n")
    assert _command("good.py", "--query", "what is D1") == 0
    assert "ok      ids [search]: every hit names a document" in capsys.readouterr().out
    assert _command("bad.py") == 1
    lines = capsys.readouterr().out.splitlines()
    assert "wrong   top_k [search]: top_k=1 gave 2 hits: cut the list" in lines
    assert lines[-1] == "8 ok, 1 wrong, 2 skipped"


def _command(*arguments: str) -> int:
    import argparse

    parser = argparse.ArgumentParser()
    check.COMMAND.configure(parser)
    assert check.COMMAND.run is not None
    return check.COMMAND.run(parser.parse_args(arguments))
