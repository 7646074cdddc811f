"""Other people's functions: whatever they are and do, the caller gets a result or one exception."""

from __future__ import annotations

import asyncio
import sys
import threading
from typing import Any

import pytest

from pytest_heta.calling import call, close
from pytest_heta.errors import RecipeError


def test_synchronous_functions_run_in_a_thread() -> None:
    """And asynchronous ones on the loop; both get all arguments."""

    async def on_loop(a: int, *, b: int) -> tuple[int, str]:
        return a + b, threading.current_thread().name

    def in_thread(a: int, *, b: int) -> tuple[int, str]:
        return a + b, threading.current_thread().name

    async def both() -> tuple[Any, Any]:
        return await call(on_loop, 1, b=2), await call(in_thread, 1, b=2)

    (first, loop_thread), (second, other_thread) = asyncio.run(both())
    assert (first, second) == (3, 3)
    assert loop_thread == threading.main_thread().name != other_thread


def test_an_awaitable_from_a_synchronous_function_is_awaited() -> None:
    """As from a function that is wrapped by a plain decorator."""

    def wrapped() -> Any:
        return asyncio.sleep(0, "found")

    assert asyncio.run(call(wrapped)) == "found"


@pytest.mark.parametrize("code", [0, 3, "bye"])
def test_sys_exit_is_an_error_of_the_recipe(code: Any) -> None:
    """It neither ends the run nor the loop."""

    def leave() -> None:
        sys.exit(code)

    async def leave_too() -> None:
        sys.exit(code)

    for function in (leave, leave_too):
        with pytest.raises(RecipeError, match=rf"leave.* ended with sys.exit\({code!r}\)"):
            asyncio.run(call(function))


def test_a_stop_iteration_does_not_hang() -> None:
    """``next()`` on nothing in a synchronous function raises; no future could hold a StopIteration."""

    def first_of_none() -> Any:
        return next(iter(()))

    async def bounded() -> None:
        async with asyncio.timeout(5):
            await call(first_of_none)

    with pytest.raises(RuntimeError, match="StopIteration"):
        asyncio.run(bounded())


def test_a_function_that_cancels_itself_fails() -> None:
    """Its CancelledError is not taken for ours."""

    async def cancels_its_own() -> None:
        task = asyncio.create_task(asyncio.sleep(60))
        task.cancel()
        await task

    with pytest.raises(RecipeError, match="cancels_its_own was cancelled by something within itself"):
        asyncio.run(call(cancels_its_own))


def test_a_cancellation_from_outside_goes_through() -> None:
    """A time-out is a time-out, and a cancelled task ends as one."""

    async def bounded() -> None:
        async with asyncio.timeout(0.01):
            await call(asyncio.sleep, 60)

    async def cancelled() -> None:
        task = asyncio.create_task(call(asyncio.sleep, 60))
        await asyncio.sleep(0)
        task.cancel()
        await task

    with pytest.raises(TimeoutError):
        asyncio.run(bounded())
    with pytest.raises(asyncio.CancelledError):
        asyncio.run(cancelled())


def test_close_takes_what_there_is() -> None:
    """``aclose`` before ``close``, and neither is needed."""
    log: list[str] = []

    class Plain:
        def close(self) -> None:
            log.append("close")

    class Both(Plain):
        async def aclose(self) -> None:
            log.append("aclose")

    for thing in (Plain(), Both(), object()):
        asyncio.run(close(thing))
    assert log == ["close", "aclose"]
