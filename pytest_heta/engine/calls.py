"""Calling other people's functions: synchronous ones in a thread, asynchronous ones on the loop."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from typing import Any

from pytest_heta.errors import RecipeError


async def call(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Return what ``function`` returns, awaited where that is an awaitable.

    Raises:
        RecipeError: where the function calls ``sys.exit``, which would otherwise end the loop.

    """
    try:
        if inspect.iscoroutinefunction(function):
            return await function(*args, **kwargs)
        result = await asyncio.to_thread(function, *args, **kwargs)
        return await result if inspect.isawaitable(result) else result
    except SystemExit as error:
        name = getattr(function, "__qualname__", function)
        raise RecipeError(f"{name} ended with sys.exit({error.code!r})") from error


async def close(thing: Any) -> None:
    """Close whatever has ``aclose`` or ``close``."""
    closer = getattr(thing, "aclose", None) or getattr(thing, "close", None)
    if closer is not None:
        await call(closer)
