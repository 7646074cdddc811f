"""The chunk table: every chunk's text and where it comes from, in files that are mapped, not read."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from itertools import starmap
from pathlib import Path
from typing import Any

import numpy as np

from pytest_heta.keys import document_id_of_key
from pytest_heta.knowledge.chunking import Chunk
from pytest_heta.knowledge.columns import TextColumn, TextColumnWriter, open_array, save_array
from pytest_heta.knowledge.ranking import Ranking
from pytest_heta.records import QueryResult


class ChunkTableWriter:
    """Appends documents with their chunks; ``finish`` completes the files. Chunks are numbered in this order: rows."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._texts = TextColumnWriter(directory, "texts")
        self._keys = TextColumnWriter(directory, "keys")
        self._first_rows = array("q", [0])
        self._places = array("q")

    @property
    def document_count(self) -> int:
        """How many documents were added."""
        return len(self._keys)

    @property
    def chunk_count(self) -> int:
        """How many chunks were added."""
        return len(self._texts)

    def add(self, documents: Sequence[tuple[str, Sequence[Chunk]]]) -> None:
        """Append documents, as source key and chunks; a document may have none."""
        self._keys.extend(key for key, _ in documents)
        self._texts.extend(chunk.text for _, chunks in documents for chunk in chunks)
        for _, chunks in documents:
            self._first_rows.append(self._first_rows[-1] + len(chunks))
            for chunk in chunks:
                self._places.extend((chunk.page_index, chunk.char_start, chunk.char_end))

    def finish(self) -> None:
        """Complete all files."""
        self._texts.finish()
        self._keys.finish()
        save_array(self._directory / "first_rows.npy", self._first_rows, "int64")
        save_array(self._directory / "places.npy", np.asarray(self._places, dtype=np.int64).reshape(-1, 3), "int64")


class ChunkTable:
    """Reads what a ChunkTableWriter wrote.

    Files: ``texts`` and ``keys`` (``.bin``: UTF-8, ``.npy``: int64 offsets), ``first_rows.npy`` (documents + 1: where
    each document's chunks begin), ``places.npy`` (chunks x 3: page_index, char_start, char_end).
    """

    def __init__(self, directory: Path) -> None:
        self._texts = TextColumn(directory, "texts")
        self._keys = TextColumn(directory, "keys")
        self._first_rows = open_array(directory / "first_rows.npy")
        self._places = open_array(directory / "places.npy")

    @property
    def document_count(self) -> int:
        """How many documents there are, those without chunks counted too."""
        return len(self._keys)

    @property
    def chunk_count(self) -> int:
        """How many chunks there are."""
        return len(self._texts)

    def hits(self, ranking: Ranking) -> tuple[QueryResult, ...]:
        """Return the chunks of a ranking as results, in its order."""
        rows = ranking.rows
        documents = np.searchsorted(self._first_rows, rows, side="right") - 1
        columns = zip(
            self._keys.take(documents),
            (rows - self._first_rows[documents]).tolist(),
            self._places[rows].tolist(),
            self._texts.take(rows),
            ranking.scores.tolist(),
            strict=True,
        )
        return tuple(starmap(hit, columns))

    def close(self) -> None:
        """Release the files."""
        self._texts.close()
        self._keys.close()


def hit(key: str, number: int, place: Sequence[int], text: str, score: float) -> QueryResult:
    """Return a chunk as a result: its source key, its number in the document, its page and characters, its text."""
    source: dict[str, Any] = {"source_key": key, "object_key": key, "name": key.rpartition("/")[2]}
    document_id = document_id_of_key(key)
    if document_id is not None:
        source["document_id"] = document_id
    source["page_index"], source["char_start"], source["char_end"] = place
    source["chunk_index"] = number
    return QueryResult(id=f"{document_id or key}#{number}", text=text, score=score, source=source)
