"""A real HTTP server of a test's own: uvicorn in a thread, with a handler that is a plain function."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs

import pytest


@dataclass(frozen=True)
class Request:
    """What came in; ``body`` is the parsed JSON, None where there was none."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: Any


@dataclass(frozen=True)
class Reply:
    """What goes out: JSON, or ``text`` as it is."""

    body: Any = None
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    text: str | None = None


Handler = Callable[[Request], Awaitable[Reply]]


@contextmanager
def serving(handler: Handler) -> Iterator[str]:
    """Serve on a free port and yield the address; skips the test where uvicorn is not installed."""
    uvicorn = pytest.importorskip("uvicorn", reason="uvicorn is not installed: pip install 'pytest-heta[test]'")
    listening = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(_app(handler), log_level="error", lifespan="off", ws="none"))
    thread = threading.Thread(target=lambda: asyncio.run(server.serve([listening])), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(10)
        listening.close()


def _app(handler: Handler) -> Callable[..., Awaitable[None]]:
    async def app(scope: dict[str, Any], receive: Any, send: Any) -> None:
        reply = await handler(_request(scope, await _read(receive)))
        text = json.dumps(reply.body) if reply.text is None else reply.text
        headers = {"content-type": "application/json", **reply.headers}
        encoded = [(name.encode(), value.encode()) for name, value in headers.items()]
        await send({"type": "http.response.start", "status": reply.status, "headers": encoded})
        await send({"type": "http.response.body", "body": text.encode()})

    return app


async def _read(receive: Any) -> bytes:
    parts, more = [], True
    while more:
        message = await receive()
        parts.append(message.get("body", b""))
        more = message.get("more_body", False)
    return b"".join(parts)


def _request(scope: dict[str, Any], body: bytes) -> Request:
    return Request(
        method=scope["method"],
        path=scope["path"],
        query={name: values[0] for name, values in parse_qs(scope["query_string"].decode()).items()},
        headers={name.decode(): value.decode() for name, value in scope["headers"]},
        body=json.loads(body) if body else None,
    )
