"""Evaluating a recipe from a script: the same engine as under pytest, and the same report."""

from __future__ import annotations

import asyncio
import time
import uuid
import warnings
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pytest_heta.engine.cache import KnowledgeBaseCache
from pytest_heta.engine.config import RunnerConfig
from pytest_heta.engine.evaluation import Evaluation
from pytest_heta.engine.plan import PlannedUnit, make_plan
from pytest_heta.engine.recipes import LoadedRecipe
from pytest_heta.engine.retry import evaluation_error
from pytest_heta.engine.scoring import errored_result
from pytest_heta.errors import HetaError
from pytest_heta.integrations import as_recipe
from pytest_heta.keys import report_key
from pytest_heta.knowledge.store import LocalObjectStore
from pytest_heta.locations import default_cache_dir, kb_cache_dir
from pytest_heta.protocols import BenchmarkEvaluatorProtocol, BenchmarkProtocol
from pytest_heta.records import BenchmarkCase, BenchmarkWorkspace, EvaluationCaseResult, EvaluationReport
from pytest_heta.reports.assemble import RunFacts, assemble_report


class BenchmarkRunner:
    """Builds the knowledge bases of a benchmark, asks its cases, scores and aggregates."""

    async def run(
        self,
        *,
        benchmark: BenchmarkProtocol,
        recipe: Any,
        knowledge_base_name: str,
        query_modes: Sequence[str] = (),
        evaluators: Sequence[BenchmarkEvaluatorProtocol] | None = None,
        workspace: BenchmarkWorkspace | None = None,
        config: RunnerConfig | None = None,
    ) -> EvaluationReport:
        """Return the report, which is also kept in the object store at ``workspace.output_dir``.

        Args:
            benchmark: where documents and cases come from.
            recipe: a recipe, or a function ``search(query, top_k)``.
            knowledge_base_name: the name of the KB; with several run units each gets ``{name}-{unit_id}``.
            query_modes: the modes to ask in; none stands for all that the recipe declares.
            evaluators: the scoring; None stands for the benchmark's own.
            workspace: the folders to work in; None stands for the user's cache folder and ``.heta`` here.
            config: how to run; without a ``kb_cache`` the one in the workspace is used.

        Raises:
            HetaError: where the benchmark, the recipe or a mode cannot be used at all. An error in a build or query is
                no exception but a result of its cases.

        """
        workspace = workspace or _default_workspace()
        config = config or RunnerConfig(kb_cache=kb_cache_dir(workspace.cache_dir))
        started = time.perf_counter()
        plan = await make_plan(benchmark, workspace, config.selection)
        loaded = LoadedRecipe(as_recipe(recipe, "recipe"), str(getattr(recipe, "name", None) or knowledge_base_name))
        evaluation = Evaluation(
            plan=plan,
            recipe=loaded,
            modes=query_modes,
            evaluators=evaluators,
            name=knowledge_base_name,
            config=config,
            cache=KnowledgeBaseCache(config.kb_cache, notice=_warn) if config.kb_cache else None,
        )
        prepared = time.perf_counter() - started
        try:
            results = await _results(evaluation)
        finally:
            await evaluation.aclose()
        durations = {"prepare": prepared, "total": time.perf_counter() - started}
        report = assemble_report(evaluation, results, evaluation.pool.reports.values(), new_facts(durations))
        await _keep(report, workspace)
        return report


def _warn(message: str) -> None:
    warnings.warn(message, stacklevel=2)


def new_facts(
    durations: Mapping[str, float],
    selection: Mapping[str, Any] | None = None,
    metadata: Mapping[str, Any] | None = None,
) -> RunFacts:
    """Return the facts of a run that ends now, with a report id of its own."""
    now = datetime.now(UTC)
    report_id = f"{now:%Y%m%dT%H%M%SZ}-{uuid.uuid4().hex[:8]}"
    return RunFacts(report_id, now.isoformat(timespec="seconds"), durations, selection or {}, metadata or {})


def _default_workspace() -> BenchmarkWorkspace:
    here = Path.cwd() / ".heta"
    return BenchmarkWorkspace(root_dir=here, cache_dir=default_cache_dir(), output_dir=here)


async def _results(evaluation: Evaluation) -> list[EvaluationCaseResult]:
    results: list[EvaluationCaseResult] = []
    for unit in evaluation.plan.units:
        for mode in evaluation.modes:
            results += await asyncio.gather(*(_result(evaluation, unit, case, mode) for case in unit.cases))
    return results


async def _result(evaluation: Evaluation, unit: PlannedUnit, case: BenchmarkCase, mode: str) -> EvaluationCaseResult:
    try:
        return await evaluation.result(unit, case, mode)
    except HetaError as error:
        return errored_result(unit.unit.unit_id, case, mode, evaluation_error(error))


async def _keep(report: EvaluationReport, workspace: BenchmarkWorkspace) -> None:
    objects = LocalObjectStore(workspace.output_dir / "objects")
    try:
        await objects.put(
            report_key(report.knowledge_base_name, report.report_id), report.model_dump_json(indent=1).encode()
        )
    finally:
        await objects.aclose()
