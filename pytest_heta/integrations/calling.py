"""Calling the user's functions, whether they are synchronous or not."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from typing import Any


async def finished(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Return what ``function`` gives in the end: awaited where it is asynchronous, else called in a thread."""
    if is_async(function):
        return await function(*args, **kwargs)
    result = await asyncio.to_thread(function, *args, **kwargs)
    return await result if inspect.isawaitable(result) else result


def is_async(function: Callable[..., Any]) -> bool:
    """Tell whether calling it gives a coroutine: an ``async def``, or an object with an asynchronous ``__call__``."""
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__)


async def close(thing: Any) -> None:
    """Close whatever has ``aclose`` or ``close``."""
    closer = getattr(thing, "aclose", None) or getattr(thing, "close", None)
    if closer is not None:
        await finished(closer)
