"""Haystack: real indexing and query pipelines are filled and asked, with ids kept."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

pytest.importorskip("haystack.core", reason="haystack is not installed: pip install 'pytest-heta[haystack]'")

from haystack import Document, Pipeline, component
from haystack.components.joiners import DocumentJoiner
from haystack.components.preprocessors import DocumentSplitter
from haystack.components.retrievers.in_memory import InMemoryBM25Retriever
from haystack.components.writers import DocumentWriter
from haystack.document_stores.in_memory import InMemoryDocumentStore

from pytest_heta.checking import check_recipe
from pytest_heta.engine.recipes import load_recipe, parse_recipe_spec
from pytest_heta.errors import RecipeError
from pytest_heta.integrations import as_recipe
from pytest_heta.integrations.haystack import HaystackRecipe
from pytest_heta.keys import document_id_of
from pytest_heta.records import QueryResponse
from tests.integrations.helpers import ZOO, ask, build
from tests.shared_data import ROOT


@component
class Quoting:
    """Stands in for a generator: replies with the first document."""

    @component.output_types(replies=list[str])
    def run(self, documents: list[Document]) -> dict[str, list[str]]:
        """Reply."""
        return {"replies": [f"It says: {documents[0].content}"]}


def indexing(store: InMemoryDocumentStore) -> Pipeline:
    """Return a pipeline that splits and writes."""
    pipeline = Pipeline()
    pipeline.add_component("splitter", DocumentSplitter(split_by="word", split_length=5))
    pipeline.add_component("writer", DocumentWriter(store))
    pipeline.connect("splitter", "writer")
    return pipeline


def searching() -> tuple[Pipeline, Pipeline]:
    """Return the pipelines of a BM25 search."""
    store = InMemoryDocumentStore()
    querying = Pipeline()
    querying.add_component("retriever", InMemoryBM25Retriever(store))
    return indexing(store), querying


def answering() -> tuple[Pipeline, Pipeline]:
    """Return the pipelines of two retrievers, a joiner, and what replies."""
    store = InMemoryDocumentStore()
    querying = Pipeline()
    querying.add_component("quoting", Quoting())
    querying.add_component("joiner", DocumentJoiner(top_k=2))
    querying.add_component("one", InMemoryBM25Retriever(store))
    querying.add_component("two", InMemoryBM25Retriever(store))
    for sender, receiver in (("one", "joiner"), ("two", "joiner"), ("joiner", "quoting")):
        querying.connect(sender, receiver)
    return indexing(store), querying


def found(recipe: Any, top_k: int = 4) -> QueryResponse:
    """Ask a recipe of the zoo once."""

    async def work() -> QueryResponse:
        return await ask(await build(recipe), "lion sleeps shade acacia", mode="haystack", top_k=top_k)

    return asyncio.run(work())


def documents(response: QueryResponse) -> list[str | None]:
    """Return the document of each hit."""
    return [document_id_of(hit) for hit in response.results]


def test_pipelines_are_filled_and_asked() -> None:
    """Chunks of the indexing pipeline are found by the query pipeline, with document ids and scores, and no deeper."""
    response = found(HaystackRecipe.of_pipelines(searching))
    assert documents(response) == ["lion", "lion"]
    assert response.results[0].text in ZOO["lion"]
    scores = [hit.score or 0.0 for hit in response.results]
    assert scores == sorted(scores, reverse=True)
    assert len(found(HaystackRecipe.of_pipelines(searching), top_k=1).results) == 1


def test_the_last_documents_and_the_reply_are_scored() -> None:
    """Where several components give documents, the last one's count; the reply at the end is the answer."""
    response = found(HaystackRecipe.of_pipelines(answering), top_k=2)
    assert len(response.results) == 2
    assert response.answer is not None
    assert response.answer == f"It says: {response.results[0].text}"


def test_a_query_pipeline_in_a_file_needs_no_documents() -> None:
    """A pipeline over documents of its own is a recipe as it is."""
    store = InMemoryDocumentStore()
    store.write_documents([Document(content="a lion in the shade", meta={"document_id": "D7"})])
    querying = Pipeline()
    querying.add_component("retriever", InMemoryBM25Retriever(store))
    recipe: Any = as_recipe(querying, "here")
    assert recipe.needs_documents is False
    assert documents(found(recipe)) == ["D7"]


def test_what_cannot_be_asked_is_refused() -> None:
    """A document is no recipe, one pipeline is not two, and a pipeline must take a query."""
    with pytest.raises(RecipeError, match="here is Document; expected a Pipeline"):
        as_recipe(Document(content="x"), "here")
    with pytest.raises(RecipeError, match="no component of the pipeline has an open input 'query' or 'text'"):
        found(HaystackRecipe.of_pipelines(lambda: (searching()[0], Pipeline())))


def test_the_recipe_file_passes_the_checker() -> None:
    """recipes/haystack_pipelines.py passes every check: ids, order, depth, concurrency, leaks, equal documents."""

    async def work() -> list[str]:
        loaded = await load_recipe(parse_recipe_spec("recipes/haystack_pipelines.py", ROOT))
        return [str(finding) async for finding in check_recipe(loaded.recipe) if finding.verdict == "wrong"]

    assert asyncio.run(work()) == []
