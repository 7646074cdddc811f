"""A recipe of heta-framework with a knowledge graph, for its graph, hybrid and multi-hop modes.

Needs pytest-heta[heta] and heta-framework[sql] (Python 3.11 or 3.12), and a key for the models. Building asks the
language model twice for each chunk, and multi-hop search several times for each query: try it with --heta-limit first,
and one --heta-mode at a time.
"""

import os
from pathlib import Path

from heta_framework.common.models import EmbeddingModel, LanguageModel
from heta_framework.common.stores import InMemoryTextIndexStore, InMemoryVectorStore, LocalObjectStore, SQLStore
from heta_framework.kb import (
    DocumentParserRegistry,
    EmbedChunks,
    HetaGraphProcedure,
    HtmlParser,
    IndexFullText,
    IndexVectors,
    KnowledgeModels,
    KnowledgeParsers,
    KnowledgeRecipe,
    KnowledgeStores,
    ParseDocuments,
    SplitDocuments,
    TextParser,
)

service = {"api_key": os.environ.get("OPENAI_API_KEY", "none"), "api_base": os.environ.get("OPENAI_BASE_URL")}

recipe = KnowledgeRecipe(
    parsers=KnowledgeParsers(documents=DocumentParserRegistry([TextParser(), HtmlParser()])),
    models=KnowledgeModels(
        embedding=EmbeddingModel(
            model_name=os.environ.get("EMBEDDING_MODEL", "openai/text-embedding-3-small"), **service
        ),
        language=LanguageModel(model_name=os.environ.get("LANGUAGE_MODEL", "openai/gpt-4o-mini"), **service),
    ),
    stores=KnowledgeStores(
        objects=LocalObjectStore(Path("heta-workspace/objects")),
        vector=InMemoryVectorStore(),
        text_index=InMemoryTextIndexStore(),
        sql=SQLStore("sqlite://"),
    ),
    steps=(ParseDocuments(), SplitDocuments(), EmbedChunks(), IndexVectors(), IndexFullText(), HetaGraphProcedure()),
)
