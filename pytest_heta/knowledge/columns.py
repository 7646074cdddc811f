"""Columns of a table as files that are opened without being read."""

from __future__ import annotations

import mmap
from array import array
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray


def save_array(path: Path, values: ArrayLike, dtype: str) -> None:
    """Write one ``.npy`` file; nothing in it is pickled."""
    np.save(path, np.asarray(values, dtype=dtype), allow_pickle=False)


def open_array(path: Path) -> NDArray[Any]:
    """Map one ``.npy`` file into memory, read-only."""
    # A plain array over the map: numpy's memmap class makes each small slice several times slower.
    return np.asarray(np.load(path, mmap_mode="r", allow_pickle=False))


class TextColumnWriter:
    """Appends texts to ``{name}.bin``; ``finish`` writes where each begins and ends to ``{name}.npy``.

    No file stays open in between, so that a build that fails has nothing to close.
    """

    def __init__(self, directory: Path, name: str) -> None:
        self._blob, self._index = directory / f"{name}.bin", directory / f"{name}.npy"
        self._offsets = array("q", [0])
        self._blob.touch()

    def __len__(self) -> int:
        return len(self._offsets) - 1

    def extend(self, texts: Iterable[str]) -> None:
        """Append the texts, in order."""
        with self._blob.open("ab") as file:
            for text in texts:
                size = file.write(text.encode("utf-8", "surrogatepass"))
                self._offsets.append(self._offsets[-1] + size)

    def finish(self) -> None:
        """Complete the column."""
        save_array(self._index, self._offsets, "int64")


class TextColumn:
    """Random access to the texts that a TextColumnWriter wrote; opening reads none of them."""

    def __init__(self, directory: Path, name: str) -> None:
        self._offsets = open_array(directory / f"{name}.npy")
        with (directory / f"{name}.bin").open("rb") as file:
            # An empty file cannot be mapped.
            size = file.seek(0, 2)
            self._blob: mmap.mmap | bytes = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if size else b""

    def __len__(self) -> int:
        return len(self._offsets) - 1

    def take(self, indices: NDArray[np.int64]) -> list[str]:
        """Return the texts at these places, in this order."""
        starts, ends = self._offsets[indices].tolist(), self._offsets[indices + 1].tolist()
        return [self._blob[start:end].decode("utf-8", "surrogatepass") for start, end in zip(starts, ends, strict=True)]

    def close(self) -> None:
        """Release the file."""
        if isinstance(self._blob, mmap.mmap):
            self._blob.close()
