"""Asking a JSON service: one client a knowledge base, its pace, and what its failures mean."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from pytest_heta.calling import note_wait
from pytest_heta.errors import QueryError
from pytest_heta.masking import MASK

RETRYABLE_STATUS = frozenset({408, 425, 429, 500, 502, 503, 504})
_EXCERPT = 300
_SHORTEST_SECRET = 8


class Pace:
    """Lets at most ``per_second`` requests begin a second, evenly spaced; None lets all pass."""

    def __init__(self, per_second: float | None) -> None:
        self._interval = 1 / per_second if per_second else 0.0
        self._next = 0.0

    async def turn(self) -> None:
        """Wait for a turn."""
        start = max(time.monotonic(), self._next)
        self._next = start + self._interval
        wait = max(0.0, start - time.monotonic())
        note_wait(wait)
        await asyncio.sleep(wait)


class JsonService:
    """Sends requests and reads JSON. Belongs to the event loop in which it is first used."""

    def __init__(
        self, *, headers: Mapping[str, str] | None = None, timeout: float = 30, requests_per_second: float | None = None
    ) -> None:
        """Open a client; ``timeout`` bounds, in seconds, connecting and each wait for data."""
        import httpx

        # A service may say in an error what it was sent.
        self._sent = sorted({part for value in (headers or {}).values() for part in _telling(value)}, key=len)[::-1]
        self._client = httpx.AsyncClient(headers=dict(headers or {}), timeout=timeout)
        self._failures = (httpx.HTTPError, httpx.InvalidURL)
        self._transport_errors = httpx.TransportError
        self._timeout, self._pace = timeout, Pace(requests_per_second)

    async def ask(
        self, method: str, url: str, *, body: Any = None, params: Mapping[str, Any] | None = None, missing: bool = False
    ) -> Any:
        """Return the JSON that the service answers; None where it answers nothing, or 404 and ``missing`` allows that.

        Raises:
            QueryError: no answer, an error status, or an answer that is no JSON; says whether trying again can help,
                and after how many seconds if the service says so.
        """
        await self._pace.turn()
        # Without what is asked, so that the same failure of many cases is one.
        request = f"{method} {url.partition('?')[0]}"
        try:
            response = await self._client.request(method, url, json=body, params=params)
        except self._failures as error:
            retryable = isinstance(error, self._transport_errors)
            raise QueryError(self._hide(f"{request}: {self._reason(error)}"), retryable=retryable) from error
        if response.status_code == 404 and missing:
            return None
        if not response.is_success:
            raise self._status_error(request, response)
        if not response.content:
            return None
        try:
            return response.json()
        except ValueError as error:
            excerpt = self._hide(response.text)[:_EXCERPT]
            raise QueryError(self._hide(f"{request}: the answer is not JSON ({error}): {excerpt!r}")) from error

    async def ask_patiently(self, method: str, url: str, *, body: Any = None, attempts: int = 4) -> Any:
        """Do the same, and try again where that can help; for builds, which nobody else repeats.

        Raises:
            QueryError: the last failure.
        """
        for attempt in range(1, attempts):
            try:
                return await self.ask(method, url, body=body)
            except QueryError as error:
                if not error.retryable:
                    raise
                await asyncio.sleep(0.25 * 2**attempt if error.retry_after is None else min(60.0, error.retry_after))
        return await self.ask(method, url, body=body)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    def _status_error(self, request: str, response: Any) -> QueryError:
        status = response.status_code
        target = response.headers.get("location")
        said = (
            f"redirected to {target}: use that address"
            if response.is_redirect
            else repr(self._hide(response.text)[:_EXCERPT])
        )
        return QueryError(
            self._hide(f"{request}: HTTP {status} {response.reason_phrase}: {said}"),
            retryable=status in RETRYABLE_STATUS,
            retry_after=seconds_to_wait(response.headers.get("retry-after")),
        )

    def _hide(self, text: str) -> str:
        for sent in self._sent:
            text = text.replace(sent, MASK)
        return text

    def _reason(self, error: Exception) -> str:
        # The texts of httpx' time-outs are empty.
        return str(error) or f"{type(error).__name__} (time-out: {self._timeout:g} s)"


def _telling(value: str) -> list[str]:
    """Return what must not be told of a header's value: the whole, and its words, such as the key behind ``Bearer``."""
    return [part for part in (value, *value.split()) if len(part) >= _SHORTEST_SECRET]


def seconds_to_wait(retry_after: str | None) -> float | None:
    """Return the seconds that a Retry-After header means (a number or a date, RFC 9110, 10.2.3), None without one."""
    if not retry_after:
        return None
    try:
        return max(0.0, float(retry_after))
    except ValueError:
        pass
    try:
        until = parsedate_to_datetime(retry_after)
    except ValueError:
        return None
    # A date that ends in -0000 comes without a zone, and is one in UTC.
    return max(0.0, (until.replace(tzinfo=until.tzinfo or UTC) - datetime.now(UTC)).total_seconds())
