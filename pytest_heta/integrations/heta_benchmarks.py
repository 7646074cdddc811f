"""Benchmarks and evaluators of heta-framework as ours: the protocols have the same members, the records other types."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Any, TypeVar

from pytest_heta.keys import document_id_of, document_id_of_key
from pytest_heta.knowledge.extras import require
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
    QueryResult,
    Record,
)

R = TypeVar("R", bound=Record)


class HetaBenchmark:
    """A benchmark of heta-framework."""

    def __init__(self, benchmark: Any) -> None:
        self._benchmark, self._prepared = benchmark, None

    @property
    def manifest(self) -> BenchmarkManifest:
        """What it is."""
        return _ours(BenchmarkManifest, self._benchmark.manifest)

    def resources(self) -> tuple[BenchmarkResource, ...]:
        """Return what it needs."""
        return tuple(_ours(BenchmarkResource, resource) for resource in self._benchmark.resources())

    async def prepare(self, workspace: BenchmarkWorkspace) -> PreparedBenchmark:
        """Have it prepare its data."""
        theirs = require("heta_framework.evaluation", "heta").BenchmarkWorkspace
        self._prepared = await self._benchmark.prepare(theirs(**dict(workspace)))
        return PreparedBenchmark(root_dir=workspace.root_dir)

    async def documents(self, prepared: PreparedBenchmark) -> AsyncIterator[BenchmarkDocument]:
        """Yield its documents."""
        async for document in self._benchmark.documents(self._prepared):
            yield _ours(BenchmarkDocument, document)

    async def cases(self, prepared: PreparedBenchmark) -> AsyncIterator[BenchmarkCase]:
        """Yield its cases."""
        async for case in self._benchmark.cases(self._prepared):
            yield _ours(BenchmarkCase, case)

    async def run_units(self, prepared: PreparedBenchmark) -> AsyncIterator[BenchmarkRunUnit]:
        """Yield its run units."""
        async for unit in self._benchmark.run_units(self._prepared):
            yield _ours(BenchmarkRunUnit, unit)

    def evaluators(self) -> tuple[HetaEvaluator, ...]:
        """Return its evaluators."""
        return tuple(map(HetaEvaluator, self._benchmark.evaluators()))


class HetaEvaluator:
    """An evaluator of heta-framework; what it computes is its own."""

    def __init__(self, evaluator: Any) -> None:
        self._evaluator = evaluator
        self.name: str = evaluator.name
        self.k: int = getattr(evaluator, "k", 0)
        self.definition = f"{self.name}: heta-framework's {type(evaluator).__name__}"

    async def evaluate(self, *, case: BenchmarkCase, response: QueryResponse) -> EvaluationScore:
        """Return its score."""
        score = await self._evaluator.evaluate(case=_their_case(case), response=_their_response(case, response))
        return _ours(EvaluationScore, score)


def _ours(record: type[R], theirs: Any) -> R:
    fields = {name: getattr(theirs, name) for name in record.model_fields if hasattr(theirs, name)}
    return record.model_validate(fields, from_attributes=True)


def _their_case(case: BenchmarkCase) -> Any:
    types = require("heta_framework.evaluation", "heta")
    evidence = tuple(types.BenchmarkEvidence(**dict(each)) for each in case.expected.evidence)
    expected = types.BenchmarkExpected(**{**dict(case.expected), "evidence": evidence})
    return types.BenchmarkCase(**{**dict(case), "expected": expected})


def _their_response(case: BenchmarkCase, response: QueryResponse) -> Any:
    types = require("heta_framework.kb", "heta")
    folder = _documents_folder(case)
    citations = tuple(types.QueryCitation(**each) for each in response.citations if isinstance(each, Mapping))
    return types.QueryResponse(
        mode=response.mode,
        results=tuple(types.QueryResult(**_their_result(result, folder)) for result in response.results),
        answer=response.answer,
        citations=citations,
        metadata=dict(response.metadata),
    )


def _their_result(result: QueryResult, folder: str) -> dict[str, Any]:
    """Return the fields of a result. heta-framework knows documents by raw key alone, and wants some text."""
    fields, document_id = dict(result), document_id_of(result)
    if folder and document_id and not result.source.keys() & {"source_key", "object_key"}:
        fields["source"] = {**result.source, "source_key": f"{folder}{document_id}/{document_id}"}
    return {**fields, "text": result.text or result.id}


def _documents_folder(case: BenchmarkCase) -> str:
    """Return ``raw/benchmarks/{benchmark}/{split}/`` as the evidence has it; empty where there is no evidence."""
    for evidence in case.expected.evidence:
        key = str(evidence.locator.get("source_key_prefix") or evidence.locator.get("source_key") or "")
        if document_id_of_key(key) is not None:
            return "/".join(key.split("/")[:4]) + "/"
    return ""
