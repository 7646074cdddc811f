"""An object store in an S3 bucket, of AWS or of any service that speaks its API."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Mapping
from typing import Any

from pytest_heta.errors import ObjectNotFoundError, UsageError
from pytest_heta.knowledge.extras import require

# The client would write such keys otherwise than they were given, and two of them could become one.
_UNSAFE = re.compile(r"(?:^|/)(?:\.{0,2})(?:/|$)|[\\\x00-\x1f\x7f\ud800-\udfff]")


class S3ObjectStore:
    """Objects below ``prefix`` in a bucket. Any number of processes and hosts may use them at once.

    Credentials, region and endpoint are those of the ``AWS_…`` environment variables or the machine's role, unless
    ``options`` says otherwise: the keyword arguments of ``obstore.store.S3Store``, such as ``endpoint``, ``region``,
    ``skip_signature`` and ``client_options={"allow_http": True}``.
    """

    def __init__(self, bucket: str, prefix: str = "", *, options: Mapping[str, Any] | None = None) -> None:
        """Name the bucket; nothing is sent before the first use.

        Raises:
            RecipeError: obstore is not installed.
            UsageError: the prefix is none that S3 keys can have.
        """
        self._obstore = require("obstore", "s3")
        self._where = f"s3://{bucket}/{prefix.strip('/')}"
        inner = _checked(prefix.strip("/")) if prefix.strip("/") else None
        self._store = require("obstore.store", "s3").S3Store(bucket, prefix=inner, **(options or {}))

    async def put(self, key: str, data: bytes) -> None:
        """Store ``data``; an existing object is replaced.

        Raises:
            UsageError: the key has an empty part, ``.`` or ``..`` between slashes, a backslash or a control character.
        """
        await self._obstore.put_async(self._store, _checked(key), bytes(data))

    async def get(self, key: str) -> bytes:
        """Return the object, or raise ObjectNotFoundError."""
        try:
            found = await self._obstore.get_async(self._store, _checked(key))
            return bytes(await found.bytes_async())
        except FileNotFoundError:
            raise ObjectNotFoundError(f"no object under the key {key!r} in {self._where}") from None

    async def exists(self, key: str) -> bool:
        """Tell whether the key holds an object."""
        try:
            await self._obstore.head_async(self._store, _checked(key))
        except FileNotFoundError:
            return False
        return True

    async def list(self, prefix: str = "") -> AsyncIterator[str]:
        """Yield the keys that begin with ``prefix``, sorted by code point. All of them are in memory at once."""
        # The client lists whole folders; AWS sorts whole keys, other services folder by folder.
        folder = prefix.rpartition("/")[0]
        pages = [page async for page in self._obstore.list(self._store, prefix=folder or None)]
        for key in sorted(found["path"] for page in pages for found in page):
            if key.startswith(prefix):
                yield key

    async def delete(self, key: str) -> None:
        """Remove the object; a key that holds none is no error."""
        try:
            await self._obstore.delete_async(self._store, _checked(key))
        except FileNotFoundError:
            return

    async def aclose(self) -> None:
        """Release nothing: connections close by themselves."""


def _checked(key: str) -> str:
    if not key or _UNSAFE.search(key):
        raise UsageError(
            f"the key {key!r} cannot be kept in S3: no part between slashes may be empty, '.' or '..', "
            "and there may be no backslash and no control character"
        )
    return key
