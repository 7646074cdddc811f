"""LanceDB: tables as files in a folder or in an object store, without a server."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_heta.knowledge.backends.table import PREFIX, Columns, Found, StoredChunk, Table, without_secrets
from pytest_heta.knowledge.extras import installed_version, require

if TYPE_CHECKING:
    from pytest_heta.knowledge.vector import Matrix

_COLUMNS = list(StoredChunk._fields)


@dataclass(frozen=True)
class LanceDb:
    """A folder, or ``s3://bucket/path`` with the credentials in ``AWS_…`` variables or ``storage_options``.

    Full-text search is LanceDB's BM25. ``storage_options`` are those of ``lancedb.connect``.
    """

    uri: str
    storage_options: Mapping[str, str] = field(default_factory=dict, repr=False)
    kind = "LanceDB"

    @property
    def location(self) -> str:
        """The folder, absolute, or the address without secrets."""
        return without_secrets(self.uri) if "://" in self.uri else str(Path(self.uri).absolute())

    def declaration(self) -> dict[str, Any]:
        """Return nothing: all is in the modes."""
        return {}

    def fingerprint(self) -> str:
        """Return the version of the library, which is also the engine."""
        return f"lancedb {installed_version('lancedb')}"

    def check(self, columns: Columns) -> None:
        """Accept everything."""

    def table(self, name: str, columns: Columns) -> Table:
        """Open the database; the table need not exist."""
        return LanceTable(self._database(), name, columns)

    def tables(self) -> list[str]:
        """Return the names of all tables whose name begins with ``heta_``."""
        database, names, page = self._database(), [], None
        while True:
            found = database.list_tables(page_token=page)
            names += [name for name in found.tables if name.startswith(PREFIX)]
            page = found.page_token
            if not page:
                return sorted(names)

    def _database(self) -> Any:
        return require("lancedb", "lancedb").connect(self.uri, storage_options=dict(self.storage_options) or None)


class LanceTable:
    """One table. Chunks without a vector have zeros, which have no cosine and are therefore not found."""

    def __init__(self, database: Any, name: str, columns: Columns) -> None:
        self._database, self._name, self._columns = database, name, columns
        self._opened: Any = None

    def create(self) -> None:
        """Make the table, which must not exist."""
        pa = require("pyarrow", "lancedb")
        fields = [pa.field(name, pa.int64()) for name in _COLUMNS]
        for name in ("source_key", "text"):
            fields[_COLUMNS.index(name)] = pa.field(name, pa.string())
        if self._columns.embedder:
            fields.append(pa.field("vector", pa.list_(pa.float32(), self._columns.dimension)))
        self._opened = self._database.create_table(self._name, schema=pa.schema(fields))

    def insert(self, chunks: Sequence[StoredChunk], vectors: Matrix | None) -> None:
        """Append chunks."""
        pa = require("pyarrow", "lancedb")
        columns = [pa.array(values) for values in zip(*chunks, strict=True)]
        names = list(_COLUMNS)
        if vectors is not None:
            columns.append(pa.FixedSizeListArray.from_arrays(pa.array(vectors.reshape(-1)), vectors.shape[1]))
            names.append("vector")
        self._opened.add(pa.table(columns, names=names))

    def finish(self) -> None:
        """Join the fragments of the inserts and build the indexes."""
        index = require("lancedb.index", "lancedb")
        self._opened.optimize()
        if language := self._columns.language:
            self._opened.create_index("text", config=index.FTS(language=language.capitalize(), with_position=False))
        if graph := self._columns.hnsw:
            config = index.HnswSq("cosine", num_partitions=1, m=graph.m, ef_construction=graph.ef_construction)
            self._opened.create_index("vector", config=config)

    def count(self) -> int | None:
        """Return the number of rows, or None where there is no such table."""
        try:
            return int(self._table().count_rows())
        except ValueError as error:
            if "not found" in str(error):
                return None
            raise

    def nearest(self, vectors: Matrix, k: int) -> list[Found]:
        """Return for each unit vector the ``k`` nearest chunks, in one call for all."""
        search = self._table().search(list(vectors)).distance_type("cosine").select([*_COLUMNS, "_distance"]).limit(k)
        if graph := self._columns.hnsw:
            # The index holds rounded vectors; refining computes the distances of what it found from the true ones.
            search = search.ef(max(k, graph.ef_search)).refine_factor(1)
        rows = search.to_arrow().to_pylist()
        found: list[Found] = [[] for _ in vectors]
        for row in rows:
            found[row.get("query_index", 0)].append((_chunk(row), 1 - row["_distance"]))
        return found

    def matching(self, queries: Sequence[str], k: int) -> list[Found]:
        """Return for each query the ``k`` chunks of highest BM25."""
        match = require("lancedb.query", "lancedb").MatchQuery
        found: list[Found] = []
        for query in queries:
            search = self._table().search(match(query, "text"), query_type="fts").select([*_COLUMNS, "_score"])
            found.append([(_chunk(row), row["_score"]) for row in search.limit(k).to_arrow().to_pylist()])
        return found

    def drop(self) -> None:
        """Remove the table; one that does not exist is no error."""
        self._database.drop_table(self._name, ignore_missing=True)

    def close(self) -> None:
        """Let go of the table; there is no connection."""
        self._opened = None

    def is_transient(self, error: Exception) -> bool:
        """Tell whether the object store is to blame."""
        return isinstance(error, OSError)

    def _table(self) -> Any:
        if self._opened is None:
            self._opened = self._database.open_table(self._name)
        return self._opened


def _chunk(row: Mapping[str, Any]) -> StoredChunk:
    return StoredChunk(**{name: row[name] for name in _COLUMNS})
