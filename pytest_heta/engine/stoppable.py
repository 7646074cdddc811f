"""Blocking work in a thread that itself waits for coroutines of the loop, and can be stopped from there."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class Stoppable:
    """One piece of such work. Made on the loop."""

    def __init__(self) -> None:
        """Remember the loop."""
        self._loop = asyncio.get_running_loop()
        self._task: asyncio.Task[Any] | None = None
        self._stopped = False

    async def run(self, work: Callable[[], T], late: Callable[[T], None]) -> T:
        """Return what ``work`` returns in a thread.

        If this is cancelled, so is the coroutine that ``work`` waits for, but only once ``work`` has ended, and so
        has cleaned up, is the cancellation passed on. What it returned nevertheless is handed to ``late``.
        """
        # A future of the thread, not a task: when the loop ends, it cancels all tasks.
        working = self._loop.run_in_executor(None, work)
        try:
            return await asyncio.shield(working)
        except asyncio.CancelledError:
            self._stopped = True
            if self._task is not None:
                self._task.cancel()
            await asyncio.wait([working])
            if not working.cancelled() and working.exception() is None:
                late(working.result())
            raise

    def wait_for(self, coroutine: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Run a coroutine on the loop and return what it returns; called from ``work``, in its thread.

        Raises:
            CancelledError: it was stopped.

        """
        return asyncio.run_coroutine_threadsafe(self._started(coroutine), self._loop).result()

    async def _started(self, coroutine: Callable[[], Coroutine[Any, Any, T]]) -> T:
        if self._stopped:
            raise asyncio.CancelledError
        self._task = asyncio.current_task()
        return await coroutine()
