"""Calling other people's functions: synchronous ones in a thread, asynchronous ones on the loop."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from pytest_heta.errors import RecipeError

_WAITS: ContextVar[list[float] | None] = ContextVar("waits", default=None)


async def call(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Return what ``function`` returns, awaited where that is an awaitable; a generator's items as a list.

    Raises:
        RecipeError: where the function raises what is no ordinary error (``sys.exit``, KeyboardInterrupt, the outcomes
            of a test framework) or cancels itself: each would end the loop or leave others waiting.

    """
    try:
        if is_async(function):
            return await function(*args, **kwargs)
        result = await asyncio.to_thread(_returned, function, *args, **kwargs)
        return await result if inspect.isawaitable(result) else result
    except Exception:
        raise
    except BaseException as error:
        raise ordinary(error, getattr(function, "__qualname__", function)) from error


def ordinary(error: BaseException, name: object) -> RecipeError:
    """Return, for what other people's code raised and is no Exception, a RecipeError that says so.

    Raises:
        CancelledError: it is the cancellation of the current task, which must go its way.

    """
    if isinstance(error, SystemExit):
        return RecipeError(f"{name} ended with sys.exit({error.code!r})")
    if isinstance(error, asyncio.CancelledError):
        task = asyncio.current_task()
        if task is None or task.cancelling():
            raise error
        return RecipeError(f"{name} was cancelled by something within itself")
    return RecipeError(f"{name} raised {type(error).__name__}: {error}")


def is_async(function: Callable[..., Any]) -> bool:
    """Tell whether calling it gives a coroutine: an ``async def``, or an object with an asynchronous ``__call__``."""
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__)


def _returned(function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    try:
        result = function(*args, **kwargs)
        # In the thread, where it may take its time.
        return list(result) if inspect.isgenerator(result) else result
    except StopIteration as error:
        # No future can hold a StopIteration: whoever waits for it would wait for ever.
        raise RuntimeError(f"StopIteration: {error}") from error


@contextmanager
def counting_waits() -> Iterator[list[float]]:
    """Collect the seconds that are noted, inside the block, as waits that a recipe imposes on itself."""
    waits: list[float] = []
    token = _WAITS.set(waits)
    try:
        yield waits
    finally:
        _WAITS.reset(token)


def note_wait(seconds: float) -> None:
    """Note a wait for a turn, such as one under a rate limit, which is no part of a query's latency."""
    waits = _WAITS.get()
    if waits is not None:
        waits.append(seconds)


async def close(thing: Any) -> None:
    """Close whatever has ``aclose`` or ``close``."""
    closer = getattr(thing, "aclose", None) or getattr(thing, "close", None)
    if closer is not None:
        await call(closer)
