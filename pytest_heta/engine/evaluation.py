"""One recipe on one benchmark: the knowledge bases, the queries and the scores of all its cases."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

from pytest_heta.engine.asking import Asker, Outcome
from pytest_heta.engine.cache import KnowledgeBaseCache
from pytest_heta.engine.config import RunnerConfig
from pytest_heta.engine.depth import Depth
from pytest_heta.engine.knowledge_bases import KnowledgeBasePool
from pytest_heta.engine.lookahead import LookAhead
from pytest_heta.engine.plan import Plan, PlannedUnit, refuse_duplicates
from pytest_heta.engine.recipes import LoadedRecipe
from pytest_heta.engine.scoring import errored_result, finished_result, score
from pytest_heta.errors import RecipeError, UnknownNameError, UsageError
from pytest_heta.integrations import as_evaluator
from pytest_heta.protocols import BenchmarkEvaluatorProtocol, ProgressCallback
from pytest_heta.records import BenchmarkCase, EvaluationCaseResult, EvaluationError, EvaluationScore, QueryResponse

Due = Callable[[str, str], Container[str]]
"""From a unit id and a mode to ids of cases."""


class ReplayProtocol(Protocol):
    """Gives what a run recorded as if it had just been asked for."""

    def outcome(self, unit_id: str, case: BenchmarkCase, mode: str) -> Outcome:
        """Return what came of a case."""
        ...


@dataclass(frozen=True)
class Judged:
    """What came of one case: the query's outcome, the scores, and the error of an evaluator if one failed."""

    outcome: Outcome
    scores: tuple[EvaluationScore, ...]
    error: EvaluationError | None


class Evaluation:
    """Asks and scores the cases of a plan. Its coroutines run on one event loop, in which it must also be made."""

    def __init__(
        self,
        *,
        plan: Plan,
        recipe: LoadedRecipe,
        modes: Sequence[str],
        evaluators: Sequence[BenchmarkEvaluatorProtocol] | None,
        name: str,
        config: RunnerConfig,
        cache: KnowledgeBaseCache | None,
        progress: ProgressCallback | None = None,
    ) -> None:
        """Check modes and evaluators; nothing is built or asked yet.

        ``replay`` may be set to a source of recorded outcomes, with which nothing is ever built or asked.

        Raises:
            UnknownNameError: for a mode that the recipe does not have.
            UsageError: for no evaluators, or two of the same name.

        """
        self.plan, self.recipe, self.name, self.config = plan, recipe, name, config
        self.replay: ReplayProtocol | None = None
        self.modes = chosen_modes(recipe, modes)
        self.evaluators = tuple(map(as_evaluator, plan.benchmark.evaluators() if evaluators is None else evaluators))
        self.metrics = tuple(evaluator.name for evaluator in self.evaluators)
        if not self.metrics:
            raise UsageError(f"benchmark {plan.manifest.name} has no evaluators: nothing would be measured")
        refuse_duplicates(plan.manifest.name, "metric", self.metrics)
        self.pool = KnowledgeBasePool(plan, recipe, name, config, cache, self._stop_looking_ahead, progress)
        depth = Depth.of(self.evaluators, config.top_k)
        self._asker = Asker(config, depth, _bound(recipe))
        self._look_aheads: dict[tuple[str, str], tuple[Any, LookAhead[Judged]]] = {}
        self._order: dict[tuple[str, str], list[BenchmarkCase]] = {}
        self._due: Due | None = None

    @property
    def concurrency(self) -> int:
        """How many queries may be under way at once in one process."""
        return self._asker.concurrency

    @property
    def shareable(self) -> bool:
        """Whether several processes can open a knowledge base that was built once, or need not build any."""
        return self.replay is not None or self.pool.shareable

    @property
    def top_k(self) -> int:
        """How many results each query asks for at first."""
        return self._asker.depth.top_k

    def select(self, order: dict[tuple[str, str], list[BenchmarkCase]], due: Due | None = None) -> None:
        """Say which cases will be asked, by (unit id, mode) and in order; without this, all of the plan.

        Where several processes share them, ``due`` tells at any time which are sure to be asked in this one.
        """
        self._order, self._due = order, due

    async def knowledge_base(self, unit: PlannedUnit) -> Any:
        """Return the unit's knowledge base, built or opened when it is first asked for.

        Raises:
            BuildError: where it cannot be built, or lacks a mode.

        """
        if self.replay is not None:
            return self.replay
        kb = await self.pool.get(unit.unit)
        missing = [mode for mode in self.modes if mode not in tuple(getattr(kb, "available_queries", self.modes))]
        if missing:
            raise UnknownNameError("query mode", missing[0], kb.available_queries)
        return kb

    async def judged(self, unit: PlannedUnit, case: BenchmarkCase, mode: str, kb: Any) -> Judged:
        """Return what came of the case; the cases after it are already under way."""
        if self.replay is not None:
            return await self._judge(case, self.replay.outcome(unit.unit.unit_id, case, mode))
        key = (unit.unit.unit_id, mode)
        known = self._look_aheads.get(key)
        if known is None or known[0] is not kb:
            if known is not None:
                await known[1].cancel()
            known = self._look_aheads[key] = (kb, self._look_ahead(unit, mode, kb))
        return await known[1].outcome(case.case_id)

    def ready(self, unit: PlannedUnit, case: BenchmarkCase, mode: str, kb: Any) -> Judged | None:
        """Return what came of the case if it is already known, else None. Safe in any thread."""
        known = self._look_aheads.get((unit.unit.unit_id, mode))
        return known[1].ready(case.case_id) if known is not None and known[0] is kb else None

    def _look_ahead(self, unit: PlannedUnit, mode: str, kb: Any) -> LookAhead[Judged]:
        async def one(case: BenchmarkCase) -> Judged:
            return await self._judge(case, await self._asker.ask(kb, case, mode))

        async def many(cases: Sequence[BenchmarkCase]) -> list[Judged]:
            outcomes = await self._asker.ask_many(kb, cases, mode)
            return [await self._judge(case, outcome) for case, outcome in zip(cases, outcomes, strict=True)]

        key = (unit.unit.unit_id, mode)
        return LookAhead(
            self._order.get(key) or unit.cases,
            one,
            many if hasattr(kb, "query_many") else None,
            concurrency=self.concurrency,
            due=partial(self._due, *key) if self._due is not None else None,
        )

    async def _judge(self, case: BenchmarkCase, outcome: Outcome) -> Judged:
        if outcome.response is None:
            return Judged(outcome, (), None)
        return Judged(outcome, *await self.score(case, outcome.response))

    async def score(
        self, case: BenchmarkCase, response: QueryResponse
    ) -> tuple[tuple[EvaluationScore, ...], EvaluationError | None]:
        """Return the scores of one response, and the first evaluator's error if one failed."""
        return await score(case, response, self.evaluators)

    async def result(self, unit: PlannedUnit, case: BenchmarkCase, mode: str) -> EvaluationCaseResult:
        """Ask and score one case.

        Raises:
            HetaError: where the unit has no knowledge base.

        """
        judged = await self.judged(unit, case, mode, await self.knowledge_base(unit))
        unit_id, outcome = unit.unit.unit_id, judged.outcome
        if outcome.response is None:
            assert outcome.error is not None
            return errored_result(unit_id, case, mode, outcome.error, outcome)
        return finished_result(unit_id, case, outcome, judged.scores, judged.error, keep_texts=self.config.keep_texts)

    async def _stop_looking_ahead(self, unit_id: str) -> None:
        for key in [key for key in self._look_aheads if key[0] == unit_id]:
            await self._look_aheads.pop(key)[1].cancel()

    async def stop_queries(self) -> None:
        """Stop all queries that are under way."""
        await asyncio.gather(*(ahead.cancel() for _, ahead in self._look_aheads.values()))

    async def aclose(self) -> None:
        """Stop all queries and close all knowledge bases."""
        await self.stop_queries()
        await self.pool.aclose()


def _bound(recipe: LoadedRecipe) -> int | None:
    """Return how many queries the recipe lets be under way at once, where it says so."""
    bound = getattr(recipe.recipe, "max_concurrency", None)
    if bound is not None and (not isinstance(bound, int) or bound < 1):
        raise RecipeError(f"recipe {recipe.name}: max_concurrency must be a whole number from 1, not {bound!r}")
    return bound


def chosen_modes(recipe: LoadedRecipe, modes: Sequence[str]) -> tuple[str, ...]:
    """Return the modes to ask in: the given ones, else all that the recipe declares.

    Raises:
        UnknownNameError: for a mode that it does not declare.
        UsageError: where none are given and it declares none.

    """
    declared = tuple(getattr(recipe.recipe, "available_queries", ()))
    unknown = [mode for mode in modes if declared and mode not in declared]
    if unknown:
        raise UnknownNameError("query mode", unknown[0], declared)
    if not modes and not declared:
        raise UsageError(f"recipe {recipe.name} does not declare its query modes: say which, with --heta-mode")
    return tuple(modes) or declared
