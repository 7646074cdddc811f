"""Question answering without a language model: the best sentence or number of what was found is the answer.

A baseline that every answer metric can be run on; a change, average or total is computed from the row of a table.

Needs pytest-heta[bm25,vector], and pytest-heta[pdf] for PDF and HTML files.
"""

from pytest_heta.knowledge import Bm25, Recipe, SentenceAnswerer, TokenChunker, Vectors, WordLlamaEmbedder

recipe = Recipe(
    "extractive_qa",
    chunker=TokenChunker(size=200, overlap=40),
    modes={"full_text_search": Bm25(), "vector_search": Vectors(WordLlamaEmbedder())},
    answerer=SentenceAnswerer(depth=5),
)
