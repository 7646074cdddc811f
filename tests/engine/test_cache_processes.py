"""The KB cache between real processes, some of which are killed."""

from __future__ import annotations

import gc
import multiprocessing
import os
import random
import sys
import time
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Protocol

import pytest

from pytest_heta.engine.cache import CacheEntry, KnowledgeBaseCache
from pytest_heta.errors import BuildError

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL and no forkserver on Windows")

KEY, OTHER = "0123abcd", "fedc4567"
PARTS = 8


def build_slowly(folder: Path, log: Path, seconds: float) -> None:
    """Build a KB of PARTS files in some time, and leave a line in the log at the beginning and at the end."""
    with log.open("a") as file:
        file.write("begun\n")
    for part in range(PARTS):
        (folder / f"{part}.bin").write_bytes(bytes([part]) * 50_000)
        time.sleep(seconds / PARTS)
    with log.open("a") as file:
        file.write("done\n")


def user(connection: Connection, directory: Path, seconds: float, session_start: int | None) -> None:
    """Open KEY, say whether it was built and what is in it, and keep it open until killed."""
    with open_when_told(connection, directory, seconds, session_start) as entry:
        connection.send((entry.built, sorted(path.name for path in entry.path.iterdir())))
        time.sleep(60)


def forking_user(connection: Connection, directory: Path, seconds: float, session_start: int | None) -> None:
    """Do as ``user`` does, but only after a forked child has released its copy of the entry and ended."""
    entry = open_when_told(connection, directory, seconds, session_start)
    child = os.fork()
    if child == 0:
        entry.release()
        del entry
        gc.collect()
        os._exit(0)
    os.waitpid(child, 0)
    connection.send((entry.built, sorted(path.name for path in entry.path.iterdir())))
    time.sleep(60)


def open_when_told(connection: Connection, directory: Path, seconds: float, session_start: int | None) -> CacheEntry:
    """Wait for the word and open KEY, rebuilding it if a session is given."""
    cache = KnowledgeBaseCache(directory / "cache", notice=lambda text: None, session_start_ns=session_start)
    connection.send("ready")
    connection.recv()

    def build(folder: Path) -> None:
        build_slowly(folder, directory / "log", seconds)

    return cache.open(KEY, build=build, label={}, rebuild=session_start is not None)


def wait_for(condition: Callable[[], bool]) -> None:
    """Wait until something is so, at most 30 seconds."""
    end = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < end, "it did not come to pass"
        time.sleep(0.005)


Target = Callable[[Connection, Path, float, "int | None"], None]


class User:
    """A process that opens KEY once it is told to."""

    def __init__(self, target: Target, directory: Path, seconds: float, session_start: int | None) -> None:
        context = multiprocessing.get_context("forkserver")
        self.connection, theirs = context.Pipe()
        self.process = context.Process(target=target, args=(theirs, directory, seconds, session_start), daemon=True)
        self.process.start()
        theirs.close()

    def go(self) -> None:
        """Let it open the key."""
        self.connection.send("go")

    def answer(self) -> bool:
        """Wait until it has the entry, check that it is whole, and return whether it built it."""
        assert self.connection.poll(30), "the process did not open the entry"
        built, names = self.connection.recv()
        assert names == [f"{part}.bin" for part in range(PARTS)]
        return bool(built)

    def kill(self) -> None:
        """End it as ``kill -9`` does."""
        self.process.kill()
        self.process.join()
        self.connection.close()


class StartUsers(Protocol):
    """What the fixture ``users`` gives."""

    def __call__(
        self, number: int, *, seconds: float = 0.0, session: int | None = None, target: Target = user
    ) -> list[User]:
        """Start ``number`` processes."""


@pytest.fixture
def users(tmp_path: Path) -> Iterator[StartUsers]:
    """Start processes that are ready to open KEY, and end them after the test."""
    started: list[User] = []

    def start(number: int, *, seconds: float = 0.0, session: int | None = None, target: Target = user) -> list[User]:
        new = [User(target, tmp_path, seconds, session) for _ in range(number)]
        started.extend(new)
        for one in new:
            assert one.connection.recv() == "ready"
        return new

    multiprocessing.set_forkserver_preload(["pytest", __name__])
    yield start
    for one in started:
        one.kill()


def log_of(directory: Path) -> list[str]:
    """Return what the builds wrote."""
    return (directory / "log").read_text().split()


def cache_of(directory: Path, limit: int | None = None) -> KnowledgeBaseCache:
    """Return the cache that the users use."""
    return KnowledgeBaseCache(directory / "cache", limit_bytes=limit, notice=lambda text: None)


def test_many_processes_build_once(users: StartUsers, tmp_path: Path) -> None:
    """Of eight processes that ask for the same key at once, one builds, and all get a whole entry."""
    eight = users(8, seconds=0.2)
    for one in eight:
        one.go()
    assert sum(one.answer() for one in eight) == 1
    assert log_of(tmp_path) == ["begun", "done"]


def test_rebuild_once_a_session(users: StartUsers, tmp_path: Path) -> None:
    """Workers of one session that all ask for a rebuild of an existing entry rebuild it once."""
    (first,) = users(1)
    first.go()
    assert first.answer()
    session = time.time_ns()
    workers = users(4, seconds=0.05, session=session)
    for one in workers:
        one.go()
    assert sum(one.answer() for one in workers) == 1
    assert log_of(tmp_path) == ["begun", "done"] * 2


@pytest.mark.parametrize("seed", range(20))
def test_killed_builder(users: StartUsers, tmp_path: Path, seed: int) -> None:
    """A builder killed at any moment leaves nothing that is trusted or left over; one of those waiting takes over."""
    builder, *waiting = users(3, seconds=0.05)
    builder.go()
    time.sleep(random.Random(seed).uniform(0.0, 0.08))
    for one in waiting:
        one.go()
    builder.kill()
    built = sum(one.answer() for one in waiting)
    assert log_of(tmp_path).count("begun") in (built, built + 1)
    assert built <= 1
    assert len(cache_of(tmp_path).list_entries()) == 1
    assert built == 0 or not list((tmp_path / "cache" / "work").iterdir())


def test_garbage_of_a_killed_builder(users: StartUsers, tmp_path: Path) -> None:
    """What a killed builder leaves is collected, and what a living one is writing is not."""
    (builder,) = users(1, seconds=30)
    builder.go()
    wait_for(lambda: (tmp_path / "log").exists())
    cache_of(tmp_path).collect_garbage()
    assert len(list((tmp_path / "cache" / "work").iterdir())) == 1
    builder.kill()
    cache_of(tmp_path).collect_garbage()
    assert not list((tmp_path / "cache" / "work").iterdir())


def test_entry_in_use_is_kept(users: StartUsers, tmp_path: Path) -> None:
    """Neither eviction nor removal touches an entry that another process has open; when that is killed, it is free."""
    (holder,) = users(1)
    holder.go()
    holder.answer()
    cache = cache_of(tmp_path, limit=0)
    cache.open(OTHER, build=lambda folder: None, label={}).release()
    assert cache.remove(KEY) == []
    assert KEY in {entry.key for entry in cache.collect_garbage() + cache.list_entries()}
    assert [cache.in_use(entry) for entry in cache.list_entries() if entry.key == KEY] == [True]
    holder.kill()
    assert [entry.key for entry in cache.collect_garbage() if entry.key == KEY] == [KEY]
    assert not list((tmp_path / "cache" / "leases").iterdir())


def test_rebuild_beside_a_user(users: StartUsers, tmp_path: Path) -> None:
    """A rebuild leaves the files of the replaced entry to a process that has it open, and removes them afterwards."""
    (holder,) = users(1)
    holder.go()
    holder.answer()
    cache = cache_of(tmp_path)
    (old,) = cache.list_entries()
    with cache.open(KEY, build=lambda folder: None, label={}, rebuild=True) as new:
        assert new.built
        assert len(list((old.path / "files").iterdir())) == PARTS
    holder.kill()
    assert [entry.path for entry in cache.collect_garbage()] == [old.path]


def test_forked_child_does_not_release(users: StartUsers, tmp_path: Path) -> None:
    """A forked child that releases its copy of an entry, or ends, does not free the entry of its parent."""
    (parent,) = users(1, target=forking_user)
    parent.go()
    parent.answer()
    (entry,) = cache_of(tmp_path).list_entries()
    assert cache_of(tmp_path).in_use(entry)
    parent.kill()
    assert not cache_of(tmp_path).in_use(entry)


def test_stopped_while_waiting(users: StartUsers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One who waits for a build of another process is told so once, and gives up when the cache is stopped."""
    monkeypatch.setattr("pytest_heta.engine.cache._WAIT_STEP", 0.01)
    (builder,) = users(1, seconds=30)
    builder.go()
    wait_for(lambda: (tmp_path / "log").exists())
    notices: list[str] = []

    def notice(text: str) -> None:
        notices.append(text)
        cache.stop()

    cache = KnowledgeBaseCache(tmp_path / "cache", notice=notice)
    with pytest.raises(BuildError, match="stopped while waiting for another process to build knowledge base 0123abcd"):
        cache.open(KEY, build=lambda folder: None, label={})
    assert len(notices) == 1
    assert notices[0].startswith("waiting for another process to build knowledge base 0123abcd")
