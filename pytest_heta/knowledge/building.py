"""Building a knowledge base in a folder: parse, chunk, index, one batch of documents after another."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pytest_heta.errors import BuildError
from pytest_heta.knowledge.chunking import Chunk, Chunker
from pytest_heta.knowledge.chunks import ChunkTableWriter
from pytest_heta.knowledge.layout import FORMAT_VERSION, Layout
from pytest_heta.knowledge.modes import Fusion, IndexMode
from pytest_heta.knowledge.parsing import parse

_EMPTY_NAMED = 20


class KnowledgeBaseBuilder:
    """Takes raw documents in; holds no more of them in memory than it is given at once."""

    def __init__(self, directory: Path, chunker: Chunker, modes: Mapping[str, IndexMode | Fusion]) -> None:
        self._layout, self._chunker = Layout(directory), chunker
        self._layout.chunks.mkdir(parents=True)
        self._table = ChunkTableWriter(self._layout.chunks)
        self._empty: list[str] = []
        self._builders = []
        for name, mode in modes.items():
            if not isinstance(mode, Fusion):
                self._layout.mode(name).mkdir(parents=True)
                self._builders.append(mode.builder(self._layout.mode(name)))

    @property
    def document_count(self) -> int:
        """How many documents were added."""
        return self._table.document_count

    @property
    def chunk_count(self) -> int:
        """How many chunks they gave."""
        return self._table.chunk_count

    def add(self, documents: Sequence[tuple[str, bytes]]) -> None:
        """Add documents, as source key and content.

        Raises:
            BuildError: one of them cannot be read; names it.
        """
        parsed = [(key, chunks_of(self._chunker, key, data)) for key, data in documents]
        self._table.add(parsed)
        self._empty += [key for key, chunks in parsed if not chunks]
        texts = [chunk.text for _, chunks in parsed for chunk in chunks]
        if texts:
            for builder in self._builders:
                builder.add(texts)

    def finish(self, recipe: Mapping[str, Any]) -> None:
        """Complete all files; ``recipe`` is the recipe's manifest, which the folder keeps.

        Raises:
            BuildError: there is nothing to search.
        """
        if not self.chunk_count:
            raise nothing_to_search(self.document_count)
        self._table.finish()
        for builder in self._builders:
            builder.finish()
        manifest = {
            "format_version": FORMAT_VERSION,
            "recipe": recipe,
            "documents": self.document_count,
            "chunks": self.chunk_count,
            "empty_documents": empty_documents(self._empty),
        }
        self._layout.manifest.write_text(json.dumps(manifest, indent=2, ensure_ascii=False), "utf-8")


def chunks_of(chunker: Chunker, key: str, data: bytes) -> list[Chunk]:
    """Return the chunks of one document, which is parsed as its name says.

    Raises:
        BuildError: it cannot be read; names it.
    """
    return list(chunker.chunk(parse(key.rpartition("/")[2], data)))


def nothing_to_search(documents: int) -> BuildError:
    """Return the error of a build that found no text."""
    return BuildError(f"there is nothing to search: none of the {documents} documents holds any text")


def empty_documents(keys: Sequence[str]) -> dict[str, Any]:
    """Return what a manifest says about the documents without text."""
    return {"count": len(keys), "first": list(keys[:_EMPTY_NAMED])}
