"""The same vectors, one for each document, in every engine that is there to hold them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from pytest_heta.knowledge import Recipe, TokenChunker, Vectors, WordLlamaEmbedder
from pytest_heta.knowledge.backends import LanceDb, Milvus, PgVector, ServerRecipe

MODE = "vector_search"
WHOLE = TokenChunker(size=100_000, overlap=0)


def engines(folder: Path) -> Iterator[tuple[str, Any]]:
    """Yield a recipe for each engine by name: what is installed and, of servers, what the environment names.

    ``HETA_PGVECTOR_URI``, ``HETA_LANCEDB_URI`` and ``HETA_MILVUS_URI`` are the addresses that recipes/*.py read.
    """
    modes = {MODE: Vectors(WordLlamaEmbedder())}
    yield "numpy", Recipe("numpy", chunker=WHOLE, modes=modes)
    for name, server in _servers(folder):
        yield name, ServerRecipe(name, server=server, chunker=WHOLE, modes=modes)
    yield from _heta_framework(folder)


def _servers(folder: Path) -> Iterator[tuple[str, Any]]:
    if "HETA_PGVECTOR_URI" in os.environ:
        yield "pgvector", PgVector(os.environ["HETA_PGVECTOR_URI"])
    if find_spec("lancedb"):
        yield "LanceDB, folder", LanceDb(str(folder / "lancedb"))
        if "HETA_LANCEDB_URI" in os.environ:
            yield "LanceDB, S3", LanceDb(os.environ["HETA_LANCEDB_URI"])
    if find_spec("milvus_lite"):
        yield "Milvus, file", Milvus(str(folder / "milvus.db"))
    if "HETA_MILVUS_URI" in os.environ:
        yield "Milvus, server", Milvus(os.environ["HETA_MILVUS_URI"])


def _heta_framework(folder: Path) -> Iterator[tuple[str, Any]]:
    if not find_spec("heta_framework"):
        return
    from heta_framework.common.stores import InMemoryVectorStore, MilvusVectorStore

    yield "heta-framework", _heta_recipe(folder / "heta", InMemoryVectorStore())
    if find_spec("milvus_lite"):
        yield "heta, Milvus file", _heta_recipe(folder / "heta-milvus", MilvusVectorStore(uri=str(folder / "heta.db")))


def _heta_recipe(folder: Path, vectors: Any) -> Any:
    from heta_framework import kb
    from heta_framework.common.models import EmbeddingResult
    from heta_framework.common.stores import LocalObjectStore

    class Model:
        """wordllama as heta-framework's embedding model."""

        model_name = "wordllama"
        embedder = WordLlamaEmbedder()

        async def embed(self, request: Any) -> Any:
            return EmbeddingResult(vectors=self.embedder.embed(request.texts).tolist(), model_name=self.model_name)

        async def embed_many(self, requests: Sequence[Any]) -> list[Any]:
            return [await self.embed(request) for request in requests]

    whole = kb.SplitDocumentsConfig(encoding_name="unicode", chunk_size=1_000_000, overlap=0)
    return kb.KnowledgeRecipe(
        parsers=kb.KnowledgeParsers(documents=kb.DocumentParserRegistry([kb.TextParser()])),
        models=kb.KnowledgeModels(embedding=Model()),
        stores=kb.KnowledgeStores(objects=LocalObjectStore(folder), vector=vectors),
        steps=(kb.ParseDocuments(), kb.SplitDocuments(whole), kb.EmbedChunks(), kb.IndexVectors()),
    )
