"""Which errors are worth another try, how long to wait, and when to stop."""

from __future__ import annotations

import asyncio
import email.message
import io
import urllib.error
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import httpx
import pytest

from pytest_heta.engine.retry import (
    AttemptsFailed,
    CircuitBreaker,
    RetryPolicy,
    attempt,
    evaluation_error,
    is_retryable,
    retry_after,
)
from pytest_heta.errors import QueryError, RecipeError

AT_ONCE = RetryPolicy(attempts=4, base=0.0)


def http_error(status: int, **headers: str) -> httpx.HTTPStatusError:
    """What ``raise_for_status`` raises."""
    request = httpx.Request("GET", "http://service/")
    response = httpx.Response(status, headers={k.replace("_", "-"): v for k, v in headers.items()}, request=request)
    return httpx.HTTPStatusError(f"status {status}", request=request, response=response)


def urllib_error(status: int, wait: str = "") -> urllib.error.HTTPError:
    """What ``urlopen`` raises."""
    headers = email.message.Message()
    if wait:
        headers["Retry-After"] = wait
    return urllib.error.HTTPError("http://service/", status, "no", headers, io.BytesIO())


class StatusError(Exception):
    """As aiohttp's: with a status and headers of its own."""

    def __init__(self, status: int, headers: dict[str, str]) -> None:
        super().__init__("no")
        self.status, self.headers = status, headers


@pytest.mark.parametrize("status", [408, 425, 429, 500, 502, 503, 504])
def test_these_statuses_may_pass(status: int) -> None:
    """Whichever client reports them."""
    for error in (http_error(status), urllib_error(status), StatusError(status, {})):
        assert is_retryable(error)


@pytest.mark.parametrize("status", [400, 401, 403, 404, 422, 501])
def test_these_statuses_will_not(status: int) -> None:
    """The same query would fail again."""
    for error in (http_error(status), urllib_error(status), StatusError(status, {})):
        assert not is_retryable(error)


@pytest.mark.parametrize(
    ("error", "worth"),
    [
        (ConnectionResetError("reset"), True),
        (TimeoutError(), True),
        (httpx.ConnectError("refused"), True),
        (httpx.ReadTimeout("slow"), True),
        (urllib.error.URLError(ConnectionRefusedError()), True),
        (QueryError("no"), False),
        (QueryError("later", retryable=True), True),
        (RecipeError("wrong"), False),
        (ValueError("wrong"), False),
        (KeyError("code"), False),
    ],
)
def test_errors_of_the_transport_may_pass(error: Exception, worth: bool) -> None:
    """Those of the recipe's code will not; a QueryError knows."""
    assert is_retryable(error) is worth


def test_the_service_says_how_long_to_wait() -> None:
    """In seconds, in the header of any client or in a QueryError."""
    assert retry_after(http_error(429, Retry_After="7")) == 7
    assert retry_after(urllib_error(503, "2.5")) == 2.5
    assert retry_after(StatusError(429, {"retry-after": "3"})) == 3
    assert retry_after(QueryError("later", retry_after=4.0)) == 4
    assert retry_after(http_error(429, Retry_After="-7")) == 0


def test_the_service_says_until_when_to_wait() -> None:
    """As a date in any of the forms of HTTP; one that has passed is no wait."""
    soon = datetime.now(UTC).replace(microsecond=0) + timedelta(seconds=30)
    for text in (format_datetime(soon, usegmt=True), soon.strftime("%a, %d %b %Y %H:%M:%S -0000")):
        wait = retry_after(http_error(503, Retry_After=text))
        assert wait is not None
        assert 25 < wait <= 30
    assert retry_after(http_error(503, Retry_After="Wed, 21 Oct 2015 07:28:00 GMT")) == 0


@pytest.mark.parametrize("error", [http_error(503), http_error(503, Retry_After="soon"), ValueError("no")])
def test_without_a_wish_there_is_none(error: Exception) -> None:
    """A header that cannot be read is none."""
    assert retry_after(error) is None


def test_the_wait_doubles_and_is_bounded() -> None:
    """Jitter takes any part of it; a wish replaces it, up to a minute."""
    policy = RetryPolicy(base=0.5)
    for number, most in ((1, 0.5), (2, 1.0), (3, 2.0)):
        waits = [policy.wait(number, ValueError()) for _ in range(200)]
        assert 0 <= min(waits) < most / 4
        assert most * 3 / 4 < max(waits) <= most
    assert policy.wait(1, QueryError("", retry_after=3600)) == 60
    assert policy.wait(1, QueryError("", retry_after=5)) == 5


def failing(*errors: Exception | None) -> tuple[Callable[[], Any], list[int]]:
    """Return a query that fails with these errors in turn, then answers, and a list that grows with each try."""
    tries: list[int] = []

    async def query() -> str:
        tries.append(len(tries) + 1)
        error = errors[len(tries) - 1] if len(tries) <= len(errors) else None
        if error is not None:
            raise error
        return "answer"

    return query, tries


def test_a_query_that_recovers_has_an_answer() -> None:
    """After as many tries as it took."""
    query, tries = failing(http_error(503), ConnectionResetError())
    assert asyncio.run(attempt(query, AT_ONCE, CircuitBreaker(), None)) == "answer"
    assert tries == [1, 2, 3]


@pytest.mark.parametrize(
    ("errors", "attempts", "kind"),
    [
        ([http_error(503)] * 9, 4, "HTTPStatusError"),
        ([ValueError("no")], 1, "ValueError"),
        ([http_error(503), ValueError("no")], 2, "ValueError"),
    ],
)
def test_a_query_that_does_not_recover_tells_its_tries(errors: list[Exception], attempts: int, kind: str) -> None:
    """It ends after the last try, or at once where another cannot help, with its own error."""
    query, tries = failing(*errors)
    with pytest.raises(AttemptsFailed) as failed:
        asyncio.run(attempt(query, AT_ONCE, CircuitBreaker(), None))
    record = failed.value.record()
    assert (record.error_type, record.attempts, len(tries)) == (kind, attempts, attempts)


def test_a_time_out_says_how_long_it_was() -> None:
    """It is worth another try."""

    async def hang() -> None:
        await asyncio.sleep(60)

    with pytest.raises(AttemptsFailed) as failed:
        asyncio.run(attempt(hang, RetryPolicy(2, base=0.0), CircuitBreaker(), 0.01))
    record = failed.value.record()
    assert record.model_dump() == {
        "message": "no answer within 0.01 s",
        "error_type": "QueryTimeoutError",
        "retryable": True,
        "attempts": 2,
    }


def test_an_error_without_words_is_named() -> None:
    """A message is never empty."""
    assert evaluation_error(ValueError()).message == "ValueError()"


def test_the_breaker_opens_and_probes(monkeypatch: pytest.MonkeyPatch) -> None:
    """After some failed queries in a row it refuses, lets one through after the pause, and closes at an answer."""
    now = [100.0]
    monkeypatch.setattr("pytest_heta.engine.retry.time.monotonic", lambda: now[0])
    breaker = CircuitBreaker(failures=2, pause=20)
    once = RetryPolicy(1)
    dead, tries = failing(*[ConnectionResetError("gone")] * 3)

    async def ask() -> str | int:
        try:
            return str(await attempt(dead, once, breaker, None))
        except AttemptsFailed as failed:
            return str(failed.error)

    async def story() -> None:
        assert [await ask() for _ in range(2)] == ["gone", "gone"]
        refusal = "not asked, as the last queries all failed, the latest with ConnectionResetError: gone"
        assert [await ask() for _ in range(3)] == [refusal] * 3
        assert len(tries) == 2
        now[0] += 20
        assert await ask() == "gone"
        assert str(await ask()).startswith("not asked, as the last queries all failed")
        assert len(tries) == 3
        now[0] += 20
        assert await ask() == "answer"
        assert await ask() == "answer"

    asyncio.run(story())


def test_a_query_on_its_way_ends_with_its_own_error() -> None:
    """Not with the refusal of a breaker that opened between its tries."""
    breaker = CircuitBreaker(failures=1)

    async def query() -> None:
        breaker.failed(ValueError("another query"))
        raise ConnectionResetError("mine")

    with pytest.raises(AttemptsFailed) as failed:
        asyncio.run(attempt(query, AT_ONCE, breaker, None))
    assert (str(failed.value.error), failed.value.attempts) == ("mine", 4)


def test_errors_of_the_query_itself_do_not_open_the_breaker() -> None:
    """A bad query says nothing about the service."""
    breaker = CircuitBreaker(failures=1)
    query, _ = failing(ValueError("bad query"))
    with pytest.raises(AttemptsFailed):
        asyncio.run(attempt(query, AT_ONCE, breaker, None))
    assert asyncio.run(attempt(query, AT_ONCE, breaker, None)) == "answer"


def test_what_an_error_says_is_bounded_and_can_be_written() -> None:
    """A huge text is cut, half a surrogate pair is escaped, and an error that cannot speak is told all the same."""

    class Mute(Exception):
        def __str__(self) -> str:
            raise RuntimeError("no words")

    assert evaluation_error(ValueError("x" * 20_000)).message == f"{'x' * 10_000}… (20,000 characters in all)"
    assert evaluation_error(ValueError("\ud83d")).message == "\\ud83d"
    assert evaluation_error(Mute()).message == "(its text cannot be had: RuntimeError)"
