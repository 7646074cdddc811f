"""How the KB cache lies on disk, and who may touch what.

    {root}/entries/{key}-{number}/           published entries; of one key the highest number counts
    {root}/work/{key}-{random}/              builds under way, and entries on their way out
    {root}/locks/{key}.lock                  held while an entry of the key is chosen, built or removed
    {root}/leases/{key}-{number}~{random}    one for each open entry, locked by the process that has it open

All locks are the operating system's, so they vanish with their holder, however it ends. Whatever lies in ``work``
while the lock of its key is free is left from a process that died. Entries appear and disappear by one rename.

An entry or build with a mark (``outside.py``) points to something outside, such as a table on a server. Its files go
only after that: whoever removes it gives a ``drop``, which is told the files and says whether it succeeded.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from uuid import uuid4

from filelock import FileLock, Timeout

from pytest_heta.engine.entry import FILES
from pytest_heta.engine.outside import MARK, OutsideMark, read_mark, write_mark

Drop = Callable[[Path], bool]


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
    def try_lock(self, key: str, seconds: float = 0) -> Iterator[bool]:
        """Hold the lock of a key if nobody else does for so long; the value says whether it is held."""
        lock = self.lock(key)
        try:
            lock.acquire(timeout=seconds)
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

    def leftovers(self) -> list[Path]:
        """Return what dead processes left of builds that point outside."""
        return [path for path in _children(self._work) if _points_outside(path) and not self._is_locked(key_of(path))]

    def _is_locked(self, key: str) -> bool:
        with self.try_lock(key) as held:
            return not held

    def begin_build(self, key: str, mark: OutsideMark | None = None) -> Path:
        """Return a new folder for a build, with its ``files``. The lock is held."""
        folder = self._work / f"{key}-{uuid4().hex}"
        (folder / FILES).mkdir(parents=True)
        if mark is not None:
            write_mark(folder, mark)
        return folder

    def undo_build(self, build: Path, drop: Drop | None) -> None:
        """Remove a build that failed, unless it points outside and cannot be dropped. The lock is held."""
        if not _points_outside(build) or (drop is not None and drop(build / FILES)):
            shutil.rmtree(build, ignore_errors=True)

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

    def discard(self, entry: Path, drop: Drop | None = None) -> bool:
        """Remove an entry, unless it is in use, cannot be dropped, or the system does not let it go. The lock is held.

        Without ``drop``, an entry with a mark stays.
        """
        if self.in_use(entry):
            return False
        if read_mark(entry) is not None:
            if drop is None or not drop(entry / FILES):
                return False
            with suppress(OSError):
                (entry / MARK).unlink()
        doomed = self._work / f"{key_of(entry)}-{uuid4().hex}"
        try:
            entry.rename(doomed)
        except OSError:
            return False
        shutil.rmtree(doomed, ignore_errors=True)
        return True

    def sweep(self, key: str, drop: Drop | None = None) -> None:
        """Remove what dead processes left of a key, and entries that a newer one replaces. The lock is held.

        Without ``drop``, or if that fails, what points outside stays.
        """
        for path in _children(self._work, f"{key}-"):
            self.undo_build(path, drop)
        for path in _children(self._leases, f"{key}-"):
            _remove_dead_lease(path)
        for entry in self.entries(key)[:-1]:
            self.discard(entry, drop)


def key_of(path: Path) -> str:
    """Return the key in the name of an entry, a build or a lease."""
    return path.name.rpartition("-")[0]


def number_of(entry: Path) -> int:
    """Return the number of an entry: the time of its publication in nanoseconds since the epoch."""
    return int(entry.name.rpartition("-")[2])


def _points_outside(build: Path) -> bool:
    """Tell whether a build got so far as to save files that point outside."""
    return read_mark(build) is not None and any((build / FILES).glob("*"))


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
