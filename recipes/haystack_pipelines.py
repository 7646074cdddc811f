"""A Haystack indexing and query pipeline with BM25 in memory. Needs pytest-heta[haystack].

Put your own pipelines in the place of these; both are made anew for each knowledge base, over a document store of its
own. A query pipeline that ends in a generator or an answer builder is scored for its answers, too.
"""

from haystack import Pipeline
from haystack.components.preprocessors import DocumentSplitter
from haystack.components.retrievers.in_memory import InMemoryBM25Retriever
from haystack.components.writers import DocumentWriter
from haystack.document_stores.in_memory import InMemoryDocumentStore

from pytest_heta.integrations.haystack import HaystackRecipe


def pipelines() -> tuple[Pipeline, Pipeline]:
    """Return an indexing and a query pipeline over one store."""
    store = InMemoryDocumentStore()
    indexing = Pipeline()
    indexing.add_component("splitter", DocumentSplitter(split_by="word", split_length=300, split_overlap=30))
    indexing.add_component("writer", DocumentWriter(store))
    indexing.connect("splitter", "writer")
    querying = Pipeline()
    querying.add_component("retriever", InMemoryBM25Retriever(store))
    return indexing, querying


recipe = HaystackRecipe.of_pipelines(pipelines)
