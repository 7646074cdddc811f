"""OpenSearch: BM25, and exact vector search where the server has the k-NN plugin."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pytest_heta.errors import BuildError, RecipeError
from pytest_heta.knowledge.backends.table import PREFIX, Columns, Found, StoredChunk, Table, without_secrets
from pytest_heta.knowledge.extras import installed_version, require

if TYPE_CHECKING:
    from pytest_heta.knowledge.vector import Matrix

_SECONDS = 60
_QUERIES_AT_ONCE = 100
_OVERLOADED = {429, 502, 503, 504}


@dataclass(frozen=True)
class OpenSearch:
    """A server or cluster at ``https://host:9200``, with ``user`` and ``password`` where it asks for them.

    ``k1`` and ``b`` are BM25's. With more than one of ``shards``, term frequencies are collected from all of them
    before scoring, so that scores do not depend on where a chunk lies.
    """

    uri: str
    user: str = ""
    password: str = field(default="", repr=False)
    k1: float = 1.2
    b: float = 0.75
    shards: int = 1
    kind = "OpenSearch"

    @property
    def location(self) -> str:
        """The address without secrets."""
        return without_secrets(self.uri)

    def declaration(self) -> dict[str, Any]:
        """Return the parameters of BM25."""
        return {"k1": self.k1, "b": self.b, "shards": self.shards}

    def fingerprint(self) -> str:
        """Return the version of the client."""
        return f"opensearch-py {installed_version('opensearch-py')}"

    def check(self, columns: Columns) -> None:
        """Refuse approximate vectors."""
        if columns.hnsw is not None:
            raise RecipeError("OpenSearch is used for full text and exact vectors: take Hnsw from another engine")

    def table(self, name: str, columns: Columns) -> Table:
        """Connect to an index, which need not exist."""
        return OpenSearchTable(self, self._client(), name, columns)

    def tables(self) -> list[str]:
        """Return the names of all indexes whose name begins with ``heta_``."""
        client = self._client()
        try:
            return sorted(row["index"] for row in client.cat.indices(format="json") if row["index"].startswith(PREFIX))
        finally:
            client.close()

    def _client(self) -> Any:
        login = (self.user, self.password) if self.user else None
        return require("opensearchpy", "opensearch").OpenSearch(hosts=[self.uri], http_auth=login, timeout=_SECONDS)


class OpenSearchTable:
    """One index; only ``text`` and ``vector`` can be searched."""

    def __init__(self, server: OpenSearch, client: Any, name: str, columns: Columns) -> None:
        self._server, self._client, self._name, self._columns = server, client, name, columns
        self._errors = require("opensearchpy.exceptions", "opensearch")

    def create(self) -> None:
        """Make the index, which must not exist."""
        bm25 = {"type": "BM25", "k1": self._server.k1, "b": self._server.b}
        fields: dict[str, Any] = {name: {"type": "long"} for name in StoredChunk._fields}
        fields["source_key"] = {"type": "keyword"}
        fields["text"] = {"type": "text", "index": False}
        if self._columns.language:
            fields["text"] = {"type": "text", "analyzer": self._columns.language}
        if self._columns.embedder:
            fields["vector"] = {"type": "knn_vector", "dimension": self._columns.dimension}
        settings = {"number_of_shards": self._server.shards, "similarity": {"default": bm25}}
        body = {"settings": {"index": settings}, "mappings": {"dynamic": "strict", "properties": fields}}
        self._client.indices.create(index=self._name, body=body)

    def insert(self, chunks: Sequence[StoredChunk], vectors: Matrix | None) -> None:
        """Append chunks; one without a vector lacks the field."""
        helpers = require("opensearchpy.helpers", "opensearch")
        actions = []
        for place, chunk in enumerate(chunks):
            source: dict[str, Any] = chunk._asdict()
            if vectors is not None and vectors[place].any():
                source["vector"] = vectors[place].tolist()
            actions.append({"_index": self._name, "_id": str(chunk.row), "_source": source})
        helpers.bulk(self._client, actions, max_retries=3)

    def finish(self) -> None:
        """Make all rows visible.

        Raises:
            BuildError: the server cannot search vectors.
        """
        self._client.indices.refresh(index=self._name)
        if self._columns.embedder:
            import numpy as np

            try:
                self.nearest(np.ones((1, self._columns.dimension), dtype=np.float32), 1)
            except self._errors.TransportError as error:
                raise BuildError(
                    f"OpenSearch at {self._server.location} cannot search vectors (is the k-NN plugin there?): {error}"
                ) from error

    def count(self) -> int | None:
        """Return the number of rows, or None where there is no such index."""
        try:
            return int(self._client.count(index=self._name)["count"])
        except self._errors.NotFoundError:
            return None

    def nearest(self, vectors: Matrix, k: int) -> list[Found]:
        """Return for each unit vector the ``k`` chunks of highest cosine similarity, by comparing it with all."""
        # Scores must not be negative, so the script adds 1.
        script = "1.0 + cosineSimilarity(params.query_value, doc[params.field])"
        return self._each(
            [
                {
                    "script_score": {
                        "query": {"exists": {"field": "vector"}},
                        "script": {"source": script, "params": {"field": "vector", "query_value": vector}},
                    }
                }
                for vector in vectors.tolist()
            ],
            k,
            lambda score: score - 1.0,
        )

    def matching(self, queries: Sequence[str], k: int) -> list[Found]:
        """Return for each query the ``k`` chunks of highest BM25."""
        return self._each([{"match": {"text": {"query": query}}} for query in queries], k, float)

    def drop(self) -> None:
        """Remove the index; one that does not exist is no error."""
        self._client.indices.delete(index=self._name, ignore_unavailable=True)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def is_transient(self, error: Exception) -> bool:
        """Tell whether the connection failed or the server is overloaded."""
        if isinstance(error, self._errors.ConnectionError):
            return True
        return isinstance(error, self._errors.TransportError) and error.status_code in _OVERLOADED

    def _each(self, queries: Sequence[dict[str, Any]], k: int, rescale: Callable[[float], float]) -> list[Found]:
        """Ask many queries in few requests."""
        found: list[Found] = []
        for first in range(0, len(queries), _QUERIES_AT_ONCE):
            lines: list[dict[str, Any]] = []
            for query in queries[first : first + _QUERIES_AT_ONCE]:
                lines += [{"search_type": "dfs_query_then_fetch"}, self._request(query, k)]
            for answer in self._client.msearch(index=self._name, body=lines)["responses"]:
                if "error" in answer:
                    raise self._errors.TransportError(answer["status"], str(answer["error"]), answer)
                found.append([(_chunk(hit), rescale(hit["_score"])) for hit in answer["hits"]["hits"]])
        return found

    def _request(self, query: dict[str, Any], k: int) -> dict[str, Any]:
        return {
            "size": k,
            "query": query,
            "sort": [{"_score": "desc"}, {"row": "asc"}],
            "track_scores": True,
            "track_total_hits": False,
            "_source": list(StoredChunk._fields),
        }


def _chunk(hit: dict[str, Any]) -> StoredChunk:
    return StoredChunk(**hit["_source"])
