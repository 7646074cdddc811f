"""Small things that several tests of this room need."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from pytest_heta.knowledge import MemoryObjectStore, Recipe
from pytest_heta.knowledge.base import EmbeddedKnowledgeBase


def raw(document_id: str, name: str | None = None) -> str:
    """Return the raw key of a document."""
    return f"raw/benchmarks/zoo/test/{document_id}/{name or document_id + '.txt'}"


def build(recipe: Recipe, texts: Mapping[str, str | bytes], **options: Any) -> EmbeddedKnowledgeBase:
    """Build a knowledge base of documents given as key and content."""

    async def work() -> EmbeddedKnowledgeBase:
        objects = MemoryObjectStore()
        for key, text in texts.items():
            await objects.put(key, text.encode() if isinstance(text, str) else text)
        return await recipe.build(name="zoo", objects=objects, source_keys=list(texts), **options)

    return asyncio.run(work())
