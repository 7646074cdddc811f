"""Vectors in Milvus. Needs pytest-heta[milvus,vector].

``HETA_MILVUS_URI`` is a server or cluster such as ``http://host:19530`` (with ``HETA_MILVUS_TOKEN`` where it asks for
one), or a file, which milvus-lite opens for one process at a time.
"""

import os

from pytest_heta.knowledge import TokenChunker, Vectors, WordLlamaEmbedder
from pytest_heta.knowledge.backends import Milvus, ServerRecipe

recipe = ServerRecipe(
    "milvus",
    server=Milvus(os.environ.get("HETA_MILVUS_URI", "http://localhost:19530"), os.environ.get("HETA_MILVUS_TOKEN", "")),
    chunker=TokenChunker(size=512, overlap=64),
    modes={"vector_search": Vectors(WordLlamaEmbedder())},
)
