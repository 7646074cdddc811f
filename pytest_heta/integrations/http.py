"""A deployed search or RAG service as a recipe: how to ask it, and where the hits are in what it answers."""

from __future__ import annotations

import re
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, asdict, dataclass, field
from typing import Any

from pytest_heta.errors import QueryError, RecipeError
from pytest_heta.integrations.documents import read_documents
from pytest_heta.integrations.http_ingest import Ingest
from pytest_heta.integrations.templates import (
    check_placeholders,
    contents,
    dig,
    fill,
    fill_url,
    placeholders,
    with_environment,
)
from pytest_heta.integrations.web import JsonService
from pytest_heta.keys import document_id_of_key
from pytest_heta.protocols import ObjectStoreProtocol, ProgressCallback
from pytest_heta.records import QueryResponse, QueryResult

_NAMES = ("query", "top_k", "mode", "index")


@dataclass(frozen=True)
class HttpRecipe:
    """Asks a service over HTTP.

    ``url``, ``params`` and ``request`` (the JSON body; None: no body) may hold ``{query}``, ``{top_k}``, ``{mode}`` and
    ``{index}``. Header values may hold ``${VARIABLE}`` of the environment, for keys that belong in no file.

    In the answer, dotted paths such as ``hits.0.source`` say where things are: ``results`` the list of hits (None: no
    hits, only an answer), and in each hit ``document_id`` (an id of the benchmark or a raw key), ``score`` and
    ``text``; beside the list ``answer``, and in ``metadata`` whatever the report shall keep, by name.

    Without ``ingest`` the service searches documents of its own. ``timeout`` is in seconds; ``requests_per_second``
    and ``max_concurrency`` hold in each process.
    """

    url: str
    _: KW_ONLY
    method: str | None = None
    params: Mapping[str, Any] | None = None
    request: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)
    results: str | None = "results"
    document_id: str = "id"
    score: str | None = "score"
    text: str | None = None
    answer: str | None = None
    metadata: Mapping[str, str] = field(default_factory=dict)
    modes: tuple[str, ...] = ("search",)
    ingest: Ingest | None = None
    timeout: float = 30
    requests_per_second: float | None = None
    max_concurrency: int | None = None
    name: str = "http"

    def __post_init__(self) -> None:
        """Refuse a mapping that cannot work.

        Raises:
            RecipeError: the query is not sent, a placeholder does not exist, or nothing is read from the answer.

        """
        used = set(placeholders([self.url, self.params, self.request]))
        if "query" not in used:
            raise RecipeError(f"{self.url}: neither url, params nor request holds {{query}}")
        if self.results is None and self.answer is None:
            raise RecipeError(f"{self.url}: with neither results nor answer, nothing is read from the answer")
        check_placeholders(used, _NAMES)

    @property
    def needs_documents(self) -> bool:
        """Whether the benchmark's documents are sent to the service."""
        return self.ingest is not None

    @property
    def available_queries(self) -> tuple[str, ...]:
        """The modes, as given."""
        return self.modes

    @property
    def manifest(self) -> dict[str, Any]:
        """The declaration; header values stand as they are written, so that no secret is in it."""
        return {"type": "http", **asdict(self)}

    async def build(
        self,
        *,
        name: str,
        objects: ObjectStoreProtocol,
        source_keys: Sequence[str],
        progress: ProgressCallback | None = None,
    ) -> HttpKnowledgeBase:
        """Send the documents where the service takes them, and return what asks it.

        Raises:
            RecipeError: an environment variable is not set.
            BuildError: the service does not take a document.

        """
        service = JsonService(
            headers=with_environment(self.headers),
            timeout=self.timeout,
            requests_per_second=self.requests_per_second,
        )
        index = f"{re.sub('[^a-z0-9]+', '-', name.lower()).strip('-')[:40]}-{uuid.uuid4().hex[:12]}"
        kb = HttpKnowledgeBase(self, service, index)
        try:
            if self.ingest is not None:
                await self.ingest.send(service, index, await read_documents(objects, source_keys), progress)
        except BaseException:
            await kb.aclose()
            raise
        return kb


class HttpKnowledgeBase:
    """Asks a service; ``index`` is the name that its documents went under."""

    def __init__(self, recipe: HttpRecipe, service: JsonService, index: str) -> None:
        self._recipe, self._service, self._index = recipe, service, index
        self._method = recipe.method or ("GET" if recipe.request is None else "POST")
        self.available_queries = recipe.modes

    async def query(self, text: str, *, mode: str, top_k: int, **_: Any) -> QueryResponse:
        """Ask once.

        Raises:
            QueryError: the service fails, or its answer does not have what the recipe says.

        """
        recipe = self._recipe
        values = {"query": text, "top_k": top_k, "mode": mode, "index": self._index}
        found = await self._service.ask(
            self._method,
            fill_url(recipe.url, values),
            body=fill(recipe.request, values),
            params=fill(recipe.params, values),
        )
        return QueryResponse(
            mode=mode,
            results=self._results(found),
            answer=None if recipe.answer is None else _text(dig(found, recipe.answer, "answer")),
            metadata={name: dig(found, path, f"metadata {name!r}") for name, path in recipe.metadata.items()},
        )

    def _results(self, found: Any) -> tuple[QueryResult, ...]:
        if self._recipe.results is None:
            return ()
        hits = dig(found, self._recipe.results, "results")
        if not isinstance(hits, list):
            place = self._recipe.results or "."
            raise QueryError(f"the results at {place!r} are {type(hits).__name__}, not a list ({contents(hits)})")
        return tuple(map(self._result, hits))

    def _result(self, hit: Any) -> QueryResult:
        recipe = self._recipe
        found = dig(hit, recipe.document_id, "document id", "the hit")
        if isinstance(found, bool) or not isinstance(found, str | int):
            raise QueryError(f"the document id at {recipe.document_id!r} is {str(found)[:80]!r}, not a text or number")
        named = str(found)
        score = None if recipe.score is None else dig(hit, recipe.score, "score", "the hit")
        if score is not None and (isinstance(score, bool) or not isinstance(score, int | float)):
            raise QueryError(f"the score at {recipe.score!r} is {score!r}, not a number")
        text = "" if recipe.text is None else _text(dig(hit, recipe.text, "text", "the hit")) or ""
        return QueryResult(id=document_id_of_key(named) or named, kind="document", score=score, text=text)

    async def aclose(self) -> None:
        """Have the service forget the documents that were sent, and close the connections."""
        try:
            if self._recipe.ingest is not None:
                await self._recipe.ingest.undo(self._service, self._index)
        finally:
            await self._service.aclose()


def _text(value: Any) -> str | None:
    return None if value is None else str(value)
