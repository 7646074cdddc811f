"""Getting raw documents out of an object store."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence

from pytest_heta.errors import BuildError
from pytest_heta.protocols import ObjectStoreProtocol

_BATCH_DOCUMENTS, _BATCH_BYTES, _FETCHED_AT_ONCE = 256, 16 << 20, 16


async def fetch(objects: ObjectStoreProtocol, keys: Sequence[str]) -> AsyncIterator[list[tuple[str, bytes]]]:
    """Yield the objects in order, as key and content, in batches that fit into memory."""
    batch: list[tuple[str, bytes]] = []
    size = 0
    for first in range(0, len(keys), _FETCHED_AT_ONCE):
        group = keys[first : first + _FETCHED_AT_ONCE]
        data = await asyncio.gather(*map(objects.get, group))
        batch += zip(group, data, strict=True)
        size += sum(map(len, data))
        if len(batch) >= _BATCH_DOCUMENTS or size >= _BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def check_distinct(keys: Sequence[str]) -> None:
    """Check that no source key is given twice.

    Raises:
        BuildError: one is; names it.
    """
    seen: set[str] = set()
    for key in keys:
        if key in seen:
            raise BuildError(f"the source key {key!r} was given twice")
        seen.add(key)
