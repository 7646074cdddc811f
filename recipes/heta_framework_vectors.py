"""A recipe of heta-framework as it is. Needs pytest-heta[heta] (Python 3.11 or 3.12) and a key for the embedding model.

The KnowledgeRecipe is an ordinary one; nothing in it is made for pytest-heta. With vector or SQL stores that last and
with benchmarks of several run units, see HetaRecipe in pytest_heta/integrations/heta_framework.py.
"""

import os
from pathlib import Path

from heta_framework.common.models import EmbeddingModel
from heta_framework.common.stores import InMemoryTextIndexStore, InMemoryVectorStore, LocalObjectStore
from heta_framework.kb import (
    DocumentParserRegistry,
    EmbedChunks,
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

recipe = KnowledgeRecipe(
    parsers=KnowledgeParsers(documents=DocumentParserRegistry([TextParser(), HtmlParser()])),
    models=KnowledgeModels(
        embedding=EmbeddingModel(
            model_name=os.environ.get("EMBEDDING_MODEL", "openai/text-embedding-3-small"),
            api_key=os.environ.get("OPENAI_API_KEY", "none"),
            api_base=os.environ.get("OPENAI_BASE_URL"),
        )
    ),
    stores=KnowledgeStores(
        objects=LocalObjectStore(Path("heta-workspace/objects")),
        vector=InMemoryVectorStore(),
        text_index=InMemoryTextIndexStore(),
    ),
    steps=(ParseDocuments(), SplitDocuments(), EmbedChunks(), IndexVectors(), IndexFullText()),
)
