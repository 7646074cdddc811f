"""LangChain: what the real library makes is asked, with ids kept."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("langchain_core", reason="langchain_core is not installed: pip install 'pytest-heta[langchain]'")

from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding, Embeddings
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableLambda
from langchain_core.vectorstores import InMemoryVectorStore

from pytest_heta.checking import check_recipe
from pytest_heta.engine.recipes import load_recipe, parse_recipe_spec
from pytest_heta.errors import RecipeError
from pytest_heta.integrations import as_recipe
from pytest_heta.integrations.langchain import LangChainRecipe
from pytest_heta.keys import document_id_of
from pytest_heta.records import QueryResponse
from tests.integrations.helpers import ZOO, ask, build, overlap
from tests.shared_data import ROOT

LION = "where does the lion sleep"


class WordCounts(Embeddings):
    """Counts the words that the zoo is told apart by."""

    words = ("lion", "otter", "owl", "shade", "stone", "snow")

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Count."""
        return [[1.0 + text.lower().count(word) for word in self.words] for text in texts]

    def embed_query(self, text: str) -> list[float]:
        """Count."""
        return self.embed_documents([text])[0]


class Overlapping(BaseRetriever):
    """Ranks by shared words; has a ``k`` as many retrievers do."""

    documents: list[Document]
    k: int = 1

    def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        ranked = sorted(self.documents, key=lambda document: -overlap(query, document.page_content))
        return ranked[: self.k]


def found(recipe: Any, query: str = LION, top_k: int = 2) -> QueryResponse:
    """Ask a recipe of the zoo once."""

    async def work() -> QueryResponse:
        return await ask(await build(recipe), query, mode="langchain", top_k=top_k)

    return asyncio.run(work())


def documents(response: QueryResponse) -> list[str | None]:
    """Return the document of each hit."""
    return [document_id_of(hit) for hit in response.results]


def store(given: list[Document]) -> InMemoryVectorStore:
    """Fill a vector store."""
    return InMemoryVectorStore.from_documents(given, WordCounts())


def test_a_vector_store_is_filled_and_asked() -> None:
    """A store made of the documents finds them by id, with scores best first, to the depth asked for."""
    response = found(LangChainRecipe(store), top_k=3)
    assert documents(response)[0] == "lion"
    assert set(documents(response)) == set(ZOO)
    scores = [hit.score or 0.0 for hit in response.results]
    assert scores == sorted(scores, reverse=True)
    assert response.results[0].text == ZOO["lion"]


def test_distances_are_negated() -> None:
    """A store that returns distances, the smallest first, gives scores of which the highest is the best."""

    class Distances(InMemoryVectorStore):
        async def asimilarity_search_with_score(self, *args: Any, **kwargs: Any) -> list[tuple[Document, float]]:
            return [(document, 1 - score) for document, score in self.similarity_search_with_score(*args, **kwargs)]

    response = found(LangChainRecipe(lambda given: Distances.from_documents(given, WordCounts())), top_k=3)
    scores = [hit.score or 0.0 for hit in response.results]
    assert documents(response)[0] == "lion"
    assert scores == sorted(scores, reverse=True)
    assert scores[-1] < 0


@pytest.mark.parametrize(
    "make",
    [
        lambda given: Overlapping(documents=given),
        lambda given: store(given).as_retriever(search_kwargs={"k": 1}),
        lambda given: store(given).as_retriever(),
    ],
)
def test_a_retriever_goes_as_deep_as_the_metric(make: Any) -> None:
    """A retriever with a depth of its own is asked for what the benchmark needs, and stays as it is."""
    response = found(LangChainRecipe(make), top_k=3)
    assert documents(response)[0] == "lion"
    assert len(response.results) == 3


def test_a_retriever_in_a_file_needs_no_documents() -> None:
    """A retriever or store over documents of its own is a recipe as it is; ids come from metadata, or are its own."""
    retriever = Overlapping(documents=[Document(id="lion", page_content=ZOO["lion"]), Document(page_content="an owl")])
    recipe: Any = as_recipe(retriever, "here")
    assert recipe.needs_documents is False
    assert documents(found(recipe)) == ["lion", None]
    own = InMemoryVectorStore(WordCounts())
    own.add_documents([Document(page_content="a lion", metadata={"document_id": "D7"})])
    assert documents(found(as_recipe(own, "here"))) == ["D7"]


def test_a_chain_answers() -> None:
    """A chain is asked as create_retrieval_chain's are: its answer and its context are scored; a text is an answer."""

    def make(given: list[Document]) -> Any:
        return RunnableLambda(lambda asked: {"answer": f"{asked['input']}: in the shade", "context": given[:1]})

    response = found(LangChainRecipe(make))
    assert response.answer == "where does the lion sleep: in the shade"
    assert documents(response) == ["lion"]
    plain = found(LangChainRecipe(lambda given: RunnableLambda(lambda asked: "in the shade")))
    assert (plain.answer, plain.results) == ("in the shade", ())


def test_what_cannot_be_asked_is_refused() -> None:
    """An embedding is no recipe, and neither is what a build function returns by mistake."""
    with pytest.raises(RecipeError, match="here is DeterministicFakeEmbedding; expected a VectorStore"):
        as_recipe(DeterministicFakeEmbedding(size=3), "here")
    with pytest.raises(RecipeError, match="is list; expected a VectorStore"):
        found(LangChainRecipe(lambda given: given))


def test_the_recipe_file_passes_the_checker() -> None:
    """recipes/langchain_retriever.py passes every check: ids, order, depth, concurrency, leaks, equal documents."""
    pytest.importorskip("wordllama", reason="wordllama is not installed: pip install 'pytest-heta[vector]'")

    async def work() -> list[str]:
        loaded = await load_recipe(parse_recipe_spec("recipes/langchain_retriever.py", Path(ROOT)))
        return [str(finding) async for finding in check_recipe(loaded.recipe) if finding.verdict == "wrong"]

    assert asyncio.run(work()) == []
