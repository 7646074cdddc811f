"""Small reports to judge, with everything but what a test is about left at a plain value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pytest_heta.records import (
    BenchmarkManifest,
    EvaluationCaseResult,
    EvaluationError,
    EvaluationReport,
    EvaluationScore,
    KnowledgeBaseReport,
    RankedHit,
)
from pytest_heta.reports.aggregate import latency_summary, summarize_scores

MODE = "vector_search"


def finished(case_id: str, scores: Mapping[str, float | None], **fields: Any) -> EvaluationCaseResult:
    """Return an answered case with one hit; a score of None is an unscored one."""
    return EvaluationCaseResult(
        **{
            "unit_id": "corpus",
            "case_id": case_id,
            "mode": MODE,
            "status": "finished",
            "scores": tuple(
                EvaluationScore.unscored(name, "no label") if value is None else EvaluationScore(name=name, value=value)
                for name, value in scores.items()
            ),
            "hits": (RankedHit(id="d1#0", document_id="d1", score=1.5),),
            **fields,
        }
    )


def errored(case_id: str, message: str = "no answer", **fields: Any) -> EvaluationCaseResult:
    """Return a case whose query failed."""
    error = EvaluationError(message=message, error_type="QueryError")
    return EvaluationCaseResult(
        **{"unit_id": "corpus", "case_id": case_id, "mode": MODE, "status": "errored", "error": error, **fields}
    )


def not_run(case_id: str, mode: str = MODE) -> EvaluationCaseResult:
    """Return a case that was planned and never asked."""
    return EvaluationCaseResult(unit_id="corpus", case_id=case_id, mode=mode, status="not_run")


def report_of(
    cases: Sequence[EvaluationCaseResult],
    metrics: Sequence[str] = ("beir_ndcg@10",),
    modes: Sequence[str] = (MODE,),
    query_seconds: Mapping[str, float] | None = None,
    **fields: Any,
) -> EvaluationReport:
    """Return the report of these cases, aggregated as a run does it."""
    summary, counts = summarize_scores(cases, modes, metrics)
    base = KnowledgeBaseReport(unit_id="corpus", name="kb", build_seconds=2.5)
    return EvaluationReport(
        **{
            "report_id": "r1",
            "created_at": "2026-01-02T03:04:05Z",
            "knowledge_base_name": "kb",
            "benchmark": BenchmarkManifest(
                name="beir_scifact", version="official", split="test", task_type="retrieval", build_scope="corpus"
            ),
            "recipe": {"name": "vector"},
            "query_modes": tuple(modes),
            "metrics": tuple(metrics),
            "score_summary": summary,
            "counts": counts,
            "knowledge_bases": (base,),
            "latency": latency_summary(cases, modes, query_seconds),
            "cases": tuple(cases),
            **fields,
        }
    )
