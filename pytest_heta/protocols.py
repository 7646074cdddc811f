"""What the parts of pytest-heta expect of each other. Anything that has these members will do; nothing is inherited.

A member marked *optional* is looked up with ``getattr``: an object without it is complete.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from pytest_heta.records import (
    BenchmarkCase,
    BenchmarkDocument,
    BenchmarkManifest,
    BenchmarkResource,
    BenchmarkRunUnit,
    BenchmarkWorkspace,
    EvaluationScore,
    PreparedBenchmark,
    QueryResponse,
)

ProgressCallback = Callable[[str, int, "int | None"], None]
"""Called as ``progress(stage, done, total)``; ``total`` is None where it is not known."""


class BenchmarkEvaluatorProtocol(Protocol):
    """Scores one response to one case.

    Optional members: ``k`` (int), how many results it looks at; ``distinct_documents`` (bool), whether ``k`` counts
    documents, not hits; ``drop_query_id`` (bool), whether the document with the case's own id does not count;
    ``definition`` (str), everything that changes its values, for comparing runs.
    """

    @property
    def name(self) -> str:
        """The metric's name, unique in a run."""
        ...

    async def evaluate(self, *, case: BenchmarkCase, response: QueryResponse) -> EvaluationScore:
        """Return the score, unscored where the case has no label for this metric."""
        ...


class BenchmarkProtocol(Protocol):
    """Turns an external benchmark into documents, cases and run units. It never builds, queries or aggregates.

    Optional member: ``async documents_digest(prepared, unit) -> str``, a cheap digest of the unit's documents.
    """

    @property
    def manifest(self) -> BenchmarkManifest:
        """What this benchmark is."""
        ...

    def resources(self) -> tuple[BenchmarkResource, ...]:
        """Return what must be downloaded or found."""
        ...

    async def prepare(self, workspace: BenchmarkWorkspace) -> PreparedBenchmark:
        """Download, extract, check or find the data."""
        ...

    def documents(self, prepared: PreparedBenchmark) -> AsyncIterator[BenchmarkDocument]:
        """Yield the source documents."""
        ...

    def cases(self, prepared: PreparedBenchmark) -> AsyncIterator[BenchmarkCase]:
        """Yield the cases. Reads no document."""
        ...

    def run_units(self, prepared: PreparedBenchmark) -> AsyncIterator[BenchmarkRunUnit]:
        """Yield the knowledge bases to build, and the cases of each. Reads no document."""
        ...

    def evaluators(self) -> tuple[BenchmarkEvaluatorProtocol, ...]:
        """Return the default scoring of this benchmark."""
        ...


class ObjectStoreProtocol(Protocol):
    """Bytes under text keys."""

    async def put(self, key: str, data: bytes) -> None:
        """Store ``data``; an existing object is replaced."""
        ...

    async def get(self, key: str) -> bytes:
        """Return the object, or raise ObjectNotFoundError."""
        ...

    async def exists(self, key: str) -> bool:
        """Tell whether the key holds an object."""
        ...

    def list(self, prefix: str = "") -> AsyncIterator[str]:
        """Yield the keys that begin with ``prefix``, sorted."""
        ...

    async def delete(self, key: str) -> None:
        """Remove the object; a key that holds none is no error."""
        ...

    async def aclose(self) -> None:
        """Release what the store holds open."""
        ...


@runtime_checkable
class KnowledgeBaseProtocol(Protocol):
    """Answers queries.

    Optional members: ``query_many(texts, *, mode, top_k) -> Sequence[QueryResponse]`` (sync or async), the answers in
    order; ``save(directory: Path)`` (sync or async), which writes all that the recipe's ``load`` needs;
    ``document_count`` (int); ``manifest`` (mapping of JSON); ``aclose()`` or ``close()``.
    """

    @property
    def available_queries(self) -> Sequence[str]:
        """The modes that ``query`` understands."""
        ...

    def query(
        self,
        text: str,
        *,
        mode: str,
        top_k: int,
        options: Mapping[str, Any] | None = None,
        trace: bool = False,
    ) -> Any:
        """Return a QueryResponse, or an awaitable of one, with at most ``top_k`` results."""
        ...


@runtime_checkable
class RecipeProtocol(Protocol):
    """Says how a knowledge base is built from raw documents: the thing that is evaluated.

    Optional members: ``load(directory: Path, *, name) -> KnowledgeBase`` (sync or async), which opens what the KB's
    ``save`` wrote; ``available_queries``, the modes its KBs will have; ``manifest`` (mapping of JSON), its declared
    configuration; ``fingerprint() -> str``, everything that changes what it builds; ``max_concurrency`` (int).

    Where a KB lies elsewhere and what is saved only points there: ``drop(directory)`` (sync or async) removes what the
    saved files point to, and does not mind if it is gone; ``keep`` (bool) lets that outlive the run; ``build`` may take
    ``save_directory``, where ``save`` will write. Where ``build`` may open what an earlier run has left, it takes
    ``rebuild`` (bool), which forbids that, and its KB says ``reopened`` (bool).
    """

    def build(
        self,
        *,
        name: str,
        objects: ObjectStoreProtocol,
        source_keys: Sequence[str],
        progress: ProgressCallback | None = None,
    ) -> Any:
        """Return a knowledge base of the objects under ``source_keys``, or an awaitable of one."""
        ...
