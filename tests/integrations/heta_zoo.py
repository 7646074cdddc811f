"""A small heta-framework recipe without network: a bag of words as the embedding, everything else its own."""

from __future__ import annotations

import math
from collections.abc import Sequence
from hashlib import md5
from pathlib import Path
from typing import Any

from heta_framework import kb
from heta_framework.common.extractors import ExtractedBlock, ExtractedDocument
from heta_framework.common.models import EmbeddingResult
from heta_framework.common.stores import InMemoryTextIndexStore, InMemoryVectorStore, LocalObjectStore, SQLStore

from pytest_heta.knowledge.parsing import parse

SIZE = 256


class BagOfWords:
    """Embeds a text as the hashed counts of its words; ``embedded`` counts the texts."""

    def __init__(self, name: str = "bag-of-words") -> None:
        """Take the name that the recipe goes by."""
        self.model_name, self.embedded = name, 0

    async def embed(self, request: Any) -> Any:
        """Embed the texts of one request."""
        self.embedded += len(request.texts)
        return EmbeddingResult(vectors=[self.vector(text) for text in request.texts], model_name=self.model_name)

    async def embed_many(self, requests: Sequence[Any]) -> list[Any]:
        """Embed several requests."""
        return [await self.embed(request) for request in requests]

    def vector(self, text: str) -> list[float]:
        """Embed one text."""
        vector = [0.0] * SIZE
        for word in text.lower().split():
            vector[int(md5(f"{self.model_name} {word}".encode()).hexdigest(), 16) % SIZE] += 1.0
        norm = math.sqrt(sum(value * value for value in vector)) or 1.0
        return [value / norm for value in vector]


class PageExtractor:
    """Reads the pages of a PDF file with pypdfium2, as a team's own extractor might."""

    async def extract(self, document: Any, options: Any = None) -> Any:
        """Return a block for each page."""
        pages = parse(document.filename, document.data)
        blocks = tuple(ExtractedBlock(kind="text", text=page.text, page_index=page.page_index) for page in pages)
        return ExtractedDocument(text="\n\n".join(page.text for page in pages), blocks=blocks)


def heta_recipe(
    folder: Path,
    *,
    encoding: str = "unicode",
    chunk_size: int = 64,
    model: BagOfWords | None = None,
    vector: Any = None,
    sql: Any = None,
    graph: Any = None,
) -> Any:
    """Return a KnowledgeRecipe that unlocks vector_search and full_text_search.

    With ``sql``, a store, it unlocks sql_text_search, and with ``graph``, a language model, what a graph can do.
    """
    split = kb.SplitDocumentsConfig(encoding_name=encoding, chunk_size=chunk_size, overlap=0)
    persist = (kb.PersistChunks(kb.PersistChunksConfig(chunk_keys_artifact="chunk_keys")),) if sql is not None else ()
    return kb.KnowledgeRecipe(
        parsers=kb.KnowledgeParsers(
            documents=kb.DocumentParserRegistry([kb.TextParser(), kb.PdfParser(PageExtractor())])
        ),
        models=kb.KnowledgeModels(embedding=model or BagOfWords(), language=graph),
        stores=kb.KnowledgeStores(
            objects=LocalObjectStore(folder),
            vector=vector or InMemoryVectorStore(),
            text_index=InMemoryTextIndexStore(),
            sql=SQLStore("sqlite://") if sql is None and graph is not None else sql,
        ),
        steps=(
            kb.ParseDocuments(),
            kb.SplitDocuments(split),
            kb.EmbedChunks(),
            kb.IndexVectors(),
            kb.IndexFullText(),
            *persist,
            *(() if graph is None else (kb.HetaGraphProcedure(deduplicate=False),)),
        ),
    )
