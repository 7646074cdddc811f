"""LangChain: vector stores, retrievers and chains, of the user's own or made of the benchmark's documents."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from pytest_heta.errors import RecipeError
from pytest_heta.integrations.documents import SourceDocument
from pytest_heta.integrations.framework import FrameworkRecipe, passage
from pytest_heta.knowledge.extras import require
from pytest_heta.records import QueryResponse, QueryResult

MODE = "langchain"


def adapt(found: Any, where: str) -> LangChainRecipe:
    """Return a vector store, retriever or chain, with documents of its own, as a recipe.

    Raises:
        RecipeError: it is something else of LangChain.
    """
    _searcher(found, where)
    return LangChainRecipe(lambda: found, needs_documents=False)


class LangChainRecipe(FrameworkRecipe):
    """Asks what ``build`` returns: a VectorStore, a retriever, or a chain (any other Runnable).

    ``build`` gets LangChain Documents, whose ids and metadata (``document_id``, ``source_key``) must be kept with every
    chunk, as LangChain's splitters do. Without ``needs_documents`` the metadata, or ids, of what is found must name the
    benchmark's documents. A chain is asked with ``{"input": query}``, as ``create_retrieval_chain`` makes them; it
    returns the answer, or a mapping with ``answer`` and ``context``.
    """

    kind = MODE
    libraries = ("langchain-core",)

    def document(self, document: SourceDocument) -> Any:
        """Return a LangChain Document."""
        documents = require("langchain_core.documents", "langchain")
        return documents.Document(id=document.document_id, page_content=document.text, metadata=dict(document.ids))

    def knowledge_base(self, made: Any) -> LangChainKnowledgeBase:
        """Return what asks a vector store, retriever or chain.

        Raises:
            RecipeError: it is none of these.
        """
        return LangChainKnowledgeBase(_searcher(made, self.name))


Searcher = Callable[[str, int], Any]


class LangChainKnowledgeBase:
    """Asks one vector store, retriever or chain."""

    available_queries = (MODE,)

    def __init__(self, search: Searcher) -> None:
        self._search = search

    async def query(self, text: str, *, mode: str, top_k: int, **_: Any) -> QueryResponse:
        """Ask it once."""
        answer, results = await self._search(text, top_k)
        return QueryResponse(mode=MODE, results=tuple(results[:top_k]), answer=answer)


def _searcher(found: Any, where: str) -> Searcher:
    """Return how ``found`` is asked: a coroutine function from query and top_k to an answer, if any, and hits."""
    if isinstance(found, require("langchain_core.vectorstores", "langchain").VectorStore):
        return _vector_store(found)
    if isinstance(found, require("langchain_core.retrievers", "langchain").BaseRetriever):
        return _retriever(found)
    if isinstance(found, require("langchain_core.runnables", "langchain").Runnable):
        return _chain(found)
    raise RecipeError(f"{where} is {type(found).__name__}; expected a VectorStore, a retriever or a chain of LangChain")


def _vector_store(store: Any) -> Searcher:
    async def search(query: str, top_k: int) -> tuple[None, list[QueryResult]]:
        pairs = await store.asimilarity_search_with_score(query, k=top_k)
        scores = [float(score) for _, score in pairs]
        # Best first, so scores that rise are distances: their negative is higher where a hit is better.
        sign = -1.0 if scores and scores[-1] > scores[0] else 1.0
        return None, [_hit(document, sign * score) for (document, _), score in zip(pairs, scores, strict=True)]

    return search


def _retriever(retriever: Any) -> Searcher:
    async def search(query: str, top_k: int) -> tuple[None, list[QueryResult]]:
        found = await _deep(retriever, top_k).ainvoke(query)
        return None, [_hit(document) for document in found]

    return search


def _deep(retriever: Any, top_k: int) -> Any:
    """Return a copy that finds ``top_k``, where the retriever has a ``k``, or ``search_kwargs`` with one, to set."""
    settings = getattr(retriever, "search_kwargs", None)
    if isinstance(settings, Mapping):
        return retriever.model_copy(update={"search_kwargs": {**settings, "k": top_k}})
    return retriever.model_copy(update={"k": top_k}) if hasattr(retriever, "k") else retriever


def _chain(chain: Any) -> Searcher:
    async def search(query: str, top_k: int) -> tuple[str | None, list[QueryResult]]:
        found = await chain.ainvoke({"input": query})
        if not isinstance(found, Mapping):
            return str(getattr(found, "content", found)), []
        documents: Iterable[Any] = found.get("context") or ()
        answer = found.get("answer")
        return None if answer is None else str(answer), [_hit(document) for document in documents]

    return search


def _hit(document: Any, score: float | None = None) -> QueryResult:
    return passage(passage_id=document.id, text=document.page_content, score=score, metadata=document.metadata)
