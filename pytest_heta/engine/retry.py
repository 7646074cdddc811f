"""Trying again: which errors are worth it, how long to wait, and when to stop asking a dead service."""

from __future__ import annotations

import asyncio
import random
import sys
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from email.message import Message
from typing import TypeVar

from pytest_heta.errors import HetaError, QueryError
from pytest_heta.integrations.web import RETRYABLE_STATUS, seconds_to_wait
from pytest_heta.loading import users_place
from pytest_heta.masking import mask_text
from pytest_heta.records import EvaluationError

T = TypeVar("T")

LONGEST_WAIT = 60.0
_LONGEST_TEXT = 10_000

_TRANSPORT_ERRORS = (
    ("httpx", "TransportError"),
    ("requests", "ConnectionError"),
    ("requests", "Timeout"),
    ("aiohttp", "ClientConnectionError"),
    ("urllib.error", "URLError"),
)


@dataclass(frozen=True)
class RetryPolicy:
    """Exponential back-off with full jitter: before try n a wait of up to ``base * 2 ** (n - 2)`` seconds."""

    attempts: int = 4
    base: float = 0.5

    def wait(self, attempt: int, error: BaseException) -> float:
        """Return the seconds to wait after failed try ``attempt`` (from 1); the service's own wish wins."""
        wished = retry_after(error)
        backoff = random.uniform(0, self.base * 2 ** (attempt - 1))
        return min(LONGEST_WAIT, backoff if wished is None else wished)


@dataclass
class CircuitBreaker:
    """Stops asking after ``failures`` failed queries in a row, and lets one through every ``pause`` seconds."""

    failures: int = 8
    pause: float = 20.0
    _in_a_row: int = 0
    _last: str = ""
    _next_probe: float = field(default=0.0)

    def check(self) -> None:
        """Raise QueryError while the service counts as dead."""
        if self._in_a_row < self.failures:
            return
        now = time.monotonic()
        if now < self._next_probe:
            raise QueryError(f"not asked, as the last queries all failed, the latest with {self._last}")
        self._next_probe = now + self.pause

    def succeeded(self) -> None:
        """Note an answer."""
        self._in_a_row = 0

    def failed(self, error: BaseException) -> None:
        """Note a query that failed for a reason that lies with the service."""
        self._in_a_row += 1
        self._last = f"{type(error).__name__}: {error}"
        if self._in_a_row == self.failures:
            self._next_probe = time.monotonic() + self.pause


class AttemptsFailed(Exception):
    """All tries failed; ``error`` is the last error and ``attempts`` how many there were."""

    def __init__(self, error: BaseException, attempts: int) -> None:
        """Keep both."""
        super().__init__(str(error))
        self.error, self.attempts = error, attempts

    def record(self) -> EvaluationError:
        """Return what goes into the report."""
        return evaluation_error(self.error, self.attempts)


async def attempt(
    function: Callable[[], Awaitable[T]], policy: RetryPolicy, breaker: CircuitBreaker, timeout: float | None
) -> T:
    """Return what ``function`` returns, trying again after retryable errors.

    Raises:
        AttemptsFailed: with the last error, after the last try or at the first error that is not retryable.

    """
    number = 1
    while True:
        try:
            if number == 1:  # a query that was asked ends with its own error, not with that of the breaker
                breaker.check()
            async with asyncio.timeout(timeout):
                result = await function()
        except Exception as error:
            if not is_retryable(error) or number >= policy.attempts:
                if is_retryable(error):
                    breaker.failed(error)
                raise AttemptsFailed(_named(error, timeout), number) from error
            await asyncio.sleep(policy.wait(number, error))
            number += 1
        else:
            breaker.succeeded()
            return result


def _named(error: Exception, timeout: float | None) -> Exception:
    """Give a bare time-out, whose text is empty, a message."""
    if isinstance(error, TimeoutError) and not str(error) and timeout is not None:
        return QueryTimeoutError(f"no answer within {timeout:g} s")
    return error


class QueryTimeoutError(QueryError):
    """A query that took longer than it may."""

    def __init__(self, message: str) -> None:
        """Mark it as worth another try."""
        super().__init__(message, retryable=True)


def evaluation_error(error: BaseException, attempts: int = 1) -> EvaluationError:
    """Return the record of an error; one that is not ours is told with its place in the user's code."""
    place = None if isinstance(error, HetaError) else users_place(error)
    return EvaluationError(
        message=mask_text(_words(error)) + (f" ({place})" if place else ""),
        error_type=type(error).__name__,
        retryable=is_retryable(error),
        attempts=attempts,
    )


def _words(error: BaseException) -> str:
    """Return what an error says, as UTF-8 can hold it, and not without end."""
    try:
        words = str(error) or repr(error)
    except Exception as unspeakable:
        words = f"(its text cannot be had: {type(unspeakable).__name__})"
    words = words.encode("utf-8", "backslashreplace").decode("utf-8")
    return words if len(words) <= _LONGEST_TEXT else f"{words[:_LONGEST_TEXT]}… ({len(words):,} characters in all)"


def is_retryable(error: BaseException) -> bool:
    """Tell whether the same query may succeed later."""
    if isinstance(error, QueryError):
        return error.retryable
    status = _status(error)
    if status is not None:
        return status in RETRYABLE_STATUS
    return isinstance(error, (ConnectionError, TimeoutError, *_transport_errors()))


def retry_after(error: BaseException) -> float | None:
    """Return the seconds that a service asked to wait, from the error or its Retry-After header."""
    if isinstance(error, QueryError):
        return error.retry_after
    for holder in (getattr(error, "response", None), error):
        headers = getattr(holder, "headers", None)
        if isinstance(headers, Mapping | Message):
            wish = {str(name).lower(): value for name, value in headers.items()}.get("retry-after")
            return None if wish is None else seconds_to_wait(str(wish))
    return None


def _status(error: BaseException) -> int | None:
    """Return the HTTP status, under the name that httpx and requests, aiohttp, or urllib give it."""
    for holder in (error, getattr(error, "response", None)):
        for name in ("status_code", "status", "code"):
            status = getattr(holder, name, None)
            if isinstance(status, int) and 400 <= status < 600:
                return status
    return None


def _transport_errors() -> tuple[type[BaseException], ...]:
    """Return the connection errors of those HTTP clients that the process uses at all."""
    found = (getattr(sys.modules.get(module), name, None) for module, name in _TRANSPORT_ERRORS)
    return tuple(error for error in found if error is not None)
