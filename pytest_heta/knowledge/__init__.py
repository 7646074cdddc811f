"""The built-in embedded knowledge base: what a recipe is made of.

Importing this loads no engine: numpy, bm25s, onnxruntime and the like come in when a knowledge base is built or opened.
"""

from pytest_heta.knowledge.answering import SentenceAnswerer
from pytest_heta.knowledge.chunking import CharacterChunker, Chunk, TokenChunker
from pytest_heta.knowledge.embedding import Embedder
from pytest_heta.knowledge.embedding.onnx import OnnxEmbedder
from pytest_heta.knowledge.embedding.wordllama import WordLlamaEmbedder
from pytest_heta.knowledge.modes import Bm25, Fusion, Vectors
from pytest_heta.knowledge.recipe import Recipe
from pytest_heta.knowledge.store import LocalObjectStore, MemoryObjectStore

__all__ = [
    "Bm25",
    "CharacterChunker",
    "Chunk",
    "Embedder",
    "Fusion",
    "LocalObjectStore",
    "MemoryObjectStore",
    "OnnxEmbedder",
    "Recipe",
    "SentenceAnswerer",
    "TokenChunker",
    "Vectors",
    "WordLlamaEmbedder",
]
