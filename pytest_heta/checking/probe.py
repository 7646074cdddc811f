"""One knowledge base under check: how it is built from a tiny corpus, and how it is asked."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pytest_heta.calling import call
from pytest_heta.checking.corpus import TinyCorpus
from pytest_heta.engine.responses import as_response
from pytest_heta.keys import document_id_of
from pytest_heta.knowledge.store import MemoryObjectStore
from pytest_heta.records import QueryResponse

Ranking = tuple[tuple[str, float | None], ...]


@dataclass(frozen=True)
class Probe:
    """A knowledge base and one of its modes."""

    kb: Any
    mode: str

    async def ask(self, query: str, top_k: int = 5) -> QueryResponse:
        """Ask it as a run does."""
        return as_response(await call(self.kb.query, query, mode=self.mode, top_k=top_k), self.mode)

    async def ask_at_once(self, queries: Sequence[str], concurrency: int) -> list[QueryResponse]:
        """Ask all, up to ``concurrency`` at the same time, and return the responses in order."""
        slots = asyncio.Semaphore(concurrency)

        async def one(query: str) -> QueryResponse:
            async with slots:
                return await self.ask(query)

        return await asyncio.gather(*map(one, queries))


def ranking(response: QueryResponse) -> Ranking:
    """Return ids and scores; the scores rounded, as batches and single queries may differ in the last digits."""
    return tuple(
        (document_id_of(hit) or hit.id, None if hit.score is None else round(hit.score, 4)) for hit in response.results
    )


async def build(recipe: Any, corpus: TinyCorpus, name: str) -> Any:
    """Build a knowledge base of a tiny corpus as a run does."""
    if not getattr(recipe, "needs_documents", True):
        return await call(recipe.build, name=name, objects=MemoryObjectStore(), source_keys=())
    objects = MemoryObjectStore()
    for document_id, text in corpus.texts.items():
        await objects.put(corpus.key(document_id), text.encode())
    keys = [corpus.key(document_id) for document_id in corpus.texts]
    return await call(recipe.build, name=name, objects=objects, source_keys=keys)
