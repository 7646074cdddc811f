"""One event loop in one thread, for everything asynchronous that happens during a run."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

from pytest_heta.calling import ordinary
from pytest_heta.engine.threads import DaemonThreads

T = TypeVar("T")


class LoopThread:
    """Runs coroutines in a thread of its own, so that it gets along with whatever loop the user's tests run."""

    def __init__(self, threads: int = 16) -> None:
        """Start the thread; ``threads`` bounds the pool in which synchronous recipes run."""
        self._loop = asyncio.new_event_loop()
        self._threads = DaemonThreads(threads, "heta-call")
        self._loop.set_default_executor(self._threads)
        self._thread = threading.Thread(target=self._loop.run_forever, name="heta-loop", daemon=True)
        self._thread.start()

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run the coroutine to its end and return what it returns; an interrupt cancels it."""
        future = asyncio.run_coroutine_threadsafe(_contained(coroutine), self._loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def close(self) -> None:
        """Cancel whatever still runs and end the thread. Calling it again does nothing."""
        if self._loop.is_closed():
            return
        self.run(_cancel_others())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        # Without waiting: a synchronous query that hangs must not keep the run from ending.
        self._threads.shutdown(wait=False, cancel_futures=True)
        self._loop.close()


async def _contained(coroutine: Coroutine[Any, Any, T]) -> T:
    # An interrupt or exit that user code raises would end the loop, and whoever waits would wait for ever.
    try:
        return await coroutine
    except Exception:
        raise
    except BaseException as error:
        raise ordinary(error, "other people's code") from error


async def _cancel_others() -> None:
    others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
    await asyncio.get_running_loop().shutdown_asyncgens()
