"""WordLlama: token vectors without context, averaged. The weights come with the package (MIT), and it is fast."""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_heta.knowledge.extras import installed_version, require

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_CONFIG, _DIMENSION = "l2_supercat", 256
# Texts of like length share a batch; the batch's token vectors are all in memory at once (1 kB a token).
_BATCH = 32


@dataclass(frozen=True)
class WordLlamaEmbedder:
    """The 256-dimensional ``l2_supercat`` model, as it lies in the wordllama wheel; nothing is downloaded."""

    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False, compare=False)
    _loaded: list[Any] = field(default_factory=list, repr=False, compare=False)

    @property
    def name(self) -> str:
        """The model's name."""
        return f"wordllama/{_CONFIG}_{_DIMENSION}"

    @property
    def dimension(self) -> int:
        """The length of a vector."""
        return _DIMENSION

    def warm(self) -> None:
        """Load the model, which else the first text does."""
        self._model()

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the vectors, shape (len(texts), 256), of length 1, or 0 for a text without tokens.

        Raises:
            RecipeError: wordllama is not installed.
        """
        import numpy as np

        from pytest_heta.knowledge.vector import normalised

        model = self._model()
        vectors = np.empty((len(texts), _DIMENSION), dtype=np.float32)
        order = sorted(range(len(texts)), key=lambda index: len(texts[index]))
        if order:
            vectors[order] = model.embed([texts[index] for index in order], norm=False, batch_size=_BATCH)
        return normalised(vectors)

    def embed_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the vectors of queries, which this model treats as any text."""
        return self.embed(texts)

    def declaration(self) -> dict[str, Any]:
        """Return the configuration, as JSON, without loading anything."""
        return {"model": self.name}

    def fingerprint(self) -> str:
        """Return the versions that decide on the vectors; the weights are part of wordllama's."""
        return f"wordllama {installed_version('wordllama')}, tokenizers {installed_version('tokenizers')}"

    def _model(self) -> Any:
        with self._lock:
            if not self._loaded:
                self._loaded.append(_load())
            return self._loaded[0]


def _load() -> Any:
    # Importing it calls logging.basicConfig, which leaves a root logger alone that has a handler.
    guard = logging.NullHandler()
    logging.getLogger().addHandler(guard)
    try:
        wordllama = require("wordllama", "vector")
    finally:
        logging.getLogger().removeHandler(guard)
    # Without cache_dir it looks for its own tokenizer in a folder that the wheel does not have, then asks the network.
    return wordllama.WordLlama.load(cache_dir=Path(wordllama.__file__).parent, disable_download=True)
