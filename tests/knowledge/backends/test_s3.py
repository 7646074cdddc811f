"""The object store in an S3 bucket, against SeaweedFS."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from itertools import count
from typing import Any

import pytest

from pytest_heta.errors import ObjectNotFoundError, RecipeError, UsageError
from pytest_heta.knowledge.s3 import S3ObjectStore
from tests.knowledge.backends import servers
from tests.knowledge.backends.zoo import EMBEDDED, TEXTS

Use = Callable[[Callable[[S3ObjectStore], Coroutine[Any, Any, None]]], None]
OPTIONS = {"region": "us-east-1", "skip_signature": True, "client_options": {"allow_http": True}}
_folders = count()


@pytest.fixture
def use(s3_address: str) -> Use:
    """Run a coroutine with a store in an empty folder of a bucket."""

    def run(work: Callable[[S3ObjectStore], Coroutine[Any, Any, None]]) -> None:
        store = S3ObjectStore("heta", f"test-{next(_folders)}/inner/", options={**OPTIONS, "endpoint": s3_address})

        async def main() -> None:
            await work(store)
            await store.aclose()

        asyncio.run(main())

    return run


@pytest.mark.parametrize("data", [b"", b"small", bytes(range(256)) * 40_000], ids=["empty", "small", "10 MB"])
def test_an_object_comes_back_as_it_was_put(use: Use, data: bytes) -> None:
    """Objects of every size come back byte for byte, and a second put replaces the first."""

    async def work(store: S3ObjectStore) -> None:
        await store.put("key", b"before")
        await store.put("key", data)
        assert await store.get("key") == data

    use(work)


def test_a_missing_key_is_an_error_that_names_it(use: Use) -> None:
    """What is not there, or was deleted, cannot be got, does not exist, and can be deleted."""

    async def work(store: S3ObjectStore) -> None:
        await store.put("a/key", b"x")
        assert await store.exists("a/key")
        await store.delete("a/key")
        await store.delete("a/key")
        assert not await store.exists("a/key")
        with pytest.raises(ObjectNotFoundError, match=r"'a/key' in s3://heta/test-\d+/inner"):
            await store.get("a/key")

    use(work)


def test_keys_of_every_sort_are_listed_in_order(use: Use) -> None:
    """Keys come back as they were given, sorted, by any prefix, also one that ends inside a name; 1,200 of them too."""
    special = ["a b/ü%41#?.txt", "a=20b=~x", "a/日本", "ab/c", "z*~'(){}[]|^`\"<>&+,;:@$"]
    many = [f"many/{number:04d}" for number in range(1200)]

    async def work(store: S3ObjectStore) -> None:
        for first in range(0, len(many), 50):
            await asyncio.gather(*(store.put(key, b"") for key in many[first : first + 50]))
        for key in special:
            await store.put(key, key.encode())
            assert await store.get(key) == key.encode()
        assert [key async for key in store.list()] == sorted([*special, *many])
        assert [key async for key in store.list("a")] == sorted(key for key in special if key.startswith("a"))
        assert [key async for key in store.list("many/00")] == many[:100]
        assert [key async for key in store.list("many/")] == many
        assert [key async for key in store.list("nothing/")] == []

    use(work)


@pytest.mark.parametrize("key", ["", "/a", "a/", "a//b", ".", "a/..", "../a", "a\0b", "a\nb", "a\\b", "\ud800"])
def test_a_key_that_would_be_changed_is_refused(key: str) -> None:
    """Keys that the client would write otherwise than given are an error, not another key."""
    servers.need("obstore")
    store = S3ObjectStore("heta", options=OPTIONS)
    with pytest.raises(UsageError, match="cannot be kept in S3"):
        asyncio.run(store.put(key, b""))


def test_a_knowledge_base_is_built_from_it(use: Use) -> None:
    """A recipe reads its raw documents from the bucket."""

    async def work(store: S3ObjectStore) -> None:
        for key, text in TEXTS.items():
            await store.put(key, text.encode())
        kb = await EMBEDDED.build(name="zoo", objects=store, source_keys=list(TEXTS))
        assert kb.document_count == len(TEXTS)
        kb.close()

    use(work)


def test_what_is_not_installed_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without obstore the error names the extra that brings it."""
    monkeypatch.setitem(__import__("sys").modules, "obstore", None)
    with pytest.raises(RecipeError, match=r"pip install 'pytest-heta\[s3\]'"):
        S3ObjectStore("bucket")
