"""Full-text search: BM25 over whole words, stemmed, without stop words. Needs pytest-heta[bm25]."""

from pytest_heta.knowledge import Bm25, Recipe, TokenChunker

recipe = Recipe(
    "bm25",
    chunker=TokenChunker(size=512, overlap=64),
    modes={"full_text_search": Bm25(k1=1.5, b=0.75, stemmer="english", stopwords="english")},
)
