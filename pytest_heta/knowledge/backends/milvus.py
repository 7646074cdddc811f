"""Milvus: one file or folder (milvus-lite), a server or a cluster, by one address."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_heta.errors import BuildError, RecipeError
from pytest_heta.knowledge.backends.table import PREFIX, Columns, Found, StoredChunk, Table, without_secrets
from pytest_heta.knowledge.extras import installed_version, require

if TYPE_CHECKING:
    from pytest_heta.knowledge.vector import Matrix

_COLUMNS = list(StoredChunk._fields)
_LONGEST_TEXT = 65_535
# Codes of MilvusException that are raised before anything happened: not ready, no connection, over the limit.
_TRANSIENT_CODES = {1, 2, 8}


@dataclass(frozen=True)
class Milvus:
    """``path/to/file.db`` (needs milvus-lite), ``http://host:19530`` or the address of a cluster.

    ``token`` is the ``user:password`` or API key of a server. Exact search is a FLAT index.
    """

    uri: str
    token: str = field(default="", repr=False)
    kind = "Milvus"

    @property
    def location(self) -> str:
        """The file, absolute, or the address without secrets."""
        return without_secrets(self.uri) if "://" in self.uri else str(Path(self.uri).absolute())

    def declaration(self) -> dict[str, Any]:
        """Return nothing: all is in the modes."""
        return {}

    def fingerprint(self) -> str:
        """Return the versions of the client and of the embedded engine."""
        return f"pymilvus {installed_version('pymilvus')}, milvus-lite {installed_version('milvus-lite')}"

    def check(self, columns: Columns) -> None:
        """Refuse full-text search: milvus-lite has no stemming, and its BM25 scores are not those of a cluster."""
        if columns.language is not None:
            raise RecipeError("Milvus is used for vectors only: take FullText from another engine")

    def table(self, name: str, columns: Columns) -> Table:
        """Connect to a collection, which need not exist."""
        return MilvusTable(self._client(), name, columns)

    def tables(self) -> list[str]:
        """Return the names of all collections whose name begins with ``heta_``."""
        client = self._client()
        try:
            return sorted(name for name in client.list_collections() if name.startswith(PREFIX))
        finally:
            client.close()

    def _client(self) -> Any:
        # The client asks every 10 s whether an idle connection lives; a gRPC server that allows 5 minutes hangs up.
        options = {"grpc.keepalive_time_ms": 300_000}
        connect = require("pymilvus", "milvus").MilvusClient
        try:
            return connect(self.uri, token=self.token, grpc_options=options)
        except Exception as error:
            if "Open local milvus failed" not in str(error):  # all that is told where the file is locked
                raise
            raise BuildError(
                f"{self.kind} at {self.location} cannot be opened: milvus-lite lets one process open a file; while "
                "another one has it, or with -n, name a server (milvus-lite server …)"
            ) from error


class MilvusTable:
    """One collection; ``embedded`` is false where a chunk has no vector, as Milvus has no NULL for one."""

    def __init__(self, client: Any, name: str, columns: Columns) -> None:
        self._client, self._name, self._columns = client, name, columns

    def create(self) -> None:
        """Make the collection."""
        types = require("pymilvus", "milvus").DataType
        schema = self._client.create_schema(auto_id=False, enable_dynamic_field=False)
        for name in _COLUMNS:
            if name in ("source_key", "text"):
                schema.add_field(name, types.VARCHAR, max_length=_LONGEST_TEXT)
            else:
                schema.add_field(name, types.INT64, is_primary=name == "row")
        schema.add_field("embedded", types.BOOL)
        schema.add_field("vector", types.FLOAT_VECTOR, dim=self._columns.dimension)
        self._client.create_collection(self._name, schema=schema, consistency_level="Strong")

    def insert(self, chunks: Sequence[StoredChunk], vectors: Matrix | None) -> None:
        """Append chunks.

        Raises:
            BuildError: one is longer than the 65535 bytes that Milvus takes.
        """
        assert vectors is not None
        for chunk in chunks:
            if len(chunk.text.encode()) > _LONGEST_TEXT:
                raise BuildError(
                    f"{chunk.source_key}: chunk {chunk.chunk_index} has more than the {_LONGEST_TEXT} bytes that "
                    "Milvus takes: make the chunks smaller"
                )
        self._client.insert(
            self._name,
            [
                {**chunk._asdict(), "vector": vector, "embedded": bool(vector.any())}
                for chunk, vector in zip(chunks, vectors, strict=True)
            ],
        )

    def finish(self) -> None:
        """Seal the rows, build the index and load both."""
        self._client.flush(self._name)
        index = self._client.prepare_index_params()
        index.add_index("vector", metric_type="COSINE", **self._index())
        self._client.create_index(self._name, index)
        self._client.load_collection(self._name)

    def count(self) -> int | None:
        """Return the number of rows, or None where there is no such collection."""
        if not self._client.has_collection(self._name):
            return None
        self._client.load_collection(self._name)
        return int(self._client.query(self._name, output_fields=["count(*)"])[0]["count(*)"])

    def nearest(self, vectors: Matrix, k: int) -> list[Found]:
        """Return for each unit vector the ``k`` nearest chunks, in one call for all."""
        graph = self._columns.hnsw
        answers = self._client.search(
            self._name,
            data=list(vectors),
            anns_field="vector",
            filter="embedded == true",
            limit=k,
            output_fields=_COLUMNS,
            search_params={"metric_type": "COSINE", "params": {"ef": max(k, graph.ef_search)} if graph else {}},
        )
        return [[(_chunk(hit), float(hit["distance"])) for hit in answer] for answer in answers]

    def matching(self, queries: Sequence[str], k: int) -> list[Found]:
        """Refuse: ``Milvus.check`` has done so before."""
        raise NotImplementedError("full-text search in Milvus")

    def drop(self) -> None:
        """Remove the collection; one that does not exist is no error."""
        self._client.drop_collection(self._name)

    def close(self) -> None:
        """Close the connection."""
        self._client.close()

    def is_transient(self, error: Exception) -> bool:
        """Tell whether the connection or the server's state is to blame."""
        return getattr(error, "code", None) in _TRANSIENT_CODES

    def _index(self) -> dict[str, Any]:
        graph = self._columns.hnsw
        if graph is None:
            return {"index_type": "FLAT"}
        return {"index_type": "HNSW", "params": {"M": graph.m, "efConstruction": graph.ef_construction}}


def _chunk(hit: Any) -> StoredChunk:
    return StoredChunk(**{name: hit["entity"][name] for name in _COLUMNS})
