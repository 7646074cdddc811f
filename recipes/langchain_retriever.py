"""A LangChain vector store that is filled from the benchmark's documents. Needs pytest-heta[langchain,vector].

Put your own embeddings, splitter and store in the place of these. A retriever or a retrieval chain can be returned as
well, and a file may simply hold ``recipe = my_retriever`` where the index exists already.
"""

from collections.abc import Sequence

from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import InMemoryVectorStore

from pytest_heta.integrations.langchain import LangChainRecipe
from pytest_heta.knowledge import WordLlamaEmbedder


class WordLlamaEmbeddings(Embeddings):
    """An embedding model that pip brings along with its weights."""

    def __init__(self) -> None:
        """Load nothing yet."""
        self._embedder = WordLlamaEmbedder()

    def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        """Embed the texts of chunks."""
        return [vector.tolist() for vector in self._embedder.embed(list(texts))]

    def embed_query(self, text: str) -> list[float]:
        """Embed a query."""
        return self.embed_documents([text])[0]


def build(documents: list[Document]) -> InMemoryVectorStore:
    """Return a store of the documents."""
    return InMemoryVectorStore.from_documents(documents, WordLlamaEmbeddings())


recipe = LangChainRecipe(build, name="langchain_retriever")
