"""Vector search with an embedding model that pip brings along with its weights. Needs pytest-heta[vector]."""

from pytest_heta.knowledge import Recipe, TokenChunker, Vectors, WordLlamaEmbedder

recipe = Recipe(
    "vector",
    chunker=TokenChunker(size=512, overlap=64),
    modes={"vector_search": Vectors(WordLlamaEmbedder())},
)
