"""The loop thread ends with the run, whatever recipes do."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
import time
from concurrent.futures import CancelledError

import pytest

from pytest_heta.engine.loop import LoopThread
from pytest_heta.engine.threads import DaemonThreads


def test_it_returns_and_raises_what_the_coroutine_does() -> None:
    """As if it had been awaited here."""

    async def fail() -> None:
        raise ValueError("no")

    loop = LoopThread()
    try:
        assert loop.run(asyncio.sleep(0, "done")) == "done"
        with pytest.raises(ValueError, match="no"):
            loop.run(fail())
        assert loop.run(asyncio.sleep(0, "again")) == "again"
    finally:
        loop.close()


def test_it_works_inside_a_running_loop() -> None:
    """A user's asynchronous test may own the loop of this thread."""

    async def outer() -> str:
        return loop.run(asyncio.sleep(0, "inner"))

    loop = LoopThread()
    try:
        assert asyncio.run(outer()) == "inner"
    finally:
        loop.close()


def test_closing_cancels_what_runs_and_may_be_repeated() -> None:
    """Nobody waits for a task that would go on for ever."""
    loop = LoopThread()
    waiting, outcome = threading.Event(), []

    async def forever() -> None:
        waiting.set()
        await asyncio.Event().wait()

    def ask() -> None:
        try:
            loop.run(forever())
        except CancelledError:
            outcome.append("cancelled")

    thread = threading.Thread(target=ask)
    thread.start()
    waiting.wait(5)
    loop.close()
    thread.join(5)
    assert outcome == ["cancelled"]
    loop.close()


def run_python(code: str, timeout: float = 20) -> subprocess.CompletedProcess[str]:
    """Run a program in a process of its own."""
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=timeout, check=False)


def test_an_interrupt_cancels_the_coroutine_and_is_raised_here() -> None:
    """Ctrl-C while the main thread waits ends the query and reaches the caller."""
    done = run_python(
        """
import asyncio, os, signal, threading
from pytest_heta.engine.loop import LoopThread

async def wait():
    try:
        threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
        await asyncio.sleep(60)
    except asyncio.CancelledError:
        print("cancelled")
        raise

loop = LoopThread()
try:
    loop.run(wait())
except KeyboardInterrupt:
    loop.close()
    print("interrupted")
"""
    )
    assert sorted(done.stdout.split()) == ["cancelled", "interrupted"], done.stderr


def test_a_thread_that_hangs_does_not_keep_the_process() -> None:
    """A synchronous query without an end is left behind when the run ends."""
    started = time.monotonic()
    done = run_python(
        """
import asyncio, threading, time
from pytest_heta.engine.loop import LoopThread

started = threading.Event()

def hang():
    started.set()
    time.sleep(600)

async def ask():
    async with asyncio.timeout(0.1):
        await asyncio.to_thread(hang)

loop = LoopThread()
try:
    loop.run(ask())
except TimeoutError:
    loop.close()
    print("ended", started.is_set())
"""
    )
    assert done.stdout.split() == ["ended", "True"], done.stderr
    assert time.monotonic() - started < 20


def test_threads_are_reused_and_bounded() -> None:
    """Never more at once than allowed; one that is free takes the next job."""
    threads, barrier = DaemonThreads(2, "toy"), threading.Barrier(2)
    both = [threads.submit(barrier.wait, 5) for _ in range(2)]
    assert sorted(future.result(5) for future in both) == [0, 1]
    names = {threads.submit(lambda: threading.current_thread().name).result(5) for _ in range(20)}
    assert names <= {"toy-1", "toy-2"}
    threads.shutdown(wait=False)


def test_after_shutdown_no_job_begins() -> None:
    """What waits is cancelled, what runs goes on, and new jobs are refused."""
    threads, release = DaemonThreads(1, "toy"), threading.Event()
    running = threads.submit(release.wait, 5)
    while not running.running():
        time.sleep(0.001)
    waiting = threads.submit(print)
    threads.shutdown(wait=False, cancel_futures=True)
    assert waiting.cancelled()
    release.set()
    assert running.result(5) is True
    with pytest.raises(RuntimeError, match="shut down"):
        threads.submit(print)
