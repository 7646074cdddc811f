"""One EvaluationReport out of everything that a run left behind."""

from __future__ import annotations

import platform
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import metadata
from typing import Any

from pytest_heta.engine.evaluation import Evaluation
from pytest_heta.records import EvaluationCaseResult, EvaluationReport, KnowledgeBaseReport
from pytest_heta.reports.aggregate import latency_summary, summarize_scores
from pytest_heta.reports.gates import check_report
from pytest_heta.reports.provenance import mask_report
from pytest_heta.reports.thresholds import Threshold

_LIBRARIES = ("pytest-heta", "pytest", "pytest-xdist", "numpy", "pydantic")


@dataclass(frozen=True)
class RunFacts:
    """What a report says of its run beside the results. ``durations`` are wall seconds by stage."""

    report_id: str
    created_at: str
    durations: Mapping[str, float] = field(default_factory=dict)
    selection: Mapping[str, Any] = field(default_factory=dict)
    metadata: Mapping[str, Any] = field(default_factory=dict)


def assemble_report(
    evaluation: Evaluation,
    results: Sequence[EvaluationCaseResult],
    knowledge_bases: Iterable[KnowledgeBaseReport],
    facts: RunFacts,
    thresholds: Iterable[Threshold] = (),
) -> EvaluationReport:
    """Aggregate the results, one for each planned case and mode and in plan order, and judge the thresholds.

    Secrets in what the recipe and its errors say are masked.
    """
    summary, counts = summarize_scores(results, evaluation.modes, evaluation.metrics)
    seconds = {mode: busy_seconds(result for result in results if result.mode == mode) for mode in evaluation.modes}
    report = EvaluationReport(
        report_id=facts.report_id,
        created_at=facts.created_at,
        knowledge_base_name=evaluation.name,
        benchmark=evaluation.plan.manifest,
        recipe=evaluation.recipe.manifest,
        query_modes=evaluation.modes,
        metrics=evaluation.metrics,
        score_summary=summary,
        counts=counts,
        knowledge_bases=tuple(knowledge_bases),
        selection=dict(facts.selection),
        durations=dict(facts.durations),
        latency=latency_summary(results, evaluation.modes, seconds),
        versions=versions(evaluation.recipe.recipe),
        cases=tuple(results),
        metadata={
            "concurrency": evaluation.concurrency,
            "evaluators": {one.name: str(getattr(one, "definition", one.name)) for one in evaluation.evaluators},
            "top_k": evaluation.top_k,
            "notices": list(evaluation.plan.prepared.metadata.get("notices", ())),
            **facts.metadata,
        },
    )
    return mask_report(report.model_copy(update={"gates": check_report(thresholds, report)}))


def busy_seconds(results: Iterable[EvaluationCaseResult]) -> float:
    """Return the seconds in which at least one query was under way: the length of the union of their intervals."""
    spans = sorted(
        (result.asked_at, result.asked_at + result.latency_ms / 1000)
        for result in results
        if result.asked_at is not None and result.latency_ms is not None
    )
    busy, reached = 0.0, float("-inf")
    for start, end in spans:
        busy += max(0.0, end - max(start, reached))
        reached = max(reached, end)
    return busy


def versions(recipe: Any) -> dict[str, str]:
    """Return the versions of Python, of our own libraries and of those that the recipe names."""
    found = {"python": platform.python_version()}
    for library in (*_LIBRARIES, *getattr(recipe, "libraries", ())):
        try:
            found[library] = metadata.version(library)
        except metadata.PackageNotFoundError:
            continue
    return found
