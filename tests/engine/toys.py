"""A benchmark, recipes and knowledge bases that do exactly what a test tells them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pytest_heta.engine.config import RunnerConfig
from pytest_heta.engine.evaluation import Evaluation
from pytest_heta.engine.plan import Plan, make_plan
from pytest_heta.engine.recipes import LoadedRecipe
from pytest_heta.evaluators.ranking import BeirRetrievalMetric
from pytest_heta.records import (
    BenchmarkCase,
    BenchmarkDocument,
    BenchmarkEvidence,
    BenchmarkExpected,
    BenchmarkManifest,
    BenchmarkResource,
    BenchmarkRunUnit,
    BenchmarkWorkspace,
    PreparedBenchmark,
    QueryResponse,
    QueryResult,
)

MODE = "search"
DOCUMENTS = tuple(
    BenchmarkDocument(document_id=f"d{n}", name=f"d{n}.txt", media_type="text/plain", data=f"text {n}".encode())
    for n in range(3)
)


def case(case_id: str, relevant: str = "d0", query: str = "") -> BenchmarkCase:
    """A case with one relevant document; its query is ``query {case_id}`` unless given."""
    evidence = BenchmarkEvidence(reference_id=relevant, metadata={"relevance": 1})
    expected = BenchmarkExpected(evidence=(evidence,))
    return BenchmarkCase(case_id=case_id, query=query or f"query {case_id}", expected=expected)


def cases(count: int) -> tuple[BenchmarkCase, ...]:
    """So many cases, ``c0``, ``c1``, …"""
    return tuple(case(f"c{place}") for place in range(count))


class ToyBenchmark:
    """Yields what it is given."""

    def __init__(
        self,
        cases: Sequence[BenchmarkCase] = (case("c0"),),
        units: Sequence[BenchmarkRunUnit] = (BenchmarkRunUnit(unit_id="corpus"),),
        documents: Sequence[BenchmarkDocument] = DOCUMENTS,
        evaluators: Sequence[Any] = (BeirRetrievalMetric("recall", 2),),
    ) -> None:
        self.manifest = BenchmarkManifest(
            name="toy", version="1", split="test", task_type="retrieval", build_scope="corpus"
        )
        self._cases, self._units, self._documents, self._evaluators = cases, units, documents, evaluators
        self.documents_read = 0

    def resources(self) -> tuple[BenchmarkResource, ...]:
        """It needs none."""
        return ()

    async def prepare(self, workspace: BenchmarkWorkspace) -> PreparedBenchmark:
        """There is nothing to do."""
        return PreparedBenchmark(root_dir=workspace.root_dir)

    async def documents(self, prepared: PreparedBenchmark) -> AsyncIterator[BenchmarkDocument]:
        """Yield the documents and count how often somebody wanted them."""
        self.documents_read += 1
        for document in self._documents:
            yield document

    async def cases(self, prepared: PreparedBenchmark) -> AsyncIterator[BenchmarkCase]:
        """Yield the cases."""
        for one in self._cases:
            yield one

    async def run_units(self, prepared: PreparedBenchmark) -> AsyncIterator[BenchmarkRunUnit]:
        """Yield the units."""
        for unit in self._units:
            yield unit

    def evaluators(self) -> tuple[Any, ...]:
        """Return the metrics."""
        return tuple(self._evaluators)


def hits(*document_ids: str) -> tuple[QueryResult, ...]:
    """One chunk hit for each mention of a document, scores falling."""
    return tuple(
        QueryResult(id=f"{document}#{place}", score=1.0 / (place + 1), text="t", source={"document_id": document})
        for place, document in enumerate(document_ids)
    )


def response(*document_ids: str, mode: str = MODE) -> QueryResponse:
    """A response with these hits."""
    return QueryResponse(mode=mode, results=hits(*document_ids))


class ToyKnowledgeBase:
    """Answers with ``d0 d1 d2``, or whatever ``answer(text, top_k)`` returns or raises; remembers what was asked."""

    available_queries: tuple[str, ...] = (MODE,)

    def __init__(self, answer: Callable[[str, int], Any] | None = None) -> None:
        self._answer = answer or (lambda text, top_k: response(*("d0", "d1", "d2")[:top_k]))
        self.asked: list[str] = []
        self.depths: list[int] = []
        self.closed = 0

    async def query(self, text: str, *, mode: str, top_k: int) -> Any:
        """Answer."""
        self.asked.append(text)
        self.depths.append(top_k)
        found = self._answer(text, top_k)
        return await found if asyncio.iscoroutine(found) else found

    async def aclose(self) -> None:
        """Count."""
        self.closed += 1


class BatchKnowledgeBase(ToyKnowledgeBase):
    """Answers batches too, by ``batch(texts)`` where given; remembers their sizes."""

    def __init__(
        self,
        answer: Callable[[str, int], Any] | None = None,
        batch: Callable[[Sequence[str]], list[Any]] | None = None,
    ) -> None:
        super().__init__(answer)
        self._batch = batch
        self.batches: list[int] = []

    async def query_many(self, texts: Sequence[str], *, mode: str, top_k: int) -> list[Any]:
        """Answer them all."""
        self.batches.append(len(texts))
        return self._batch(texts) if self._batch else [self._answer(text, top_k) for text in texts]


class ToyRecipe:
    """Builds what ``make(name)`` returns and keeps all that it built; cannot save or load."""

    available_queries: tuple[str, ...] = (MODE,)
    manifest: Mapping[str, Any] = {"name": "toy"}

    def __init__(self, make: Callable[[str], Any] | None = None) -> None:
        self._make = make or (lambda name: ToyKnowledgeBase())
        self.built: list[str] = []
        self.keys: list[list[str]] = []
        self.bases: list[Any] = []

    async def build(self, *, name: str, objects: Any, source_keys: Sequence[str], progress: Any = None) -> Any:
        """Build one."""
        self.built.append(name)
        self.keys.append(list(source_keys))
        self.bases.append(self._make(name))
        return self.bases[-1]


class SavedKnowledgeBase(ToyKnowledgeBase):
    """One that can be kept: its one file holds its documents' texts."""

    def __init__(self, texts: Sequence[str]) -> None:
        super().__init__()
        self.texts = list(texts)

    def save(self, directory: Path) -> None:
        """Write the file."""
        (directory / "texts.json").write_text(json.dumps(self.texts), encoding="utf-8")


class SavingRecipe:
    """Builds knowledge bases that can be saved, and loads them."""

    available_queries: tuple[str, ...] = (MODE,)
    manifest: Mapping[str, Any] = {"name": "saving"}

    def __init__(self) -> None:
        self.builds = self.loads = 0

    def fingerprint(self) -> str:
        """All of them build the same."""
        return "saving 1"

    async def build(self, *, name: str, objects: Any, source_keys: Sequence[str], progress: Any = None) -> Any:
        """Read all documents."""
        self.builds += 1
        return SavedKnowledgeBase([(await objects.get(key)).decode() for key in source_keys])

    def load(self, directory: Path, *, name: str) -> SavedKnowledgeBase:
        """Read the file."""
        self.loads += 1
        return SavedKnowledgeBase(json.loads((directory / "texts.json").read_text(encoding="utf-8")))


async def plan_of(benchmark: Any = None, **fields: Any) -> Plan:
    """Plan a toy benchmark of these parts."""
    return await make_plan(benchmark or ToyBenchmark(**fields), BenchmarkWorkspace.under(Path("toys")))


def evaluation_of(plan: Plan, recipe: Any = None, **fields: Any) -> Evaluation:
    """Make the evaluation of a recipe; to be called on the loop."""
    loaded = LoadedRecipe(recipe or ToyRecipe(), "toy")
    given: dict[str, Any] = {
        "modes": (),
        "evaluators": None,
        "name": "kb",
        "config": RunnerConfig(),
        "cache": None,
        **fields,
    }
    return Evaluation(plan=plan, recipe=loaded, **given)


async def settled(condition: Callable[[], bool]) -> None:
    """Let the loop turn until something is so; fails after five seconds."""
    async with asyncio.timeout(5):
        while not condition():
            await asyncio.sleep(0)


async def quiet() -> None:
    """Let the loop turn until everything that needs no time is done."""
    for _ in range(2000):
        await asyncio.sleep(0)


def ids(found: Iterable[BenchmarkCase]) -> list[str]:
    """Return the ids of cases."""
    return [one.case_id for one in found]
