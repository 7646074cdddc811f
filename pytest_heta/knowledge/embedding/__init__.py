"""Texts to vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Embedder(Protocol):
    """Turns texts into vectors whose cosine says how near in meaning they are.

    Making one is cheap: what it needs is loaded at the first use. It may be used from several threads at once.
    """

    @property
    def name(self) -> str:
        """The model's name."""
        ...

    @property
    def dimension(self) -> int:
        """The length of a vector."""
        ...

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the vectors of documents, shape (len(texts), dimension): of length 1, or 0 where there is no text."""
        ...

    def embed_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the vectors of queries in the same form; some models mark queries with a prefix."""
        ...

    def declaration(self) -> dict[str, Any]:
        """Return the configuration, as JSON, without loading anything."""
        ...

    def fingerprint(self) -> str:
        """Return what else changes the vectors: the model's version or content, and the libraries' versions."""
        ...
