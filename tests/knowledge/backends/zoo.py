"""A small corpus, an embedder without a model, and recipes over them."""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pytest_heta.knowledge import Fusion, MemoryObjectStore, Recipe, TokenChunker, Vectors
from pytest_heta.knowledge.backends import FullText, Hnsw, ServerRecipe
from pytest_heta.knowledge.backends.base import ServerKnowledgeBase
from pytest_heta.knowledge.backends.table import Server
from tests.knowledge.helpers import raw

VECTORS = ("pgvector", "lancedb", "lancedb-s3", "milvus-file", "milvus")
WORDS = ("pgvector", "lancedb", "lancedb-s3", "opensearch")
GRAPHS = ("pgvector", "lancedb", "milvus")

ANIMALS = ("otter", "badger", "heron", "lynx", "marten", "stork", "beaver", "adder", "newt", "wolf")
PLACES = ("river", "forest", "meadow", "cliff", "marsh", "garden")
TEXTS: dict[str, str] = {
    raw(f"{animal}_{place}"): f"The {animal} sleeps near the {place} and hunts {animal}s' prey {number} times."
    for number, (animal, place) in enumerate((animal, place) for animal in ANIMALS for place in PLACES)
} | {raw("silent"): "!!! ??? ...", raw("long"): "quiet valley " * 30 + "with one Ünïcode 日本 word"}


@dataclass(frozen=True)
class WordEmbedder:
    """Sums a random vector of each word of letters; texts without any have none."""

    name: str = "words"
    dimension: int = 24

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the sums, shape (len(texts), dimension)."""
        return np.array([self._sum(text) for text in texts], dtype=np.float32).reshape(-1, self.dimension)

    def embed_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Treat queries as any text."""
        return self.embed(texts)

    def declaration(self) -> dict[str, Any]:
        """Return the configuration."""
        return {"model": self.name}

    def fingerprint(self) -> str:
        """Return nothing."""
        return ""

    def _sum(self, text: str) -> NDArray[np.float64]:
        total = np.zeros(self.dimension)
        for word in text.lower().split():
            if word.isalpha():
                total += np.random.default_rng(zlib.crc32(word.encode())).normal(size=self.dimension)
        return total


CHUNKER = TokenChunker(size=20, overlap=5)
EMBEDDED = Recipe("embedded", modes={"vector_search": Vectors(WordEmbedder())}, chunker=CHUNKER)


def vectors(server: Server, **options: Any) -> ServerRecipe:
    """Return a recipe of exact vector search."""
    modes = {"vector_search": Vectors(WordEmbedder())}
    return ServerRecipe("zoo", server=server, modes=modes, chunker=CHUNKER, **options)


def words(server: Server) -> ServerRecipe:
    """Return a recipe of full-text search."""
    return ServerRecipe("zoo", server=server, modes={"full_text_search": FullText()}, chunker=CHUNKER)


def hybrid(server: Server) -> ServerRecipe:
    """Return a recipe of both, fused."""
    modes: dict[str, Any] = {"vector_search": Vectors(WordEmbedder()), "full_text_search": FullText()}
    modes["hybrid_search"] = Fusion(*modes)
    return ServerRecipe("zoo", server=server, modes=modes, chunker=CHUNKER)


def graph(server: Server) -> ServerRecipe:
    """Return a recipe of approximate vector search."""
    return ServerRecipe("zoo", server=server, modes={"vector_search": Hnsw(WordEmbedder())}, chunker=CHUNKER)


def build(recipe: ServerRecipe, texts: Mapping[str, str | bytes] = TEXTS, **options: Any) -> ServerKnowledgeBase:
    """Build a knowledge base of documents given as key and content."""

    async def work() -> ServerKnowledgeBase:
        objects = MemoryObjectStore()
        for key, text in texts.items():
            await objects.put(key, text.encode() if isinstance(text, str) else text)
        return await recipe.build(name="zoo", objects=objects, source_keys=list(texts), **options)

    return asyncio.run(work())
