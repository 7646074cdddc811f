"""The user's own search: a function over an index of theirs, or a class that builds one from the documents."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from pytest_heta.calling import call, close
from pytest_heta.errors import RecipeError
from pytest_heta.integrations.documents import read_documents
from pytest_heta.protocols import ObjectStoreProtocol, ProgressCallback
from pytest_heta.records import QueryResponse, QueryResult

MODE = "search"


class FunctionRecipe:
    """``search(query, top_k)``, sync or async, returning ``(document_id, score)`` pairs, best first.

    The ids are the benchmark's, original or in their file-name form. A result may also be a bare id or a QueryResult,
    and the whole a QueryResponse, where there is an answer.
    """

    needs_documents = False
    available_queries = (MODE,)

    def __init__(self, search: Callable[..., Any]) -> None:
        """Adapt one function; its attribute ``max_concurrency`` bounds how often it runs at once."""
        self.name = getattr(search, "__name__", type(search).__name__)
        self.max_concurrency: int | None = getattr(search, "max_concurrency", None)
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


class BuilderRecipe:
    """A class with ``build(documents)`` and ``search(query, top_k)``, both sync or async.

    ``documents`` is a list of SourceDocument; ``search`` is as for FunctionRecipe. Each knowledge base has an object of
    its own: one of the class, or a deep copy of the object that was given. ``build`` may return another object with
    ``search``, or a search function, to be asked instead; ``close`` or ``aclose`` is called in the end if there is one.
    """

    available_queries = (MODE,)

    def __init__(self, builder: Any) -> None:
        """Adapt a class that can be made without arguments, or an object."""
        self._builder = builder
        owner = builder if isinstance(builder, type) else type(builder)
        self.name = str(getattr(builder, "name", owner.__name__))
        self.max_concurrency: int | None = getattr(builder, "max_concurrency", None)

    @property
    def manifest(self) -> Mapping[str, Any]:
        """What is evaluated: what the object says of itself, or its class by name."""
        declared = getattr(self._builder, "manifest", None)
        return declared if isinstance(declared, Mapping) else {"type": "class", "class": self.name}

    async def build(
        self,
        *,
        name: str,
        objects: ObjectStoreProtocol,
        source_keys: Sequence[str],
        progress: ProgressCallback | None = None,
    ) -> FunctionKnowledgeBase:
        """Build one object of the documents.

        Raises:
            RecipeError: the object cannot be made or copied, or there is nothing to search with afterwards.

        """
        owner = self._new()
        built = await call(owner.build, await read_documents(objects, source_keys, progress))
        searcher = owner if built is None else built
        search = getattr(searcher, "search", searcher)
        if not callable(search):
            raise RecipeError(f"{self.name}.build() returned {type(built).__name__}, which cannot search")
        return FunctionKnowledgeBase(search, owner)

    def _new(self) -> Any:
        try:
            return self._builder() if isinstance(self._builder, type) else copy.deepcopy(self._builder)
        except TypeError as error:
            raise RecipeError(
                f"{self.name}: each knowledge base needs an object of its own, and none can be made: {error}; "
                "give a class whose __init__ needs no arguments"
            ) from error


class FunctionKnowledgeBase:
    """Answers every query by one call of the function."""

    available_queries = (MODE,)

    def __init__(self, search: Callable[..., Any], owner: Any = None) -> None:
        """Ask ``search``; ``owner`` is closed in the end."""
        self._search, self._owner = search, owner

    async def query(self, text: str, *, mode: str, top_k: int, **_: Any) -> QueryResponse:
        """Return what the function finds."""
        found = await call(self._search, text, top_k)
        if isinstance(found, QueryResponse):
            return found.model_copy(update={"mode": MODE})
        return QueryResponse(mode=MODE, results=tuple(_result(item) for item in _items(found)))

    async def aclose(self) -> None:
        """Close the object that was built, where it can be closed."""
        await close(self._owner)


def builds_documents(found: Any) -> bool:
    """Tell whether ``found`` has a ``build`` that takes documents, not the arguments of the recipe protocol."""
    build = getattr(found, "build", None)
    if not callable(build):
        return False
    parameters = inspect.signature(build).parameters
    takes_all = any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in parameters.values())
    return not takes_all and "source_keys" not in parameters


def _items(found: Any) -> Iterable[Any]:
    if isinstance(found, Iterable) and not isinstance(found, str | bytes | Mapping):
        return found
    raise RecipeError(f"search() returned {type(found).__name__}; expected a list of (document_id, score) pairs")


def _result(item: Any) -> QueryResult:
    match item:
        case QueryResult():
            return item
        case str():
            return QueryResult(id=item, kind="document")
        case (document_id, score):
            return QueryResult(id=str(document_id), score=score, kind="document")
    raise RecipeError(f"search() returned {item!r}; expected (document_id, score) pairs, ids or QueryResults")
