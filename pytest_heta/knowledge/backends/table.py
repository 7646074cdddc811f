"""What an engine must offer: a table of chunks that any process can open by its name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol
from urllib.parse import urlsplit, urlunsplit

from pytest_heta.knowledge.backends.modes import Hnsw

if TYPE_CHECKING:
    from pytest_heta.knowledge.embedding import Embedder
    from pytest_heta.knowledge.vector import Matrix


class StoredChunk(NamedTuple):
    """A row: ``row`` numbers the chunks of a table from 0; the rest says what it is and where it comes from."""

    row: int
    source_key: str
    chunk_index: int
    page_index: int
    char_start: int
    char_end: int
    text: str


Found = list[tuple[StoredChunk, float]]
"""What one query found, as chunks and scores, the best first."""


@dataclass(frozen=True)
class Columns:
    """What a table can be searched by: vectors of ``embedder``, exactly unless ``hnsw``; words in ``language``."""

    embedder: Embedder | None = None
    hnsw: Hnsw | None = None
    language: str | None = None

    @property
    def dimension(self) -> int:
        """The length of a vector; 0 where there are none."""
        return 0 if self.embedder is None else self.embedder.dimension


class Table(Protocol):
    """One table (index, collection) of one knowledge base. It may be used from several threads at once."""

    def create(self) -> None:
        """Make the table, which must not exist."""
        ...

    def insert(self, chunks: Sequence[StoredChunk], vectors: Matrix | None) -> None:
        """Append chunks with their unit vectors (n, dimension); a vector of zeros must never be found."""
        ...

    def finish(self) -> None:
        """Build the indexes and make all rows visible to whoever opens the table."""
        ...

    def count(self) -> int | None:
        """Return the number of rows, or None where there is no such table."""
        ...

    def nearest(self, vectors: Matrix, k: int) -> list[Found]:
        """Return for each unit vector the ``k`` chunks of highest cosine similarity, which is the score."""
        ...

    def matching(self, queries: Sequence[str], k: int) -> list[Found]:
        """Return for each query the ``k`` best chunks that share a word with it."""
        ...

    def drop(self) -> None:
        """Remove the table; one that does not exist is no error."""
        ...

    def close(self) -> None:
        """Release the connection. Doing so again does nothing."""
        ...

    def is_transient(self, error: Exception) -> bool:
        """Tell whether the error comes from the connection or an overloaded server, so that trying again may help."""
        ...


class Server(Protocol):
    """An engine at an address, as a recipe declares it. Making one neither loads a library nor connects."""

    @property
    def kind(self) -> str:
        """The name of the engine, for messages."""
        ...

    @property
    def location(self) -> str:
        """The address, without secrets."""
        ...

    def declaration(self) -> dict[str, Any]:
        """Return everything but the address that changes what is built or found, as JSON."""
        ...

    def fingerprint(self) -> str:
        """Return the versions of the client libraries."""
        ...

    def check(self, columns: Columns) -> None:
        """Raise RecipeError where the engine cannot search so."""
        ...

    def table(self, name: str, columns: Columns) -> Table:
        """Connect to a table, which need not exist. Raises RecipeError where the client is not installed."""
        ...

    def tables(self) -> list[str]:
        """Return the names of all tables whose name begins with ``heta_``."""
        ...


PREFIX = "heta_"
"""How the name of every table begins that a recipe makes."""


def without_secrets(uri: str) -> str:
    """Return an address without user, password, query and fragment."""
    parts = urlsplit(uri)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))
