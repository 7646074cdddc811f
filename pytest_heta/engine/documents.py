"""The documents of one run unit: found, checked, and read."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from pytest_heta.engine.fingerprint import DocumentsDigest
from pytest_heta.engine.plan import Plan, name_some
from pytest_heta.errors import BuildError, DownloadError
from pytest_heta.keys import raw_key
from pytest_heta.protocols import ObjectStoreProtocol, ProgressCallback
from pytest_heta.records import BenchmarkDocument, BenchmarkRunUnit


async def unit_documents(plan: Plan, unit: BenchmarkRunUnit) -> AsyncIterator[BenchmarkDocument]:
    """Yield the unit's documents, each once.

    Raises:
        BuildError: for a document id that occurs twice, ids that no document has, and no documents at all.

    """
    wanted, seen = set(unit.document_ids), set()
    benchmark: Any = plan.benchmark
    own = getattr(benchmark, "documents_of", None)
    documents = own(plan.prepared, unit) if own else benchmark.documents(plan.prepared)
    async for document in documents:
        if wanted and document.document_id not in wanted:
            continue
        if document.document_id in seen:
            raise BuildError(f"benchmark {plan.manifest.name} has two documents with the id {document.document_id!r}")
        seen.add(document.document_id)
        yield document
    if wanted - seen:
        missing = name_some(document_id for document_id in unit.document_ids if document_id not in seen)
        raise BuildError(f"run unit {unit.unit_id!r} of {plan.manifest.name} names unknown documents: {missing}")
    if not seen:
        raise BuildError(f"run unit {unit.unit_id!r} of {plan.manifest.name} has no documents")


async def read_document(document: BenchmarkDocument) -> bytes:
    """Return the document's bytes, from wherever they are.

    Raises:
        BuildError: where its file cannot be read.
        DownloadError: where its address does not answer.

    """
    if document.data is not None:
        return document.data
    try:
        path = document.path or _file_of(document.source_uri or "")
        if path is not None:
            return await asyncio.to_thread(path.read_bytes)
        return await _fetch(document.source_uri or "")
    except OSError as error:
        raise BuildError(f"document {document.document_id!r} cannot be read: {error}") from error


def _file_of(uri: str) -> Path | None:
    from urllib.request import url2pathname  # here, as it brings http, ssl and email along

    parts = urlsplit(uri)
    return Path(url2pathname(parts.path)) if parts.scheme == "file" else None


async def _fetch(uri: str) -> bytes:
    import httpx

    try:
        async with httpx.AsyncClient(follow_redirects=True, timeout=60) as client:
            response = await client.get(uri)
            response.raise_for_status()
            return response.content
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise DownloadError(f"{uri}: {error}") from error


async def store_documents(
    plan: Plan, unit: BenchmarkRunUnit, objects: ObjectStoreProtocol, progress: ProgressCallback | None
) -> list[str]:
    """Put the unit's documents under their raw keys and return these, in order."""
    keys = []
    async for document in unit_documents(plan, unit):
        key = raw_key(plan.manifest, document)
        await objects.put(key, await read_document(document))
        keys.append(key)
        if progress:
            progress("documents", len(keys), None)
    return keys


async def digest_documents(plan: Plan, unit: BenchmarkRunUnit) -> str:
    """Return a digest of everything that the unit's knowledge base is built from."""
    digest = DocumentsDigest()
    digest.update(plan.manifest.name, plan.manifest.split, "unit", repr(unit.document_ids).encode())
    own = getattr(plan.benchmark, "documents_digest", None)
    if own is not None:
        digest.update("documents", "own digest", "", (await own(plan.prepared, unit)).encode())
        return digest.hexdigest()
    async for document in unit_documents(plan, unit):
        digest.update(document.document_id, document.name, document.media_type, await read_document(document))
    return digest.hexdigest()
