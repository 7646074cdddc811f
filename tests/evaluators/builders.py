"""Cases, responses and scores in one line each."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from pytest_heta.protocols import BenchmarkEvaluatorProtocol
from pytest_heta.records import (
    BenchmarkCase,
    BenchmarkEvidence,
    BenchmarkExpected,
    EvaluationScore,
    QueryResponse,
    QueryResult,
)


def folder(document_id: str) -> str:
    """Return the raw folder of a document of the test benchmark."""
    return f"raw/benchmarks/beir_x/test/{document_id}/"


def hit(document_id: str, number: int = 0, text: str = "") -> QueryResult:
    """Make a chunk hit that names its document by the raw key only."""
    source = {"source_key": f"{folder(document_id)}{document_id}.txt"}
    return QueryResult(id=f"{document_id}#{number}", text=text, source=source)


def texts(*found: str) -> tuple[QueryResult, ...]:
    """Make hits that have nothing but a text."""
    return tuple(QueryResult(id=str(number), text=text) for number, text in enumerate(found))


def response(*results: QueryResult, answer: str | None = None) -> QueryResponse:
    """Make a response."""
    return QueryResponse(mode="vector_search", results=results, answer=answer)


def judged(grades: Mapping[str, Any], case_id: str = "q1") -> BenchmarkCase:
    """Make a BEIR case from the grades of documents whose ids are already safe."""
    return evidenced(
        *(
            BenchmarkEvidence(
                reference_id=document,
                locator={"source_key_prefix": folder(document)},
                metadata={"beir_doc_id": document, "beir_document_id": document, "relevance": grade},
            )
            for document, grade in grades.items()
        ),
        case_id=case_id,
    )


def evidenced(*evidence: BenchmarkEvidence, case_id: str = "q1") -> BenchmarkCase:
    """Make a case with evidence."""
    return BenchmarkCase(case_id=case_id, query="?", expected=BenchmarkExpected(evidence=evidence))


def answered(*answers: str) -> BenchmarkCase:
    """Make a case with gold answers."""
    return BenchmarkCase(case_id="q1", query="?", expected=BenchmarkExpected(answers=answers))


def score(evaluator: BenchmarkEvaluatorProtocol, case: BenchmarkCase, given: QueryResponse) -> EvaluationScore:
    """Evaluate one response."""
    return asyncio.run(evaluator.evaluate(case=case, response=given))


def values(
    evaluators: Sequence[BenchmarkEvaluatorProtocol], case: BenchmarkCase, given: QueryResponse
) -> dict[str, float | None]:
    """Return the values of several evaluators by name."""

    async def evaluate_all() -> list[EvaluationScore]:
        return [await evaluator.evaluate(case=case, response=given) for evaluator in evaluators]

    return {score.name: score.value for score in asyncio.run(evaluate_all())}
