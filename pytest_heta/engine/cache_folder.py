"""How the KB cache lies on disk, and who may touch what.

    {root}/entries/{key}-{number}/           published entries; of one key the highest number counts
    {root}/work/{key}-{random}/              builds under way, and entries on their way out
    {root}/locks/{key}.lock                  held while an entry of the key is chosen, built or removed
    {root}/leases/{key}-{number}~{random}    one for each open entry, locked by the process that has it open

All locks are the operating system's, so they vanish with their holder, however it ends. Whatever lies in ``work``
while the lock of its key is free is left from a process that died. Entries appear and disappear by one rename.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from uuid import uuid4

from filelock import FileLock, Timeout

from pytest_heta.engine.entry import FILES


class Lease:
    """The mark that an entry is in use, until ``release`` or the end of the process that took it."""

    def __init__(self, path: Path) -> None:
        """Take the lease. The caller holds the lock of the key."""
        self._path, self._owner = path, os.getpid()
        self._lock = FileLock(path, thread_local=False)  # taken in one thread, given back in another
        self._lock.acquire()

    def release(self) -> None:
        """Give the lease back. Does nothing the second time, and nothing in a forked child, whose it is not."""
        if self._lock.is_locked and self._owner == os.getpid():
            self._lock.release()
            with suppress(OSError):
                self._path.unlink()


class CacheFolder:
    """The folder of a cache. Methods that say so must be called with the lock of the key held."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._entries, self._work = root / "entries", root / "work"
        self._locks, self._leases = root / "locks", root / "leases"

    def create(self) -> None:
        """Make the folders where they are missing."""
        for folder in (self._entries, self._work, self._locks, self._leases):
            folder.mkdir(parents=True, exist_ok=True)

    def lock(self, key: str) -> FileLock:
        """Return the lock of a key, not yet acquired."""
        return FileLock(self._locks / f"{key}.lock")

    @contextmanager
    def try_lock(self, key: str) -> Iterator[bool]:
        """Hold the lock of a key if nobody else does; the value says whether it is held."""
        lock = self.lock(key)
        try:
            lock.acquire(timeout=0)
        except Timeout:
            yield False
            return
        try:
            yield True
        finally:
            lock.release()

    def all_keys(self) -> list[str]:
        """Return every key that has an entry, a build or a lease."""
        paths = (path for folder in (self._entries, self._work, self._leases) for path in _children(folder))
        return sorted({key_of(path) for path in paths})

    def entries(self, key: str | None = None) -> list[Path]:
        """Return the entries of a key, or of all, oldest first."""
        paths = _children(self._entries, "" if key is None else f"{key}-")
        return sorted((path for path in paths if path.name.rpartition("-")[2].isdecimal()), key=number_of)

    def begin_build(self, key: str) -> Path:
        """Return a new folder for a build, with its ``files``. The lock is held."""
        folder = self._work / f"{key}-{uuid4().hex}"
        (folder / FILES).mkdir(parents=True)
        return folder

    def publish(self, build: Path, key: str) -> Path:
        """Make a finished build the entry of its key. The lock is held."""
        newest = max(map(number_of, self.entries(key)), default=0)
        entry = self._entries / f"{key}-{max(time.time_ns(), newest + 1)}"
        build.rename(entry)
        return entry

    def lease(self, entry: Path) -> Lease:
        """Mark an entry as in use. The lock is held."""
        return Lease(self._leases / f"{entry.name}~{uuid4().hex}")

    def in_use(self, entry: Path) -> bool:
        """Tell whether a living process has the entry open. The lock is held."""
        return not all(map(_remove_dead_lease, _children(self._leases, f"{entry.name}~")))

    def discard(self, entry: Path) -> bool:
        """Remove an entry, unless it is in use or the system does not let it go. The lock is held."""
        if self.in_use(entry):
            return False
        doomed = self._work / f"{key_of(entry)}-{uuid4().hex}"
        try:
            entry.rename(doomed)
        except OSError:
            return False
        shutil.rmtree(doomed, ignore_errors=True)
        return True

    def sweep(self, key: str) -> None:
        """Remove what dead processes left of a key, and entries that a newer one replaces. The lock is held."""
        for path in _children(self._work, f"{key}-"):
            shutil.rmtree(path, ignore_errors=True)
        for path in _children(self._leases, f"{key}-"):
            _remove_dead_lease(path)
        for entry in self.entries(key)[:-1]:
            self.discard(entry)


def key_of(path: Path) -> str:
    """Return the key in the name of an entry, a build or a lease."""
    return path.name.rpartition("-")[0]


def number_of(entry: Path) -> int:
    """Return the number of an entry: the time of its publication in nanoseconds since the epoch."""
    return int(entry.name.rpartition("-")[2])


def _children(folder: Path, prefix: str = "") -> list[Path]:
    try:
        return [folder / name for name in os.listdir(folder) if name.startswith(prefix) and "-" in name]
    except FileNotFoundError:
        return []


def _remove_dead_lease(path: Path) -> bool:
    lock = FileLock(path)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        return False
    lock.release()
    with suppress(OSError):
        path.unlink()
    return True
