"""The keys under which things lie in an object store, and the way back from a key to a document id."""

from __future__ import annotations

import re
from hashlib import sha256
from urllib.parse import unquote_to_bytes

from pytest_heta.records import BenchmarkDocument, BenchmarkManifest, QueryResult

_RAW = re.compile(r"raw/benchmarks/[^/]+/[^/]+/([^/]+)/")
_SAFE = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")
_LONGEST_ID = 150
_CUT_ESCAPE = re.compile(r"=[0-9A-F]?$")


def document_folder(manifest: BenchmarkManifest, document_id: str) -> str:
    """Return the folder of one document's raw key, with its trailing slash."""
    return f"raw/benchmarks/{manifest.name}/{manifest.split}/{document_id}/"


def raw_key(manifest: BenchmarkManifest, document: BenchmarkDocument) -> str:
    """Return the key of one raw document: ``raw/benchmarks/{benchmark}/{split}/{document_id}/{name}``."""
    return document_folder(manifest, document.document_id) + document.name


def document_id_of_key(key: str) -> str | None:
    """Return the document id inside a raw key, or None where ``key`` is not one."""
    match = _RAW.match(key)
    return match.group(1) if match else None


def document_id_of(result: QueryResult) -> str | None:
    """Return the benchmark's document id of a hit.

    Looked for in the raw key (``source_key``, then ``object_key``, in source, then metadata), then in an explicit
    ``document_id``, then in the id of a hit whose kind is ``document``. None where the hit names no document.
    """
    for place in (result.source, result.metadata):
        for field in ("source_key", "object_key"):
            key = place.get(field)
            if key and (found := document_id_of_key(str(key))) is not None:
                return found
    for place in (result.source, result.metadata):
        if place.get("document_id"):
            return str(place["document_id"])
    return result.id if result.kind == "document" else None


def safe_document_id(original: str) -> str:
    """Return the file-name form of an id: injective, and the identity on letters, digits and ``._-``.

    Every other byte of the UTF-8 form becomes ``=XX``, as does a leading dot. A form longer than 150 characters keeps
    its first 80 at most and ends in ``=~`` and the sha256 of the whole; no short form can contain ``=~``.
    """
    raw = original.encode("utf-8", "surrogatepass")
    safe = "".join(chr(byte) if byte in _SAFE else f"={byte:02X}" for byte in raw)
    if safe.startswith("."):
        safe = "=2E" + safe[1:]
    if len(safe) > _LONGEST_ID:
        # Cut at a whole escape, so that every form is made of whole ones.
        safe = f"{_CUT_ESCAPE.sub('', safe[:80])}=~{sha256(raw).hexdigest()}"
    return safe


def original_document_id(safe: str) -> str:
    """Return the id that ``safe`` is the file-name form of; ``safe`` itself where it is none, or one with a digest."""
    if "=" not in safe:
        return safe
    try:
        original = unquote_to_bytes(safe.replace("=", "%")).decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return safe
    return original if safe_document_id(original) == safe else safe


def knowledge_base_name(name: str, unit_id: str, units: int) -> str:
    """Return the KB name of a unit: ``{name}-{unit_id}``, or ``{name}`` where it is the only one."""
    return name if units == 1 else f"{name}-{unit_id}"


def report_key(knowledge_base: str, report_id: str) -> str:
    """Return the key under which a report is kept."""
    return f"_heta/knowledge_bases/{knowledge_base}/evaluations/{report_id}/report.json"
