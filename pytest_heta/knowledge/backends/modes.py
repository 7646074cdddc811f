"""The query modes that only engines of their own have."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from pytest_heta.errors import RecipeError

if TYPE_CHECKING:
    from pytest_heta.knowledge.embedding import Embedder


@dataclass(frozen=True)
class FullText:
    """The engine's own full-text search for the words of a query, any of which may match.

    ``language``, an English name in lower case, chooses stemmer and stop words, as far as the engine has it.
    """

    language: str = "english"

    def declaration(self) -> dict[str, Any]:
        """Return the configuration, as JSON."""
        return {"engine": "full text", **asdict(self)}

    def fingerprint(self) -> str:
        """Return nothing: the engine's client has the version."""
        return ""


@dataclass(frozen=True)
class Hnsw:
    """Approximate vector search by cosine similarity in a graph (HNSW: Malkov and Yashunin, 2018, arXiv:1603.09320).

    ``m`` is the number of links of a node, ``ef_construction`` and ``ef_search`` how many candidates are held when a
    node is linked and when a query is answered. The build measures the index against exact search: the knowledge
    base's manifest has the ``recall@10`` under ``approximate``.
    """

    embedder: Embedder
    m: int = 16
    ef_construction: int = 100
    ef_search: int = 100

    def __post_init__(self) -> None:
        if min(self.m, self.ef_construction, self.ef_search) < 2:
            raise RecipeError("Hnsw needs m, ef_construction and ef_search of 2 or more")

    def declaration(self) -> dict[str, Any]:
        """Return the configuration, as JSON."""
        graph = {name: getattr(self, name) for name in ("m", "ef_construction", "ef_search")}
        return {"engine": "HNSW vectors", "embedder": self.embedder.declaration(), **graph}

    def fingerprint(self) -> str:
        """Return the embedder's fingerprint."""
        return self.embedder.fingerprint()
