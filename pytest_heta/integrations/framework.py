"""What the recipes of all frameworks have in common: a function makes something to ask out of documents."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

from pytest_heta.calling import call
from pytest_heta.integrations.documents import SourceDocument, read_documents
from pytest_heta.protocols import ObjectStoreProtocol, ProgressCallback
from pytest_heta.records import QueryResult


class FrameworkRecipe:
    """Asks what ``build`` (sync or async) returns; ``kind`` names the framework, and the query mode.

    ``build`` gets the benchmark's documents as the framework's own; without ``needs_documents`` it gets nothing, and
    returns what searches documents of its own. Each framework says how a document is made and how the thing is asked.
    """

    kind: ClassVar[str]
    libraries: ClassVar[tuple[str, ...]]

    def __init__(
        self,
        build: Callable[..., Any],
        *,
        needs_documents: bool = True,
        name: str | None = None,
        max_concurrency: int | None = None,
    ) -> None:
        """Take the function; ``max_concurrency`` bounds the queries under way at once."""
        self.name, self.available_queries = name or self.kind, (self.kind,)
        self.needs_documents, self.max_concurrency, self._make = needs_documents, max_concurrency, build

    @property
    def manifest(self) -> dict[str, Any]:
        """The framework, and the function by its name."""
        return {"name": self.name, "type": self.kind, "build": getattr(self._make, "__qualname__", "build")}

    async def build(
        self,
        *,
        name: str,
        objects: ObjectStoreProtocol,
        source_keys: Sequence[str],
        progress: ProgressCallback | None = None,
    ) -> Any:
        """Make what is asked.

        Raises:
            RecipeError: it is nothing that the framework can ask.
        """
        if not self.needs_documents:
            return self.knowledge_base(await call(self._make))
        documents = await read_documents(objects, source_keys, progress)
        return self.knowledge_base(await call(self._make, [self.document(document) for document in documents]))

    def document(self, document: SourceDocument) -> Any:
        """Return a document as the framework's own, with ids in its metadata."""
        raise NotImplementedError

    def knowledge_base(self, made: Any) -> Any:
        """Return what asks the thing that the function made."""
        raise NotImplementedError


def passage(
    *, passage_id: Any, text: str, score: float | None, metadata: Mapping[str, Any], document_id: str | None = None
) -> QueryResult:
    """Return a framework's passage as a hit.

    The document is named by ``source_key`` or ``document_id`` in the metadata; else by ``document_id`` as the
    framework knows it, else by the passage's own id.
    """
    source = {name: metadata[name] for name in ("source_key", "document_id") if metadata.get(name)}
    fallback = document_id or passage_id
    if not source and fallback:
        source = {"document_id": str(fallback)}
    return QueryResult(
        id=str(passage_id or source.get("document_id") or source.get("source_key") or "unnamed"),
        text=text,
        score=None if score is None else float(score),
        source=source,
    )
