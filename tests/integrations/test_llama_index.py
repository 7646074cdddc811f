"""LlamaIndex: what the real library makes is asked, with ids kept and hidden from the model."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

pytest.importorskip("llama_index.core", reason="llama_index is not installed: pip install 'pytest-heta[llama-index]'")

from llama_index.core import Settings, VectorStoreIndex, get_response_synthesizer
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.llms import MockLLM
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.response_synthesizers import ResponseMode
from llama_index.core.schema import Document, MetadataMode, TextNode

from pytest_heta.checking import check_recipe
from pytest_heta.engine.recipes import load_recipe, parse_recipe_spec
from pytest_heta.errors import RecipeError
from pytest_heta.integrations import as_recipe
from pytest_heta.integrations.llama_index import LlamaIndexRecipe
from pytest_heta.keys import document_id_of
from pytest_heta.records import QueryResponse
from tests.integrations.helpers import ZOO, ask, build
from tests.shared_data import ROOT

LION = "where does the lion sleep"


class WordCounts(BaseEmbedding):
    """Counts the words that the zoo is told apart by."""

    def _get_text_embedding(self, text: str) -> list[float]:
        return [1.0 + text.lower().count(word) for word in ("lion", "otter", "owl", "shade", "stone", "snow")]

    def _get_query_embedding(self, query: str) -> list[float]:
        return self._get_text_embedding(query)

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_text_embedding(query)


def index(given: list[Document]) -> VectorStoreIndex:
    """Return an index of the documents."""
    return VectorStoreIndex.from_documents(given, embed_model=WordCounts(model_name="counts"))


def engine(given: list[Document]) -> RetrieverQueryEngine:
    """Return a query engine that answers with the passages themselves."""
    synthesizer = get_response_synthesizer(llm=MockLLM(), response_mode=ResponseMode.CONTEXT_ONLY)
    return RetrieverQueryEngine(index(given).as_retriever(similarity_top_k=1), synthesizer)


def found(recipe: Any, top_k: int = 3) -> QueryResponse:
    """Ask a recipe of the zoo once."""

    async def work() -> QueryResponse:
        return await ask(await build(recipe), LION, mode="llama_index", top_k=top_k)

    return asyncio.run(work())


def documents(response: QueryResponse) -> list[str | None]:
    """Return the document of each hit."""
    return [document_id_of(hit) for hit in response.results]


@pytest.fixture(autouse=True)
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have no model: LlamaIndex would look for that of OpenAI."""
    monkeypatch.setattr(Settings, "_llm", MockLLM())


def test_an_index_is_asked_as_deep_as_the_metric() -> None:
    """An index made of the documents finds them by id, best first, to the depth asked for."""
    response = found(LlamaIndexRecipe(index))
    assert documents(response)[0] == "lion"
    assert set(documents(response)) == set(ZOO)
    scores = [hit.score or 0.0 for hit in response.results]
    assert scores == sorted(scores, reverse=True)
    assert response.results[0].text == ZOO["lion"]


def test_a_retriever_keeps_its_own_depth() -> None:
    """A retriever is asked as it was made."""
    response = found(LlamaIndexRecipe(lambda given: index(given).as_retriever(similarity_top_k=2)))
    assert documents(response)[0] == "lion"
    assert len(response.results) == 2


def test_a_query_engine_answers_and_its_sources_are_scored() -> None:
    """The answer of a query engine and its source nodes are in the response."""
    response = found(LlamaIndexRecipe(engine))
    assert response.answer is not None
    assert ZOO["lion"] in response.answer
    assert documents(response) == ["lion"]


def test_ids_are_hidden_from_models() -> None:
    """Neither embeddings nor prompts see the ids in the metadata."""
    given: list[Document] = []

    def kept(documents: list[Document]) -> VectorStoreIndex:
        given.extend(documents)
        return index(documents)

    found(LlamaIndexRecipe(kept))
    for mode in (MetadataMode.EMBED, MetadataMode.LLM):
        assert given[0].get_content(metadata_mode=mode) == ZOO["lion"]
    assert given[0].metadata["document_id"] == "lion"


def test_an_index_in_a_file_needs_no_documents() -> None:
    """An index over documents of its own is a recipe as it is; the ids of its documents, or its metadata, count."""
    recipe: Any = as_recipe(index([Document(id_="D1", text="a lion")]), "here")
    assert recipe.needs_documents is False
    assert documents(found(recipe)) == ["D1"]
    nodes = [TextNode(text="a lion", metadata={"document_id": "D7"})]
    assert documents(found(as_recipe(VectorStoreIndex(nodes, embed_model=WordCounts(model_name="c")), "here"))) == [
        "D7"
    ]


def test_what_cannot_be_asked_is_refused() -> None:
    """A node is no recipe."""
    with pytest.raises(RecipeError, match="here is TextNode; expected an index, a retriever or a query engine"):
        as_recipe(TextNode(text="x"), "here")


def test_the_recipe_file_passes_the_checker() -> None:
    """recipes/llama_index_vectors.py passes every check: ids, order, depth, concurrency, leaks, equal documents."""
    pytest.importorskip("wordllama", reason="wordllama is not installed: pip install 'pytest-heta[vector]'")

    async def work() -> list[str]:
        loaded = await load_recipe(parse_recipe_spec("recipes/llama_index_vectors.py", ROOT))
        return [str(finding) async for finding in check_recipe(loaded.recipe) if finding.verdict == "wrong"]

    assert asyncio.run(work()) == []
