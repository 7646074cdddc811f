"""Responses of a service, kept so that the same requests can be answered again without it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

from pytest_heta.errors import RecipeError


class Recordings:
    """Request and response by the sha256 of the request; in a JSONL file where there is a ``path``.

    A line holds the key, the request (for people) and the response. Several processes may add to one file.
    """

    def __init__(self, path: Path | None = None) -> None:
        """Read what is there.

        Raises:
            RecipeError: a line is no recording; names it.
        """
        self._path = path
        self._locks: dict[str, asyncio.Lock] = {}
        self._recorded = _read(path) if path is not None and path.is_file() else {}
        self._from_file = frozenset(self._recorded)

    async def answer(self, request: Any, ask: Callable[[], Awaitable[Any]]) -> tuple[Any, bool]:
        """Return the response to ``request``, and whether it came from the file; else it is asked for once, and kept.

        Tasks that want the same at the same time wait for one of them; a failure is not kept.
        """
        key = sha256(json.dumps(request, sort_keys=True).encode()).hexdigest()
        if key in self._from_file:
            return self._recorded[key], True
        async with self._locks.setdefault(key, asyncio.Lock()):
            if key not in self._recorded:
                response = await ask()
                await asyncio.to_thread(self._keep, key, request, response)
                self._recorded[key] = response
        return self._recorded[key], False

    def _keep(self, key: str, request: Any, response: Any) -> None:
        if self._path is None:
            return
        from filelock import FileLock

        line = json.dumps({"key": key, "request": request, "response": response}, ensure_ascii=False)
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(f"{self._path}.lock"), self._path.open("a", encoding="utf-8", newline="\n") as file:
            file.write(line + "\n")


def _read(path: Path) -> dict[str, Any]:
    recorded = {}
    for number, line in enumerate(path.read_bytes().split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
            recorded[row["key"]] = row["response"]
        except (ValueError, KeyError, TypeError) as error:
            raise RecipeError(f"{path}:{number}: not a recorded response: {error!r}") from error
    return recorded
