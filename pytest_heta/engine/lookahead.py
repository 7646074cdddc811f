"""The cases of one unit in one mode, worked ahead of those who wait for them, and never further than a window."""

from __future__ import annotations

import asyncio
import concurrent.futures
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any, Generic, TypeVar

from pytest_heta.records import BenchmarkCase

T = TypeVar("T")

BATCH = 64
WINDOW = 32


class LookAhead(Generic[T]):
    """Starts cases in order: in batches of 64 where ``many`` is given, else one by one.

    Asking for a case starts it and what follows: the rest of its batch and one batch more, or the next 31 cases. What
    came of it is handed out once and then forgotten, so that the responses of a whole unit are never held at once; a
    case that is asked for again is worked again.

    ``outcome`` belongs to the event loop. ``ready`` may be called from another thread, and mostly finds the outcome
    ready, without waking the loop for every case.
    """

    def __init__(
        self,
        cases: Sequence[BenchmarkCase],
        one: Callable[[BenchmarkCase], Awaitable[T]],
        many: Callable[[Sequence[BenchmarkCase]], Awaitable[list[T]]] | None = None,
    ) -> None:
        """Look ahead over ``cases``, which are in the order in which they will be asked for."""
        self._loop = asyncio.get_running_loop()
        self._cases, self._one, self._many = cases, one, many
        self._place = {case.case_id: place for place, case in enumerate(cases)}
        self._waiting: dict[int, concurrent.futures.Future[T]] = {}
        self._started: set[int] = set()
        self._tasks: set[asyncio.Task[Any]] = set()

    async def outcome(self, case_id: str) -> T:
        """Return what came of one case."""
        place = self._place[case_id]
        self._advance(place)
        future = self._waiting.pop(place, None)
        if future is None:
            return await self._one(self._cases[place])
        return await asyncio.wrap_future(future)

    def ready(self, case_id: str) -> T | None:
        """Return what came of a case that is done, or None. Safe in any thread.

        Taking a case from the second half of what is under way starts more.
        """
        place = self._place[case_id]
        future = self._waiting.get(place)
        if future is None or not future.done() or future.cancelled() or future.exception() is not None:
            return None
        del self._waiting[place]
        ahead = BATCH if self._many else WINDOW // 2
        if place + ahead not in self._started and place + ahead < len(self._cases):
            self._loop.call_soon_threadsafe(self._advance, place)
        return future.result()

    async def cancel(self) -> None:
        """Stop everything that is under way."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _advance(self, place: int) -> None:
        if self._many is not None:
            end = (place // BATCH + 1) * BATCH
            self._start_batch(range(place, end))
            self._start_batch(range(end, end + BATCH))
        else:
            for near in self._new(range(place, place + WINDOW)):
                self._start_one(near)

    def _new(self, places: range) -> list[int]:
        """Mark those places as started that were not, and return them."""
        new = [place for place in places if place < len(self._cases) and place not in self._started]
        self._started.update(new)
        self._waiting.update((place, concurrent.futures.Future()) for place in new)
        return new

    def _start_one(self, place: int) -> None:
        future, case = self._waiting[place], self._cases[place]

        async def work() -> None:
            _settle([future], [await self._one(case)])

        self._run(work(), [future])

    def _start_batch(self, places: range) -> None:
        new = self._new(places)
        if not new or self._many is None:
            return
        futures, cases, many = (
            [self._waiting[place] for place in new],
            [self._cases[place] for place in new],
            self._many,
        )

        async def work() -> None:
            _settle(futures, await many(cases))

        self._run(work(), futures)

    def _run(self, work: Coroutine[Any, Any, None], futures: Sequence[concurrent.futures.Future[T]]) -> None:
        def done(task: asyncio.Task[None]) -> None:
            self._tasks.discard(task)
            error = asyncio.CancelledError() if task.cancelled() else task.exception()
            for future in futures:
                if error is not None and not future.done():
                    future.set_exception(error)

        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(done)


def _settle(futures: Sequence[concurrent.futures.Future[T]], outcomes: Sequence[T]) -> None:
    for future, outcome in zip(futures, outcomes, strict=True):
        if not future.done():
            future.set_result(outcome)
