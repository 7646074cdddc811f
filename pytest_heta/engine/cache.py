"""The cache of built knowledge bases: each is built once on a machine, whoever asks, and none is trusted blindly."""

from __future__ import annotations

import errno
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import Any

from filelock import Timeout

from pytest_heta.engine.cache_folder import CacheFolder, Drop, Lease, key_of, number_of
from pytest_heta.engine.entry import (
    FILES,
    FORMAT,
    MANIFEST,
    DamagedEntryError,
    EntryManifest,
    read_manifest,
    seal,
    verify,
)
from pytest_heta.engine.outside import Outside, read_mark
from pytest_heta.errors import BuildError, UsageError

DEFAULT_LIMIT = 20 * 2**30
_WAIT_STEP = 0.5
_STEPS_BEFORE_NOTICE = 20
_BUILDS_PER_LIMIT = 100
_NO_SPACE = {errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC)}


def kb_key(documents_digest: str, recipe_fingerprint: str) -> str:
    """Return the key of the KB that a recipe builds of some documents, in this version's format."""
    return sha256(f"{FORMAT}\n{documents_digest}\n{recipe_fingerprint}".encode()).hexdigest()


@dataclass(frozen=True)
class CacheEntry:
    """An open entry: nothing removes it before ``release`` or the end of the process that opened it.

    ``path`` is the folder with the KB's files, to be read only. ``built`` says whether this call built it;
    ``build_seconds`` is what the build took, whoever did it.
    """

    path: Path
    built: bool
    build_seconds: float
    manifest: EntryManifest
    lease: Lease

    def release(self) -> None:
        """Say that the entry is no longer in use. Doing so again does nothing."""
        _touch(self.path.parent)
        self.lease.release()

    def __enter__(self) -> CacheEntry:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()


@dataclass(frozen=True)
class StoredEntry:
    """An entry as it lies in the cache. ``manifest`` None: it cannot be read. ``last_used`` in epoch seconds.

    ``outside`` names the recipe that can drop what the entry points to outside of the cache; None: it points to
    nothing. ``finished`` is false for what a killed process left of a build that does.
    """

    key: str
    path: Path
    size: int
    last_used: float
    manifest: EntryManifest | None
    outside: str | None
    finished: bool


class KnowledgeBaseCache:
    """Knowledge bases in a folder, by key.

    Safe for any number of threads, processes and sessions at once. ``limit_bytes`` bounds what is kept (None: no
    bound): the least recently used entries go first, entries in use never, nor those that point to something outside,
    such as a table on a server, which nobody would find any more; it is looked after each time a hundredth of it was
    built. ``notice`` is told what a user should know. ``session_start_ns`` is when the session began, by
    ``time.time_ns()``; the workers of one session share it, so that ``rebuild`` builds once a session. By default it
    is the time of construction.
    """

    def __init__(
        self,
        directory: Path,
        *,
        limit_bytes: int | None = DEFAULT_LIMIT,
        notice: Callable[[str], None],
        session_start_ns: int | None = None,
    ) -> None:
        self._folder = CacheFolder(directory)
        self._limit = limit_bytes
        self._notice = notice
        self._session_start = time.time_ns() if session_start_ns is None else session_start_ns
        self._stopped = threading.Event()
        self._unchecked = float("inf")  # bytes built since the last eviction: the first build is followed by one

    def open(
        self,
        key: str,
        *,
        build: Callable[[Path], None],
        rebuild: bool = False,
        label: Mapping[str, Any],
        newer_than: Path | None = None,
        outside: Outside | None = None,
    ) -> CacheEntry:
        """Open the entry of a key; where there is none that can be trusted, build it.

        Blocks while another process or thread builds the same key, then opens what it built. ``build(folder)`` writes
        all files of the KB into ``folder``; ``label`` is kept with them to tell people what they are. ``rebuild``
        builds anew unless this session already did; ``newer_than`` is the ``path`` of an entry that could not be used.
        With ``outside``, what the files point to is dropped with them: after a failure, and where the build replaces
        an entry.

        Raises:
            UsageError: the cache folder cannot be written.
            BuildError: the disk is full, or ``stop`` was called while waiting.
            Exception: whatever ``build`` raises; nothing of its work is kept.

        """
        oldest = self._session_start if rebuild else 0
        if newer_than is not None:
            oldest = number_of(newer_than.parent) + 1
        damage: DamagedEntryError | None = None
        while True:
            with self._locked(key):
                current = next(reversed(self._folder.entries(key)), None)
                if current is None or number_of(current) < oldest:
                    if damage is not None:
                        self._notice(f"a cached knowledge base is damaged and is built again: {damage}")
                    entry = self._build(key, build, label, outside)
                    break
                lease = self._lease(current)
            try:
                return self._opened(current, lease, verify(current, key))
            except DamagedEntryError as error:
                lease.release()
                oldest, damage = number_of(current) + 1, error
            except BaseException:
                lease.release()
                raise
        self._evict_after(entry.manifest.size)
        return entry

    def stop(self) -> None:
        """Make every ``open`` that waits for another process give up."""
        self._stopped.set()

    def list_entries(self) -> list[StoredEntry]:
        """Return all entries, and unfinished builds that point outside, least recently used first."""
        found = [_stored(path) for path in self._folder.entries()]
        found += [_stored(path, finished=False) for path in self._folder.leftovers()]
        return sorted(filter(None, found), key=lambda entry: entry.last_used)

    def in_use(self, entry: StoredEntry) -> bool:
        """Tell whether a living process has the entry open or is about to."""
        with self._folder.try_lock(entry.key) as held:
            return not held or self._folder.in_use(entry.path)

    def remove(self, key_prefix: str, outside: Outside | None = None) -> list[StoredEntry]:
        """Remove the entries whose key begins so, but none in use; return the removed ones.

        Those that point to something outside are removed only with ``outside``, after that was dropped.
        """
        drop = self._dropping(outside)
        return [e for e in self.list_entries() if e.key.startswith(key_prefix) and self._discard(e, drop)]

    def retire(self, path: Path, outside: Outside) -> None:
        """Remove the entry that lies at a released CacheEntry's ``path``, and what it points to outside.

        It stays where it points to nothing, where somebody has it open, and where it cannot be dropped. Who holds its
        lock for long builds its successor, and drops it with that.
        """
        entry = path.parent
        if read_mark(entry) is not None:
            with self._folder.try_lock(key_of(entry), _WAIT_STEP) as held:
                if held and entry.exists():
                    self._folder.discard(entry, self._dropping(outside))

    def made_outside(self, outside: Outside) -> list[Path]:
        """Return the paths of the entries that this session, in whatever process, has built of the same recipe."""
        mark = outside.mark(self._session_start)
        return [entry / FILES for entry in self._folder.entries() if read_mark(entry) == mark]

    def collect_garbage(self) -> list[StoredEntry]:
        """Remove what is of no use and what exceeds the limit; return the removed entries.

        Of no use are leftovers of dead processes, entries that a newer one replaces, and those without a manifest
        that can be read. Nothing in use is touched, nor what points to something outside.
        """
        before = self.list_entries()
        for key in self._folder.all_keys():
            with self._folder.try_lock(key) as held:
                if held:
                    self._folder.sweep(key)
        for entry in before:
            if entry.manifest is None:
                self._discard(entry)
        self._evict()
        left = {entry.path for entry in self.list_entries()}
        return [entry for entry in before if entry.path not in left]

    @contextmanager
    def _usable(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise UsageError(
                f"the KB cache folder {self._folder.root} cannot be used ({error}): "
                "choose another one with --heta-kb-cache=DIR, or do without with --heta-kb-cache=off"
            ) from error

    @contextmanager
    def _locked(self, key: str) -> Iterator[None]:
        with self._usable():
            self._folder.create()
            lock = self._folder.lock(key)
            for step in count(1):
                with suppress(Timeout):
                    lock.acquire(timeout=_WAIT_STEP)
                    break
                self._still_waiting(key, step)
        try:
            yield
        finally:
            lock.release()

    def _lease(self, entry: Path) -> Lease:
        with self._usable():
            return self._folder.lease(entry)

    def _still_waiting(self, key: str, step: int) -> None:
        if self._stopped.is_set():
            raise BuildError(f"stopped while waiting for another process to build knowledge base {key[:12]}")
        if step == _STEPS_BEFORE_NOTICE:
            self._notice(f"waiting for another process to build knowledge base {key[:12]} in {self._folder.root}")

    def _build(
        self, key: str, build: Callable[[Path], None], label: Mapping[str, Any], outside: Outside | None
    ) -> CacheEntry:
        """Build and publish an entry. The lock of the key is held."""
        self._folder.sweep(key)
        mark = None if outside is None else outside.mark(self._session_start)
        created, clock = time.time(), time.perf_counter()
        work = None
        try:
            work = self._folder.begin_build(key, mark)
            build(work / FILES)
            seconds = time.perf_counter() - clock
            manifest = seal(work, key=key, created=created, build_seconds=seconds, label=label)
            path = self._folder.publish(work, key)
        except BaseException as error:
            if work is not None:
                self._folder.undo_build(work, self._dropping(outside))
            if isinstance(error, OSError) and error.errno in _NO_SPACE:
                raise self._disk_full(error) from error
            raise
        entry = self._opened(path, self._lease(path), manifest, built=True)
        self._folder.sweep(key, self._dropping(outside))
        return entry

    def _dropping(self, outside: Outside | None) -> Drop | None:
        return None if outside is None else partial(self._drop, outside)

    def _drop(self, outside: Outside, path: Path) -> bool:
        """Drop what the files at ``path`` point to; where that fails, say so."""
        try:
            outside.drop(path)
        except Exception as error:
            self._notice(
                f"what a knowledge base in {path.parent} has outside of the cache cannot be removed: "
                f"{type(error).__name__}: {error} (see `python -m pytest_heta cache rm --help`)"
            )
            return False
        return True

    def _disk_full(self, error: OSError) -> BuildError:
        return BuildError(
            f"no space left for a knowledge base in the KB cache folder {self._folder.root} ({error.strerror}): free "
            "some (`python -m pytest_heta cache gc --limit SIZE`) or choose another folder with --heta-kb-cache=DIR"
        )

    def _opened(self, path: Path, lease: Lease, manifest: EntryManifest, *, built: bool = False) -> CacheEntry:
        _touch(path)
        return CacheEntry(path / FILES, built, manifest.build_seconds, manifest, lease)

    def _discard(self, entry: StoredEntry, drop: Drop | None = None) -> bool:
        with self._folder.try_lock(entry.key) as held:
            return held and self._folder.discard(entry.path, drop)

    def _evict_after(self, built_bytes: int) -> None:
        """Evict now and then: looking through thousands of entries after each of thousands of builds takes minutes."""
        self._unchecked += built_bytes
        if self._limit is not None and self._unchecked >= self._limit / _BUILDS_PER_LIMIT:
            self._unchecked = 0
            self._evict()

    def _evict(self) -> None:
        if self._limit is None:
            return
        entries = self.list_entries()
        total = sum(entry.size for entry in entries)
        for entry in entries:
            if total > self._limit and self._discard(entry):
                total -= entry.size


def _touch(entry: Path) -> None:
    """Record that an entry was used now: the time lies on its manifest file."""
    with suppress(OSError):
        os.utime(entry / MANIFEST)


def _stored(path: Path, *, finished: bool = True) -> StoredEntry | None:
    """Describe an entry, or return None where it is being removed just now."""
    try:
        manifest: EntryManifest | None = read_manifest(path)
    except DamagedEntryError:
        manifest = None
    try:
        used = (path / MANIFEST if manifest else path).stat().st_mtime
        size = sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
    except FileNotFoundError:
        return None
    mark = read_mark(path)
    return StoredEntry(key_of(path), path, size, used, manifest, mark.recipe if mark else None, finished)
