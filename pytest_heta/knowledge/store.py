"""Object stores: one in memory, and one in a folder that holds millions of small objects in a single file."""

from __future__ import annotations

import asyncio
import os
import sqlite3
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import TypeVar
from uuid import uuid4

from filelock import FileLock

from pytest_heta.errors import ObjectNotFoundError

_T = TypeVar("_T")
_INLINE_LIMIT = 1 << 20
_PAGE = 1000
_BUSY_SECONDS = 60.0


class MemoryObjectStore:
    """Objects in a dict; for tests and small uses."""

    def __init__(self) -> None:
        self._objects: dict[str, bytes] = {}

    async def put(self, key: str, data: bytes) -> None:
        """Store ``data``; an existing object is replaced."""
        self._objects[key] = bytes(data)

    async def get(self, key: str) -> bytes:
        """Return the object, or raise ObjectNotFoundError."""
        try:
            return self._objects[key]
        except KeyError:
            raise _not_found(key) from None

    async def exists(self, key: str) -> bool:
        """Tell whether the key holds an object."""
        return key in self._objects

    async def list(self, prefix: str = "") -> AsyncIterator[str]:
        """Yield the keys that begin with ``prefix``, sorted."""
        for key in sorted(key for key in self._objects if key.startswith(prefix)):
            yield key

    async def delete(self, key: str) -> None:
        """Remove the object; a key that holds none is no error."""
        self._objects.pop(key, None)

    async def aclose(self) -> None:
        """Release nothing: the objects live as long as the store."""


class LocalObjectStore:
    """Objects in a folder: small ones as rows of one SQLite file, those above 1 MiB as files beside it.

    Any number of tasks, threads and processes of one machine may use one folder. A database connection belongs to the
    thread that made it, so one thread of the store's own does all its work; the caller's event loop never waits on a
    disk. A large object is on the disk before its row is, and leaves after it, so that a row never points at nothing:
    a crash between the two leaves at most a file that nobody refers to.
    """

    def __init__(self, directory: Path | str) -> None:
        """Use ``directory``; it is made, and the database opened, at the first use."""
        self._directory = Path(directory)
        self._large = self._directory / "large"
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="heta-object-store")
        self._connection: sqlite3.Connection | None = None
        self._closed = False

    async def put(self, key: str, data: bytes) -> None:
        """Store ``data``; an existing object is replaced."""
        await self._run(lambda: self._put(_encode(key), data))

    async def get(self, key: str) -> bytes:
        """Return the object, or raise ObjectNotFoundError."""
        data = await self._run(lambda: self._get(_encode(key)))
        if data is None:
            raise _not_found(key)
        return data

    async def exists(self, key: str) -> bool:
        """Tell whether the key holds an object."""
        return await self._run(lambda: self._row(_encode(key)) is not None)

    async def list(self, prefix: str = "") -> AsyncIterator[str]:
        """Yield the keys that begin with ``prefix``, sorted by code point; a page of them is in memory at a time."""
        start, stop = _encode(prefix), _after_prefix(_encode(prefix))
        while True:
            page = await self._run(partial(self._page, start, stop))
            for key in page:
                yield key.decode("utf-8", "surrogatepass")
            if len(page) < _PAGE:
                return
            start = page[-1] + b"\0"

    async def delete(self, key: str) -> None:
        """Remove the object; a key that holds none is no error."""
        await self._run(lambda: self._delete(_encode(key)))

    async def aclose(self) -> None:
        """Close the database; the store cannot be used afterwards."""
        if not self._closed:
            self._closed = True
            await self._run(self._close)
            self._worker.shutdown(wait=False)

    async def _run(self, work: Callable[[], _T]) -> _T:
        return await asyncio.get_running_loop().run_in_executor(self._worker, work)

    def _database(self) -> sqlite3.Connection:
        if self._connection is None:
            self._large.mkdir(parents=True, exist_ok=True)
            # Two processes that turn an empty file into a WAL database at once can get SQLITE_BUSY without any waiting.
            with FileLock(self._directory / ".open.lock"):
                self._connection = _open_database(self._directory / "objects.sqlite3")
        return self._connection

    def _row(self, key: bytes) -> tuple[bytes | None, str | None] | None:
        found = self._database().execute("SELECT data, file FROM objects WHERE key = ?", (key,)).fetchone()
        return None if found is None else (found[0], found[1])

    def _get(self, key: bytes) -> bytes | None:
        while (row := self._row(key)) is not None:
            data, file = row
            if file is None:
                return data or b""
            try:
                return (self._large / file).read_bytes()
            except FileNotFoundError:
                if self._row(key) == row:
                    raise
                # Another process replaced the object between the two reads: the new row says where it is now.
        return None

    def _put(self, key: bytes, data: bytes) -> None:
        file = self._write_large(key, data) if len(data) > _INLINE_LIMIT else None
        self._change(
            key,
            "INSERT INTO objects (key, data, file) VALUES (?, ?, ?) "
            "ON CONFLICT (key) DO UPDATE SET data = excluded.data, file = excluded.file",
            (key, None if file else data, file),
        )

    def _delete(self, key: bytes) -> None:
        self._change(key, "DELETE FROM objects WHERE key = ?", (key,))

    def _change(self, key: bytes, statement: str, values: tuple[object, ...]) -> None:
        """Change one row in a transaction, then remove the file that it no longer refers to."""
        database = self._database()
        database.execute("BEGIN IMMEDIATE")
        try:
            before = self._row(key)
            database.execute(statement, values)
            database.execute("COMMIT")
        except BaseException:
            database.execute("ROLLBACK")
            raise
        if before is not None and before[1] is not None:
            (self._large / before[1]).unlink(missing_ok=True)

    def _write_large(self, key: bytes, data: bytes) -> str:
        # A name of its own for each version: nobody ever sees a half-written or an exchanged file.
        self._large.mkdir(parents=True, exist_ok=True)
        path = self._large / f"{sha256(key).hexdigest()[:16]}-{uuid4().hex}"
        with path.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        return path.name

    def _page(self, start: bytes, stop: bytes) -> Sequence[bytes]:
        rows = self._database().execute(
            "SELECT key FROM objects WHERE key >= ? AND key < ? ORDER BY key LIMIT ?", (start, stop, _PAGE)
        )
        return [key for (key,) in rows]

    def _close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def _open_database(path: Path) -> sqlite3.Connection:
    database = sqlite3.connect(path, timeout=_BUSY_SECONDS, isolation_level=None)
    database.execute("PRAGMA journal_mode = WAL")
    # Enough in WAL mode for the file never to be damaged; a power cut may lose the last objects, not break older ones.
    database.execute("PRAGMA synchronous = NORMAL")
    database.execute("CREATE TABLE IF NOT EXISTS objects (key BLOB NOT NULL UNIQUE, data BLOB, file TEXT)")
    return database


def _encode(key: str) -> bytes:
    # As bytes, keys may hold anything (NUL, lone surrogates), and sort by code point.
    return key.encode("utf-8", "surrogatepass")


def _after_prefix(prefix: bytes) -> bytes:
    """Return a bound behind all keys with this prefix. No UTF-8 byte is 0xFF, so the last can be raised."""
    return prefix[:-1] + bytes([prefix[-1] + 1]) if prefix else b"\xff"


def _not_found(key: str) -> ObjectNotFoundError:
    return ObjectNotFoundError(f"no object under the key {key!r}")
