"""What a mode of heta-framework finds, as hits of the benchmark's documents."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from typing import Any

from pytest_heta.keys import document_id_of_key
from pytest_heta.records import QueryResponse, QueryResult


def response_of(found: Any, copies: Mapping[str, Sequence[str]], top_k: int, *, trace: bool) -> QueryResponse:
    """Return a response of heta-framework as ours, with at most ``top_k`` hits.

    Its modes find chunks, pages of a wiki, entities and relations of a graph, or one context that is put together out
    of many documents. A hit that stands on several documents becomes one hit for each, in the order in which it names
    them; ``copies`` are the keys of the documents that were left out of the build, by the key of their equal. A context
    that names no document is no hit: it is kept in ``metadata["context"]``.
    """
    hits = [hit for hit in found.results if not _is_mere_context(hit)]
    results = [result for hit in hits for result in _results(hit, copies)]
    context = [hit.text for hit in found.results if _is_mere_context(hit)]
    return QueryResponse(
        mode=found.mode,
        results=tuple(results[:top_k]),
        answer=found.answer,
        citations=tuple(map(_plain, found.citations)),
        trace=tuple(map(_plain, found.trace)) if trace else None,
        metadata={**found.metadata, **_unless_empty(context=context, insights=[*map(_plain, found.insights)])},
    )


def _unless_empty(**lists: list[Any]) -> dict[str, list[Any]]:
    return {name: values for name, values in lists.items() if values}


def _results(hit: Any, copies: Mapping[str, Sequence[str]]) -> list[QueryResult]:
    result = QueryResult(
        id=hit.id,
        text=hit.text,
        score=hit.score,
        kind=hit.kind,
        source=dict(hit.source),
        metadata=dict(hit.metadata),
    )
    keys = [each for key in dict.fromkeys(_raw_keys(hit)) for each in (key, *copies.get(key, ()))]
    # A source_key in the source wins over whatever else the hit says of documents.
    return [
        result.model_copy(
            update={
                "id": f"{hit.id}~{number}" if number else hit.id,
                "source": {**result.source, "source_key": key},
            }
        )
        for number, key in enumerate(keys)
    ] or [result]


def _raw_keys(hit: Any) -> Iterator[str]:
    """Yield the raw keys that a hit names, by where each mode puts them.

    Chunks have an ``object_key``; chunks of a wiki have that of their page, and the document's in ``origin``. A context
    has ``object_keys`` or ``source_keys``. A fact of a graph has the ``object_key`` of its first evidence only, and all
    of them in its metadata.
    """
    source = hit.source
    named = [
        source.get("object_key"),
        source.get("origin", {}).get("object_key"),
        *source.get("object_keys", ()),
        *source.get("source_keys", ()),
        *(evidence.get("source_key") for evidence in hit.metadata.get("evidence", ())),
    ]
    for key in named:
        if key is not None and document_id_of_key(str(key)) is not None:
            yield str(key)


def _is_mere_context(hit: Any) -> bool:
    return str(hit.kind).endswith("_context") and next(_raw_keys(hit), None) is None


def _plain(record: Any) -> Any:
    """Return a record of heta-framework as a mapping."""
    return {field.name: getattr(record, field.name) for field in fields(record)}
