"""What a recipe can say about its query modes: declarations only; the engines are loaded when they are used."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, get_args, runtime_checkable

from pytest_heta.errors import RecipeError
from pytest_heta.knowledge.extras import installed_version

if TYPE_CHECKING:
    from pytest_heta.knowledge.embedding import Embedder
    from pytest_heta.knowledge.ranking import Ranking

_Method = Literal["lucene", "robertson", "atire", "bm25l", "bm25+"]


class IndexBuilder(Protocol):
    """Writes the index of one mode."""

    def add(self, texts: Sequence[str]) -> None:
        """Append the texts of chunks, in the order of the chunk table."""
        ...

    def finish(self) -> None:
        """Complete the files."""
        ...


class SearchIndex(Protocol):
    """Answers the queries of one mode."""

    def search(self, queries: Sequence[str], k: int) -> Sequence[Ranking]:
        """Return at most ``k`` chunks for each query, best first."""
        ...


@runtime_checkable
class IndexMode(Protocol):
    """A mode with an index of its own, kept in a folder."""

    def builder(self, directory: Path) -> IndexBuilder:
        """Begin an index in an empty folder."""
        ...

    def open(self, directory: Path) -> SearchIndex:
        """Open what the builder wrote."""
        ...

    def declaration(self) -> dict[str, Any]:
        """Return the configuration, as JSON."""
        ...

    def fingerprint(self) -> str:
        """Return what else changes the results: versions, the content of models."""
        ...


@dataclass(frozen=True)
class Bm25:
    """Full-text search with BM25.

    ``k1``, ``b`` and ``delta`` (BM25L and BM25+ only) are the formula's; ``method`` is its variant. ``stemmer`` is a
    Snowball language, ``stopwords`` a language of bm25s or a list of words; None switches either off.
    """

    k1: float = 1.5
    b: float = 0.75
    method: _Method = "lucene"
    delta: float = 0.5
    stemmer: str | None = "english"
    stopwords: str | tuple[str, ...] | None = "english"

    def __post_init__(self) -> None:
        if self.method not in (known := get_args(_Method)):
            raise RecipeError(f"no BM25 method {self.method!r} (known: {', '.join(known)})")
        if self.k1 < 0 or self.delta < 0 or not 0 <= self.b <= 1:
            raise RecipeError(f"BM25 needs k1 >= 0, delta >= 0 and 0 <= b <= 1, not {self.k1}, {self.delta}, {self.b}")

    def builder(self, directory: Path) -> IndexBuilder:
        """Begin an index in an empty folder."""
        from pytest_heta.knowledge.lexical import Bm25Builder

        return Bm25Builder(self, directory)

    def open(self, directory: Path) -> SearchIndex:
        """Open what the builder wrote."""
        from pytest_heta.knowledge.lexical import Bm25Index

        return Bm25Index(self, directory)

    def declaration(self) -> dict[str, Any]:
        """Return the configuration, as JSON."""
        return {"engine": "bm25", **asdict(self)}

    def fingerprint(self) -> str:
        """Return the versions of the libraries."""
        return ", ".join(f"{name} {installed_version(name)}" for name in ("bm25s", "PyStemmer"))


@dataclass(frozen=True)
class Vectors:
    """Exact vector search by cosine similarity over what ``embedder`` makes of the chunks."""

    embedder: Embedder

    def builder(self, directory: Path) -> IndexBuilder:
        """Begin an index in an empty folder."""
        from pytest_heta.knowledge.vector import VectorBuilder

        return VectorBuilder(self.embedder, directory)

    def open(self, directory: Path) -> SearchIndex:
        """Open what the builder wrote."""
        from pytest_heta.knowledge.vector import VectorIndex

        index = VectorIndex(self.embedder, directory)
        warm = getattr(self.embedder, "warm", None)
        if warm is not None:
            warm()  # so that loading the model is no part of the first query's latency
        return index

    def declaration(self) -> dict[str, Any]:
        """Return the configuration, as JSON."""
        return {"engine": "exact vectors", "embedder": self.embedder.declaration()}

    def fingerprint(self) -> str:
        """Return the embedder's fingerprint."""
        return self.embedder.fingerprint()


class Fusion:
    """Reciprocal-rank fusion of other modes of the same recipe.

    Each mode gives its ``depth`` best chunks (more where more results are asked for), and a chunk at rank r gets
    ``weight / (k + r)`` from it. A smaller ``k`` lets the first ranks count for more.
    """

    def __init__(
        self, *modes: str, k: float = 60, weights: Mapping[str, float] | None = None, depth: int = 100
    ) -> None:
        """Fuse the named modes, with weight 1 but where ``weights`` says otherwise.

        Raises:
            RecipeError: fewer than two modes, a weight for another mode, a number that is not positive.
        """
        given = dict(weights or {})
        if len(set(modes)) < 2 or len(set(modes)) != len(modes):
            raise RecipeError(f"Fusion needs two or more different modes, not {', '.join(modes) or 'none'}")
        if unknown := set(given) - set(modes):
            raise RecipeError(f"Fusion has weights for modes that it does not fuse: {', '.join(sorted(unknown))}")
        if min([k, depth, *given.values()]) <= 0:
            raise RecipeError("Fusion needs k, depth and weights above 0")
        self.modes, self.k, self.depth = modes, k, depth
        self.weights = tuple(given.get(mode, 1.0) for mode in modes)

    def declaration(self) -> dict[str, Any]:
        """Return the configuration, as JSON."""
        return {
            "engine": "reciprocal-rank fusion",
            "weights": dict(zip(self.modes, self.weights, strict=True)),
            "k": self.k,
            "depth": self.depth,
        }

    def fingerprint(self) -> str:
        """Return nothing: fusion has no library or model of its own."""
        return ""
