"""The cases of one unit in one mode, worked ahead of those who wait for them, and never further than a window."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Container, Coroutine, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any, Generic, TypeVar

from pytest_heta.records import BenchmarkCase

T = TypeVar("T")

_Job = tuple[BenchmarkCase, "Future[T]"]

BATCH = 64
WINDOW = 32


class LookAhead(Generic[T]):
    """Starts cases in order: in batches of 64 where ``many`` is given, else one by one, so many at once.

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
        *,
        concurrency: int = 8,
        due: Callable[[], Container[str]] | None = None,
    ) -> None:
        """Look ahead over ``cases``, which are in the order in which they will be asked for.

        ``due`` tells the ids of those that are sure to be asked for here, where others may get some of them.
        """
        self._loop = asyncio.get_running_loop()
        self._cases, self._one, self._many, self._concurrency = cases, one, many, concurrency
        self._due = due
        self._place = {case.case_id: place for place, case in enumerate(cases)}
        self._waiting: dict[int, Future[T]] = {}
        self._started: set[int] = set()
        self._queue: deque[_Job[T]] = deque()
        self._tasks: set[asyncio.Task[None]] = set()

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

        Taking a case when too little is left under way starts more.
        """
        place = self._place[case_id]
        future = self._waiting.get(place)
        if future is None or not future.done() or future.cancelled() or future.exception() is not None:
            return None
        del self._waiting[place]
        ahead = place + (BATCH if self._many else WINDOW // 2)
        if ahead < len(self._cases) and ahead not in self._started:
            self._loop.call_soon_threadsafe(self._advance, place)
        return future.result()

    async def cancel(self) -> None:
        """Stop everything that is under way."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        while self._queue:
            self._queue.popleft()[1].cancel()

    def _advance(self, place: int) -> None:
        due = self._due() if self._due is not None else None
        if self._many is not None:
            end = (place // BATCH + 1) * BATCH
            self._start_batch(self._many, self._new(range(place, end), due))
            self._start_batch(self._many, self._new(range(end, end + BATCH), due))
            return
        self._queue.extend(self._new(range(place, place + WINDOW), due))
        while self._queue and len(self._tasks) < self._concurrency:
            self._run(self._work_off())

    def _new(self, places: range, due: Container[str] | None) -> list[_Job[T]]:
        """Make jobs of those places that are due and were not started yet."""
        known = (place for place in places if place < len(self._cases) and place not in self._started)
        new = {place: Future[T]() for place in known if due is None or self._cases[place].case_id in due}
        self._started.update(new)
        self._waiting.update(new)
        return [(self._cases[place], future) for place, future in new.items()]

    async def _work_off(self) -> None:
        """Work the queue off, one case after the other: a task for each case would cost more than a quick query."""
        while self._queue:
            case, future = self._queue.popleft()
            with _settling([future]) as settle:
                settle([await self._one(case)])

    def _start_batch(
        self, many: Callable[[Sequence[BenchmarkCase]], Awaitable[list[T]]], jobs: Sequence[_Job[T]]
    ) -> None:
        if jobs:
            self._run(_work_batch(many, jobs))

    def _run(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


async def _work_batch(many: Callable[[Sequence[BenchmarkCase]], Awaitable[list[T]]], jobs: Sequence[_Job[T]]) -> None:
    with _settling([future for _, future in jobs]) as settle:
        settle(await many([case for case, _ in jobs]))


@contextmanager
def _settling(futures: Sequence[Future[T]]) -> Iterator[Callable[[Sequence[T]], None]]:
    """Give every future an outcome or, whatever ends the block, its error: nobody must wait for ever.

    An exception is thus told, and goes no further, so that whoever works a queue goes on with the next case.
    """

    def settle(outcomes: Sequence[T]) -> None:
        for future, outcome in zip(futures, outcomes, strict=True):
            if not future.done():
                future.set_result(outcome)

    try:
        yield settle
    except BaseException as error:
        for future in futures:
            if not future.done():
                future.set_exception(error)
        if not isinstance(error, Exception):
            raise
