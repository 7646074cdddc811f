"""Vectors and full text in PostgreSQL with pgvector, and both fused by rank. Needs pytest-heta[pgvector,vector].

``HETA_PGVECTOR_URI`` names the database: this machine's, a server or a cloud's, such as ``postgresql://me@host/heta``.
"""

import os

from pytest_heta.knowledge import Fusion, TokenChunker, Vectors, WordLlamaEmbedder
from pytest_heta.knowledge.backends import FullText, PgVector, ServerRecipe

recipe = ServerRecipe(
    "pgvector",
    server=PgVector(os.environ.get("HETA_PGVECTOR_URI", "postgresql://localhost/postgres")),
    chunker=TokenChunker(size=512, overlap=64),
    modes={
        "vector_search": Vectors(WordLlamaEmbedder()),
        "full_text_search": FullText("english"),
        "hybrid_search": Fusion("vector_search", "full_text_search"),
    },
)
