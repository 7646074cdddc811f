"""One query, or one batch of them: asked, retried, timed, and asked deeper where documents collapse."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from pytest_heta.calling import call, counting_waits
from pytest_heta.engine.config import RunnerConfig
from pytest_heta.engine.depth import Depth
from pytest_heta.engine.responses import as_response
from pytest_heta.engine.retry import AttemptsFailed, CircuitBreaker, RetryPolicy, attempt
from pytest_heta.errors import RecipeError
from pytest_heta.records import BenchmarkCase, EvaluationError, QueryResponse


@dataclass(frozen=True)
class Outcome:
    """What came of one query: a response or an error. ``asked_at`` is seconds since the epoch, the rest wall time."""

    response: QueryResponse | None
    error: EvaluationError | None
    asked_at: float | None
    latency_ms: float | None
    amortised: bool = False
    shallow: bool = False


@dataclass
class Asker:
    """Asks knowledge bases on behalf of one evaluation, within its bounds on concurrency, time and tries."""

    config: RunnerConfig
    depth: Depth
    max_concurrency: int | None = None
    breaker: CircuitBreaker = field(default_factory=CircuitBreaker)

    def __post_init__(self) -> None:
        self._policy = RetryPolicy(self.config.attempts)
        self.concurrency = min(self.config.concurrency, self.max_concurrency or self.config.concurrency)
        self._slots = asyncio.Semaphore(self.concurrency)

    async def ask(self, kb: Any, case: BenchmarkCase, mode: str) -> Outcome:
        """Ask one query; every error ends up in the outcome."""
        async with self._slots:
            asked_at, started = time.time(), time.perf_counter()
            response, error, shallow = None, None, False
            with counting_waits() as waits:
                try:
                    response = await self._once(kb, case, mode, self.depth.top_k)
                    response, shallow = await self._deepen(kb, case, mode, response)
                except AttemptsFailed as failed:
                    response, error = None, failed.record()
            waited = sum(waits)
            latency_ms = (time.perf_counter() - started - waited) * 1000
            return Outcome(response, error, asked_at + waited, latency_ms, shallow=shallow)

    async def ask_many(self, kb: Any, cases: Sequence[BenchmarkCase], mode: str) -> list[Outcome]:
        """Ask a batch; where the batch fails, each query on its own, so that each error finds its case."""
        async with self._slots:
            asked_at, started = time.time(), time.perf_counter()
            try:
                responses = await self._batch(kb, cases, mode)
            except AttemptsFailed:
                responses = None
            each = (time.perf_counter() - started) * 1000 / len(cases)
        if responses is None:
            return list(await asyncio.gather(*(self.ask(kb, case, mode) for case in cases)))
        return [
            await self._settle(kb, case, mode, Outcome(response, None, asked_at + place * each / 1000, each, True))
            for place, (case, response) in enumerate(zip(cases, responses, strict=True))
        ]

    async def _settle(self, kb: Any, case: BenchmarkCase, mode: str, outcome: Outcome) -> Outcome:
        assert outcome.response is not None
        if not self.depth.collapsed(case, outcome.response, self.depth.top_k):
            return outcome
        started = time.perf_counter()
        response, error, shallow = None, None, False
        try:
            response, shallow = await self._deepen(kb, case, mode, outcome.response)
        except AttemptsFailed as failed:
            error = failed.record()
        latency_ms = (outcome.latency_ms or 0.0) + (time.perf_counter() - started) * 1000
        return Outcome(response, error, outcome.asked_at, latency_ms, True, shallow)

    async def _deepen(
        self, kb: Any, case: BenchmarkCase, mode: str, response: QueryResponse
    ) -> tuple[QueryResponse, bool]:
        asked = self.depth.top_k
        for top_k in self.depth.deeper():
            if not self.depth.collapsed(case, response, asked):
                break
            asked = top_k
            response = await self._once(kb, case, mode, asked)
        return response, self.depth.collapsed(case, response, asked)

    async def _once(self, kb: Any, case: BenchmarkCase, mode: str, top_k: int) -> QueryResponse:
        async def query() -> QueryResponse:
            return as_response(await call(kb.query, case.query, mode=mode, top_k=top_k), mode)

        return await attempt(query, self._policy, self.breaker, self.config.timeout)

    async def _batch(self, kb: Any, cases: Sequence[BenchmarkCase], mode: str) -> list[QueryResponse]:
        async def query() -> list[QueryResponse]:
            texts = [case.query for case in cases]
            answers = await call(kb.query_many, texts, mode=mode, top_k=self.depth.top_k)
            responses = [as_response(answer, mode) for answer in answers]
            if len(responses) != len(cases):
                raise RecipeError(f"query_many returned {len(responses)} responses to {len(cases)} queries")
            return responses

        timeout = None if self.config.timeout is None else self.config.timeout * len(cases)
        return await attempt(query, self._policy, self.breaker, timeout)
