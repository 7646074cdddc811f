"""What one knowledge base of heta-framework sees of the object store that a recipe names."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any

_RAW = "raw/"


class UnitObjects:
    """A view of a heta-framework object store: of the raw documents only the unit's, and a private place for the rest.

    heta-framework's ParseDocuments reads whatever lies under ``raw/``, and its steps share what lies under ``chunks/``
    and the like between recipes: without this, run units and recipes would see each other's documents and vectors.
    """

    def __init__(self, objects: Any, place: str, raw_keys: Collection[str]) -> None:
        """Show ``raw_keys`` as they are, and everything else as if ``place`` were the root."""
        self._objects, self._place, self._raw_keys = objects, place, frozenset(raw_keys)

    async def put(self, key: str, data: bytes) -> None:
        """Store an object."""
        await self._objects.put(self._key(key), data)

    async def get(self, key: str) -> Any:
        """Return an object."""
        return await self._objects.get(self._key(key))

    async def exists(self, key: str) -> Any:
        """Tell whether there is one."""
        return await self._objects.exists(self._key(key))

    async def delete(self, key: str) -> None:
        """Remove one."""
        await self._objects.delete(self._key(key))

    async def list(self, prefix: str = "") -> list[Any]:
        """Return what heta-framework tells of the objects below a prefix, under the keys of the view."""
        own = await self._objects.list(f"{self._place}{prefix}")
        listed = [replace(info, key=info.key[len(self._place) :]) for info in own]
        # Listing can be slow, and steps list the chunks of each document or the like.
        if prefix.startswith(_RAW) or _RAW.startswith(prefix):
            raw = await self._objects.list(_RAW)
            listed += [info for info in raw if info.key in self._raw_keys and info.key.startswith(prefix)]
        return sorted(listed, key=lambda info: str(info.key))

    async def clear(self) -> None:
        """Remove everything in the private place."""
        for info in await self._objects.list(self._place):
            await self._objects.delete(info.key)

    async def aclose(self) -> None:
        """Leave the user's store open."""

    def _key(self, key: str) -> str:
        return key if key in self._raw_keys else f"{self._place}{key}"
