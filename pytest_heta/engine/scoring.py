"""From one outcome to one case result."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from pydantic import ValidationError

from pytest_heta.calling import ordinary
from pytest_heta.engine.asking import Outcome
from pytest_heta.engine.retry import evaluation_error
from pytest_heta.errors import DataError, RecipeError
from pytest_heta.keys import document_id_of, document_id_of_key
from pytest_heta.protocols import BenchmarkEvaluatorProtocol
from pytest_heta.records import (
    BenchmarkCase,
    BenchmarkEvidence,
    EvaluationCaseResult,
    EvaluationError,
    EvaluationScore,
    GoldLabel,
    QueryResponse,
    QueryResult,
)


async def score(
    case: BenchmarkCase, response: QueryResponse, evaluators: Sequence[BenchmarkEvaluatorProtocol]
) -> tuple[tuple[EvaluationScore, ...], EvaluationError | None]:
    """Return the scores of all evaluators that gave one, and the first error of those that failed."""
    scores: list[EvaluationScore] = []
    first: EvaluationError | None = None
    for evaluator in evaluators:
        try:
            found = await evaluator.evaluate(case=case, response=response)
            if not isinstance(found, EvaluationScore):
                raise RecipeError(f"returned {type(found).__name__}, not an EvaluationScore")
            scores.append(found)
        except BaseException as error:
            failure = evaluation_error(error if isinstance(error, Exception) else ordinary(error, "it"))
            named = failure.model_copy(update={"message": f"evaluator {evaluator.name}: {failure.message}"})
            first = first or named
    return tuple(scores), first


def finished_result(
    unit_id: str,
    case: BenchmarkCase,
    outcome: Outcome,
    scores: Sequence[EvaluationScore],
    error: EvaluationError | None,
    *,
    keep_texts: bool,
    node_id: str | None = None,
) -> EvaluationCaseResult:
    """Return the result of a case that has a response; ``error`` is that of an evaluator."""
    response = outcome.response
    assert response is not None
    return EvaluationCaseResult.model_validate(
        {
            "unit_id": unit_id,
            "case_id": case.case_id,
            "mode": response.mode,
            "status": "finished",
            "node_id": node_id,
            "query": case.query,
            "labels": case.labels,
            "scores": tuple(scores),
            "hits": [_hit(result, keep_texts) for result in response.results],
            "gold": [_gold(evidence, keep_texts) for evidence in case.expected.evidence],
            "answer": response.answer,
            "error": error,
            "asked_at": outcome.asked_at,
            "latency_ms": outcome.latency_ms,
            "amortised": outcome.amortised,
            "shallow": outcome.shallow,
            "metadata": response.metadata,
        }
    )


def errored_result(
    unit_id: str, case: BenchmarkCase, mode: str, error: EvaluationError, outcome: Outcome | None = None
) -> EvaluationCaseResult:
    """Return the result of a case that has no response."""
    return EvaluationCaseResult(
        unit_id=unit_id,
        case_id=case.case_id,
        mode=mode,
        status="errored",
        query=case.query,
        labels=case.labels,
        gold=_golds(case),
        error=error,
        asked_at=outcome.asked_at if outcome else None,
        latency_ms=outcome.latency_ms if outcome else None,
    )


def not_run_result(unit_id: str, case: BenchmarkCase, mode: str) -> EvaluationCaseResult:
    """Return the result of a case that was planned and never asked."""
    return EvaluationCaseResult(
        unit_id=unit_id,
        case_id=case.case_id,
        mode=mode,
        status="not_run",
        query=case.query,
        labels=case.labels,
        gold=_golds(case),
    )


def _hit(result: QueryResult, keep_texts: bool) -> dict[str, Any]:
    """Return the fields of a RankedHit; as there are a hundred a case, they are validated all at once."""
    score = result.score
    return {
        "id": result.id,
        "document_id": document_id_of(result),
        "score": None if score is None or not math.isfinite(score) else float(score),
        "text": result.text if keep_texts else None,
    }


def check_gold(case: BenchmarkCase) -> None:
    """Check that the case's evidence can be recorded.

    Raises:
        DataError: it cannot, as for a document id that is no text or a relevance that is no number.
    """
    try:
        _golds(case)
    except (ValidationError, TypeError, ValueError, OverflowError) as error:
        told = "; ".join(f"{fault['loc'][0]}: {fault['msg']}" for fault in getattr(error, "errors", list)())
        raise DataError(f"case {case.case_id!r} has malformed evidence: {told or error}") from error


def _golds(case: BenchmarkCase, keep_texts: bool = False) -> tuple[GoldLabel, ...]:
    """Return the case's evidence as it is recorded."""
    return tuple(GoldLabel(**_gold(evidence, keep_texts)) for evidence in case.expected.evidence)


def _gold(evidence: BenchmarkEvidence, keep_texts: bool) -> dict[str, Any]:
    """Return the fields of a GoldLabel."""
    prefix = evidence.locator.get("source_key_prefix") or evidence.locator.get("source_key") or ""
    return {
        "document_id": document_id_of_key(str(prefix)) or evidence.locator.get("document_id") or evidence.reference_id,
        "relevance": evidence.metadata.get("relevance", 1),
        "original_id": evidence.metadata.get("beir_doc_id"),
        "text": evidence.text if keep_texts else None,
    }
