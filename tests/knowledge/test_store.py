"""Object stores."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from pytest_heta.errors import ObjectNotFoundError
from pytest_heta.knowledge.store import LocalObjectStore, MemoryObjectStore
from pytest_heta.protocols import ObjectStoreProtocol

LARGE = bytes(range(256)) * 8192  # 2 MiB

Use = Callable[[Callable[[ObjectStoreProtocol], Coroutine[Any, Any, None]]], None]


@pytest.fixture(params=["memory", "local"])
def use(request: pytest.FixtureRequest, tmp_path: Path) -> Use:
    """Run a coroutine with a fresh store of each kind."""

    def run(work: Callable[[ObjectStoreProtocol], Coroutine[Any, Any, None]]) -> None:
        async def main() -> None:
            store: ObjectStoreProtocol = (
                MemoryObjectStore() if request.param == "memory" else LocalObjectStore(tmp_path / "objects")
            )
            await work(store)
            await store.aclose()
            await store.aclose()

        asyncio.run(main())

    return run


async def keys_of(store: ObjectStoreProtocol, prefix: str = "") -> list[str]:
    """Return all keys with a prefix."""
    return [key async for key in store.list(prefix)]


@pytest.mark.parametrize("data", [b"", b"small", LARGE], ids=["empty", "small", "large"])
def test_an_object_comes_back_as_it_was_put(use: Use, data: bytes) -> None:
    """Objects of every size come back byte for byte, and a second put replaces the first."""

    async def work(store: ObjectStoreProtocol) -> None:
        await store.put("key", b"before")
        await store.put("key", data)
        assert await store.get("key") == data
        await store.put("key", b"after")
        assert await store.get("key") == b"after"

    use(work)


def test_a_missing_key_is_an_error_that_names_it(use: Use) -> None:
    """Getting a key that holds nothing says so with the key; deleting it is no error."""

    async def work(store: ObjectStoreProtocol) -> None:
        await store.put("here", b"1")
        await store.delete("nowhere")
        await store.delete("here")
        assert not await store.exists("here")
        with pytest.raises(ObjectNotFoundError, match="'here'"):
            await store.get("here")

    use(work)


def test_keys_are_any_text_and_listed_in_code_point_order(use: Use) -> None:
    """Keys with accents, quotes, wildcards, NUL, lone surrogates and astral characters are kept apart and sorted."""
    keys = ["", "a", "a%b", "a_b", "a\x00b", "a'b", "b/ü", "b/\uffff", "b/\U0001f600", "b/\ud800", "ä", "a" * 3000]

    async def work(store: ObjectStoreProtocol) -> None:
        for key in keys:
            await store.put(key, repr(key).encode())
        assert await keys_of(store) == sorted(keys)
        assert await keys_of(store, "b/") == sorted(key for key in keys if key.startswith("b/"))
        assert await keys_of(store, "a%") == ["a%b"]
        assert await keys_of(store, "c") == []
        assert [await store.get(key) for key in keys] == [repr(key).encode() for key in keys]

    use(work)


def test_listing_goes_on_while_objects_are_deleted(use: Use) -> None:
    """A listing longer than a page is complete, also when its keys are deleted as they come."""
    keys = [f"k{number:05}" for number in range(2500)]

    async def work(store: ObjectStoreProtocol) -> None:
        await asyncio.gather(*(store.put(key, b"x") for key in keys))
        seen = []
        async for key in store.list("k"):
            seen.append(key)
            await store.delete(key)
        assert seen == keys
        assert await keys_of(store) == []

    use(work)


def test_many_small_objects_are_few_files(tmp_path: Path) -> None:
    """A thousand small objects do not become a thousand files; a replaced large one leaves no file behind."""

    async def work() -> None:
        store = LocalObjectStore(tmp_path)
        for number in range(1000):
            await store.put(f"{number}", b"x" * 100)
        await store.put("large", LARGE)
        await store.put("large", LARGE + b"2")
        assert len(list((tmp_path / "large").iterdir())) == 1
        await store.delete("large")
        assert list((tmp_path / "large").iterdir()) == []
        await store.aclose()

    asyncio.run(work())
    assert len([path for path in tmp_path.rglob("*") if path.is_file()]) < 5


def test_objects_outlive_the_store(tmp_path: Path) -> None:
    """A new store over the same folder holds what the closed one was given."""

    async def write() -> None:
        store = LocalObjectStore(tmp_path)
        await store.put("small", b"1")
        await store.put("large", LARGE)
        await store.aclose()

    async def read() -> tuple[list[str], bytes]:
        store = LocalObjectStore(tmp_path)
        found = await keys_of(store), await store.get("large")
        await store.aclose()
        return found

    asyncio.run(write())
    assert asyncio.run(read()) == (["large", "small"], LARGE)


def test_one_store_serves_several_event_loops(tmp_path: Path) -> None:
    """Threads with event loops of their own may use the same store at the same time."""
    store = LocalObjectStore(tmp_path)

    async def write(number: int) -> bytes:
        for index in range(20):
            await store.put(f"{number}/{index}", f"{number}".encode())
        return await store.get(f"{number}/19")

    async def main() -> list[bytes]:
        return await asyncio.gather(*(asyncio.to_thread(asyncio.run, write(number)) for number in range(4)))

    assert asyncio.run(main()) == [b"0", b"1", b"2", b"3"]
    asyncio.run(store.aclose())


def test_processes_write_to_one_folder_at_once(tmp_path: Path) -> None:
    """Two processes that open a new folder at the same time and write to it lose nothing."""
    script = (
        "import asyncio, sys\n"
        "from pytest_heta.knowledge.store import LocalObjectStore\n"
        "async def main():\n"
        "    store = LocalObjectStore(sys.argv[1])\n"
        "    for number in range(100):\n"
        "        await store.put(f'{sys.argv[2]}/{number:03}', b'x' * 100)\n"
        "        await store.put('both', bytes([number]) * 1_100_000 if number % 20 == 0 else b'small')\n"
        "        assert len(await store.get('both')) in (5, 1_100_000)\n"
        "    await store.aclose()\n"
        "asyncio.run(main())\n"
    )
    writers = [subprocess.Popen([sys.executable, "-c", script, str(tmp_path), name]) for name in ("a", "b")]
    assert [writer.wait() for writer in writers] == [0, 0]

    async def read() -> list[str]:
        store = LocalObjectStore(tmp_path)
        found = await keys_of(store)
        await store.aclose()
        return found

    assert asyncio.run(read()) == [*(f"a/{n:03}" for n in range(100)), *(f"b/{n:03}" for n in range(100)), "both"]
    assert list((tmp_path / "large").iterdir()) == []


def test_first_object_may_be_large(tmp_path: Path) -> None:
    """A store whose first object is too large to lie in the database keeps it beside, in a folder made for that."""
    large = bytes(2 << 20)

    async def round_trip() -> bytes:
        store = LocalObjectStore(tmp_path / "new" / "store")
        try:
            await store.put("key", large)
            return await store.get("key")
        finally:
            await store.aclose()

    assert asyncio.run(round_trip()) == large
