"""Vectors and BM25 in LanceDB, and both fused by rank. Needs pytest-heta[lancedb,vector].

``HETA_LANCEDB_URI`` is a folder, or ``s3://bucket/path`` with credentials in the usual ``AWS_…`` variables.
"""

import os

from pytest_heta.knowledge import Fusion, TokenChunker, Vectors, WordLlamaEmbedder
from pytest_heta.knowledge.backends import FullText, LanceDb, ServerRecipe

recipe = ServerRecipe(
    "lancedb",
    server=LanceDb(os.environ.get("HETA_LANCEDB_URI", ".heta/lancedb")),
    chunker=TokenChunker(size=512, overlap=64),
    modes={
        "vector_search": Vectors(WordLlamaEmbedder()),
        "full_text_search": FullText("english"),
        "hybrid_search": Fusion("vector_search", "full_text_search"),
    },
)
