"""Threads for synchronous recipes, which may hang."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

_Job = tuple["Future[Any]", Callable[[], Any]]


class DaemonThreads(ThreadPoolExecutor):
    """A thread pool, as an event loop wants one, that does not keep the process from ending.

    The interpreter joins the threads of every other pool when it exits, whatever ``shutdown`` was told, so one query
    that hangs would make the whole run hang after its last line.
    """

    def __init__(self, threads: int, name: str) -> None:
        """Start no thread yet; there will be at most ``threads`` of them, called ``{name}-1`` and so on."""
        super().__init__(threads)
        self._limit, self._name = threads, name
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._idle = threading.Semaphore(0)
        self._guard = threading.Lock()
        self._started = 0
        self._ended = False

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Run the function in a thread, as soon as one is free.

        Raises:
            RuntimeError: after ``shutdown``.

        """
        future: Future[T] = Future()
        with self._guard:
            if self._ended:
                raise RuntimeError("the threads of this run were shut down")
            self._jobs.put((future, partial(fn, *args, **kwargs)))
            if not self._idle.acquire(blocking=False) and self._started < self._limit:
                self._started += 1
                threading.Thread(target=self._work, name=f"{self._name}-{self._started}", daemon=True).start()
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Take no more work, and cancel what has not begun if told so. It never waits for a thread."""
        with self._guard:
            self._ended = True
            while cancel_futures and (job := self._next_job()) is not None:
                job[0].cancel()
            for _ in range(self._started):
                self._jobs.put(None)

    def _next_job(self) -> _Job | None:
        try:
            return self._jobs.get_nowait()
        except Empty:
            return None

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            _settle(*job)
            del job  # or it would live until the next one
            self._idle.release()


def _settle(future: Future[Any], work: Callable[[], Any]) -> None:
    if not future.set_running_or_notify_cancel():
        return
    try:
        future.set_result(work())
    except BaseException as error:
        future.set_exception(error)
