"""Small things that several tests of this room need."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any

import pytest

from pytest_heta.calling import call
from pytest_heta.knowledge import MemoryObjectStore
from pytest_heta.records import QueryResponse

ZOO = {
    "lion": "The lion sleeps in the shade of the acacia at noon.",
    "otter": "The otter cracks shells with a stone on its belly.",
    "owl=20barn": "The barn owl hears a mouse under the snow.",
}
"""Three documents by id; the last id is the file-name form of one with a blank."""


def raw(document_id: str) -> str:
    """Return the raw key of a document."""
    return f"raw/benchmarks/zoo/test/{document_id}/{document_id}.txt"


async def build(recipe: Any, texts: Mapping[str, str] = ZOO, *, name: str = "zoo", **options: Any) -> Any:
    """Build a knowledge base of these texts, given by document id."""
    objects = MemoryObjectStore()
    for document_id, text in texts.items():
        await objects.put(raw(document_id), text.encode())
    keys = [raw(document_id) for document_id in texts]
    return await call(recipe.build, name=name, objects=objects, source_keys=keys, **options)


async def ask(kb: Any, text: str, *, mode: str = "search", top_k: int = 2) -> QueryResponse:
    """Ask a knowledge base whose responses are ours."""
    response = await call(kb.query, text, mode=mode, top_k=top_k)
    assert isinstance(response, QueryResponse)
    return response


def overlap(query: str, text: str) -> int:
    """Return how many words two texts share: a ranking that is easily worked out by hand."""
    return len(set(query.lower().split()) & set(text.lower().split()))


def needs(module: str, extra: str) -> pytest.MarkDecorator:
    """Return the mark of tests that need a framework; they are skipped where it is not installed."""
    return pytest.mark.skipif(
        find_spec(module) is None, reason=f"{module} is not installed: pip install 'pytest-heta[{extra}]'"
    )
