"""BM25 in OpenSearch. Needs pytest-heta[opensearch].

``HETA_OPENSEARCH_URI`` is the server or cluster, ``HETA_OPENSEARCH_USER`` and ``HETA_OPENSEARCH_PASSWORD`` log in. A
server with the k-NN plugin can search vectors as well: add ``"vector_search": Vectors(WordLlamaEmbedder())``.
"""

import os

from pytest_heta.knowledge import TokenChunker
from pytest_heta.knowledge.backends import FullText, OpenSearch, ServerRecipe

recipe = ServerRecipe(
    "opensearch",
    server=OpenSearch(
        os.environ.get("HETA_OPENSEARCH_URI", "http://localhost:9200"),
        user=os.environ.get("HETA_OPENSEARCH_USER", ""),
        password=os.environ.get("HETA_OPENSEARCH_PASSWORD", ""),
    ),
    chunker=TokenChunker(size=512, overlap=64),
    modes={"full_text_search": FullText("english")},
)
