"""Full-text search, vector search, and both fused by rank. Needs pytest-heta[bm25,vector]."""

from pytest_heta.knowledge import Bm25, Fusion, Recipe, TokenChunker, Vectors, WordLlamaEmbedder

recipe = Recipe(
    "hybrid",
    chunker=TokenChunker(size=512, overlap=64),
    modes={
        "full_text_search": Bm25(),
        "vector_search": Vectors(WordLlamaEmbedder()),
        "hybrid_search": Fusion("full_text_search", "vector_search"),
    },
)
