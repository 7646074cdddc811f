"""Knowledge bases in real engines: the same recipe whether the engine is a folder, a server or a cluster.

Importing this loads no client library: it comes in when a knowledge base is built or opened.
"""

from pytest_heta.knowledge.backends.lancedb import LanceDb
from pytest_heta.knowledge.backends.milvus import Milvus
from pytest_heta.knowledge.backends.modes import FullText, Hnsw
from pytest_heta.knowledge.backends.opensearch import OpenSearch
from pytest_heta.knowledge.backends.pgvector import PgVector
from pytest_heta.knowledge.backends.recipe import ServerRecipe

__all__ = ["FullText", "Hnsw", "LanceDb", "Milvus", "OpenSearch", "PgVector", "ServerRecipe"]
