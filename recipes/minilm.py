"""Vector search with all-MiniLM-L6-v2, BM25, and both fused by rank. Needs pytest-heta[bm25,onnx].

The model (90 MB) is downloaded from the Hugging Face Hub once. Without network, put its ``model.onnx`` and
``tokenizer.json`` into a folder and write ``OnnxEmbedder(folder="that/folder", file="model.onnx")``.
"""

from pytest_heta.knowledge import Bm25, Fusion, OnnxEmbedder, Recipe, TokenChunker, Vectors

recipe = Recipe(
    "minilm",
    chunker=TokenChunker(size=512, overlap=64),
    modes={
        "full_text_search": Bm25(),
        "vector_search": Vectors(OnnxEmbedder("sentence-transformers/all-MiniLM-L6-v2")),
        "hybrid_search": Fusion("full_text_search", "vector_search"),
    },
)
