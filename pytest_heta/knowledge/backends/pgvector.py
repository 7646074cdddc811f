"""PostgreSQL with pgvector: vectors and the database's own full-text search."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pytest_heta.knowledge.backends.table import PREFIX, Columns, Found, StoredChunk, Table
from pytest_heta.knowledge.extras import installed_version, require

if TYPE_CHECKING:
    from pytest_heta.knowledge.vector import Matrix

_COLUMNS = "row, source_key, chunk_index, page_index, char_start, char_end, text"
_CONNECTIONS = 8
_CONNECT_SECONDS = 30.0
_LARGEST_EF_SEARCH = 1000


@dataclass(frozen=True)
class PgVector:
    """A database as libpq writes it: ``postgresql://user@host:5432/name``; a password can come from ``PGPASSWORD``.

    The scores of full-text search are ``ts_rank``'s, divided by one plus the logarithm of the chunk's length: it counts
    the words that a chunk shares with the query, but knows nothing of how rare they are, as BM25 does.
    """

    uri: str
    kind = "PostgreSQL"

    @property
    def location(self) -> str:
        """Host, port and database."""
        given = require("psycopg", "pgvector").conninfo.conninfo_to_dict(self.uri)
        return f"{given.get('host', 'localhost')}:{given.get('port', 5432)}/{given.get('dbname', '')}"

    def declaration(self) -> dict[str, Any]:
        """Return nothing: all is in the modes."""
        return {}

    def fingerprint(self) -> str:
        """Return the versions of the client libraries."""
        return f"psycopg {installed_version('psycopg')}, pgvector {installed_version('pgvector')}"

    def check(self, columns: Columns) -> None:
        """Accept everything."""

    def table(self, name: str, columns: Columns) -> Table:
        """Connect to a table, which need not exist."""
        return PgTable(self.uri, name, columns)

    def tables(self) -> list[str]:
        """Return the names of all tables whose name begins with ``heta_``."""
        psycopg = require("psycopg", "pgvector")
        with psycopg.connect(self.uri) as connection:
            found = connection.execute(
                "SELECT tablename FROM pg_tables WHERE schemaname = current_schema AND starts_with(tablename, %s)",
                (PREFIX,),
            )
            return sorted(name for (name,) in found)


class PgTable:
    """One table; ``vector`` is NULL where a chunk has none, ``words`` is made by the database."""

    def __init__(self, uri: str, name: str, columns: Columns) -> None:
        self._psycopg, self._pgvector = require("psycopg", "pgvector"), require("pgvector", "pgvector")
        self._name, self._columns = name, columns
        # IF NOT EXISTS does not keep two connections from making it at once.
        with suppress(self._psycopg.errors.UniqueViolation), self._psycopg.connect(uri) as connection:
            connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
        pools = require("psycopg_pool", "pgvector")
        self._pool = pools.ConnectionPool(
            uri, min_size=1, max_size=_CONNECTIONS, timeout=_CONNECT_SECONDS, configure=self._configure, open=True
        )

    def create(self) -> None:
        """Make the table, which must not exist."""
        with self._pool.connection() as connection:
            connection.execute(
                f"CREATE TABLE {self._name} (row bigint PRIMARY KEY, source_key text NOT NULL, "
                "chunk_index int NOT NULL, page_index int NOT NULL, char_start int NOT NULL, char_end int NOT NULL, "
                "text text NOT NULL)"
            )
            if self._columns.embedder:
                connection.execute(f"ALTER TABLE {self._name} ADD vector vector({self._columns.dimension})")
                # Kept in the row as long as it fits: an exact search reads every vector.
                connection.execute(f"ALTER TABLE {self._name} ALTER vector SET STORAGE MAIN")
            if language := self._columns.language:
                words = f"to_tsvector({self._literal(language)}::regconfig, text)"
                connection.execute(f"ALTER TABLE {self._name} ADD words tsvector GENERATED ALWAYS AS ({words}) STORED")

    def insert(self, chunks: Sequence[StoredChunk], vectors: Matrix | None) -> None:
        """Append chunks. PostgreSQL has no NUL in a text: the replacement character stands for it."""
        names, types = _COLUMNS, ["int8", "text", "int4", "int4", "int4", "int4", "text"]
        if vectors is not None:
            names, types = f"{names}, vector", [*types, "vector"]
        statement = f"COPY {self._name} ({names}) FROM STDIN WITH (FORMAT BINARY)"
        with self._pool.connection() as connection, connection.cursor().copy(statement) as copy:
            copy.set_types(types)
            for place, chunk in enumerate(chunks):
                row = chunk._replace(text=chunk.text.replace("\0", "\N{REPLACEMENT CHARACTER}"))
                vector = () if vectors is None else (vectors[place] if vectors[place].any() else None,)
                copy.write_row((*row, *vector))

    def finish(self) -> None:
        """Build the indexes."""
        with self._pool.connection() as connection:
            if self._columns.language:
                connection.execute(f"CREATE INDEX ON {self._name} USING gin (words)")
            if graph := self._columns.hnsw:
                connection.execute(
                    f"CREATE INDEX ON {self._name} USING hnsw (vector vector_ip_ops) "
                    f"WITH (m = {graph.m:d}, ef_construction = {graph.ef_construction:d})"
                )
            connection.execute(f"ANALYZE {self._name}")

    def count(self) -> int | None:
        """Return the number of rows, or None where there is no such table."""
        try:
            with self._pool.connection() as connection:
                return int(connection.execute(f"SELECT count(*) FROM {self._name}").fetchone()[0])
        except self._psycopg.errors.UndefinedTable:
            return None

    def nearest(self, vectors: Matrix, k: int) -> list[Found]:
        """Return for each unit vector the ``k`` nearest chunks, in one statement for all."""
        # With a second key in ORDER BY an HNSW index is not used; without one, equal scores come in any order.
        order = "vector <#> query" if self._columns.hnsw else "vector <#> query, row"
        return self._per_query(
            "unnest(%(queries)s::vector[]) WITH ORDINALITY",
            f"SELECT {_COLUMNS}, -(vector <#> query) AS score FROM {self._name} "
            f"WHERE vector IS NOT NULL ORDER BY {order}",
            [self._pgvector.Vector(vector) for vector in vectors],
            k,
        )

    def matching(self, queries: Sequence[str], k: int) -> list[Found]:
        """Return for each query the ``k`` chunks of highest ``ts_rank``, in one statement for all."""
        # plainto_tsquery joins the words by AND; quoted words cannot hold the separator.
        any_word = f"replace(plainto_tsquery({self._literal(str(self._columns.language))}, text)::text, ' & ', ' | ')"
        return self._per_query(
            f"(SELECT {any_word}::tsquery, number FROM unnest(%(queries)s::text[]) WITH ORDINALITY t (text, number))",
            f"SELECT {_COLUMNS}, ts_rank(words, query, 1) AS score FROM {self._name} "
            "WHERE words @@ query ORDER BY score DESC, row",
            [query.replace("\0", " ") for query in queries],
            k,
        )

    def drop(self) -> None:
        """Remove the table; one that does not exist is no error."""
        with self._pool.connection() as connection:
            connection.execute(f"DROP TABLE IF EXISTS {self._name}")

    def close(self) -> None:
        """Close all connections."""
        self._pool.close()

    def is_transient(self, error: Exception) -> bool:
        """Tell whether the connection or the server's state is to blame."""
        pool_timeout = require("psycopg_pool", "pgvector").PoolTimeout
        return isinstance(error, (self._psycopg.OperationalError, self._psycopg.InterfaceError, pool_timeout))

    def _per_query(self, queries: str, search: str, values: list[Any], k: int) -> list[Found]:
        """Run ``search`` for each ``(query, number)`` of the table expression ``queries``, in one statement."""
        rows = self._fetch(
            f"SELECT number, hit.* FROM {queries} q (query, number) CROSS JOIN LATERAL ({search} LIMIT %(k)s) hit",
            {"queries": values, "k": k},
        )
        found: list[Found] = [[] for _ in values]
        for number, *columns, score in rows:
            found[number - 1].append((StoredChunk(*columns), float(score)))
        return found

    def _fetch(self, statement: str, values: dict[str, Any]) -> list[tuple[Any, ...]]:
        with self._pool.connection() as connection:
            if graph := self._columns.hnsw:
                # The first scan finds ef_search rows at most, and ef_search has a limit; iterating finds the rest.
                candidates = min(max(graph.ef_search, values["k"]), _LARGEST_EF_SEARCH)
                connection.execute(f"SET LOCAL hnsw.ef_search = {candidates:d}")
                connection.execute("SET LOCAL hnsw.iterative_scan = strict_order")
            rows: list[tuple[Any, ...]] = connection.execute(statement, values).fetchall()
            return rows

    def _configure(self, connection: Any) -> None:
        require("pgvector.psycopg", "pgvector").register_vector(connection)
        connection.commit()

    def _literal(self, text: str) -> str:
        literal: str = self._psycopg.sql.Literal(text).as_string()
        return literal
