"""A LlamaIndex vector index over the benchmark's documents. Needs pytest-heta[llama-index,vector].

Put your own embedding and index in the place of these. A retriever or a query engine can be returned as well; of a
query engine the answer is scored, too.
"""

from llama_index.core import VectorStoreIndex
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.node_parser import TokenTextSplitter
from llama_index.core.schema import Document

from pytest_heta.integrations.llama_index import LlamaIndexRecipe
from pytest_heta.knowledge import WordLlamaEmbedder

embedder = WordLlamaEmbedder()


class WordLlamaEmbedding(BaseEmbedding):
    """An embedding model that pip brings along with its weights."""

    def _get_text_embedding(self, text: str) -> list[float]:
        vector: list[float] = embedder.embed([text])[0].tolist()
        return vector

    def _get_query_embedding(self, query: str) -> list[float]:
        return self._get_text_embedding(query)

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_text_embedding(query)


def build(documents: list[Document]) -> VectorStoreIndex:
    """Return an index of the documents, cut into chunks."""
    splitter = TokenTextSplitter(chunk_size=512, chunk_overlap=64, tokenizer=str.split)
    return VectorStoreIndex.from_documents(
        documents, embed_model=WordLlamaEmbedding(model_name="wordllama"), transformations=[splitter]
    )


recipe = LlamaIndexRecipe(build)
