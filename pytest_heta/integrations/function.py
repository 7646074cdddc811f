"""A plain search function as a recipe: the index is the user's own, nothing is built."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from pytest_heta.errors import RecipeError
from pytest_heta.protocols import ObjectStoreProtocol, ProgressCallback
from pytest_heta.records import QueryResponse, QueryResult

MODE = "search"


class FunctionRecipe:
    """``search(query, top_k)``, sync or async, returning ``(document_id, score)`` pairs, best first.

    The ids are the benchmark's, original or in their file-name form. A result may also be a bare id or a QueryResult.
    """

    needs_documents = False
    available_queries = (MODE,)

    def __init__(self, search: Callable[..., Any]) -> None:
        """Adapt one function."""
        self.name = getattr(search, "__name__", type(search).__name__)
        self._search = search

    @property
    def manifest(self) -> Mapping[str, Any]:
        """What is evaluated: the function by its name."""
        return {"type": "function", "function": self.name}

    def build(
        self,
        *,
        name: str,
        objects: ObjectStoreProtocol,
        source_keys: Sequence[str],
        progress: ProgressCallback | None = None,
    ) -> FunctionKnowledgeBase:
        """Return the function as a knowledge base; the documents are not looked at."""
        return FunctionKnowledgeBase(self._search)


class FunctionKnowledgeBase:
    """Answers every query by one call of the function."""

    available_queries = (MODE,)

    def __init__(self, search: Callable[..., Any]) -> None:
        """Find out once whether the function is asynchronous, so that only a synchronous one costs a thread."""
        self._search = search
        self.query = self._query_async if inspect.iscoroutinefunction(search) else self._query

    def _query(self, text: str, *, mode: str, top_k: int, **_: Any) -> QueryResponse:
        return self._response(self._search(text, top_k))

    async def _query_async(self, text: str, *, mode: str, top_k: int, **_: Any) -> QueryResponse:
        return self._response(await self._search(text, top_k))

    def _response(self, found: Iterable[Any]) -> QueryResponse:
        return QueryResponse(mode=MODE, results=tuple(_result(item) for item in found))


def _result(item: Any) -> QueryResult:
    match item:
        case QueryResult():
            return item
        case str():
            return QueryResult(id=item, kind="document")
        case (document_id, score):
            return QueryResult(id=str(document_id), score=score, kind="document")
    raise RecipeError(f"search() returned {item!r}; expected (document_id, score) pairs, ids or QueryResults")
