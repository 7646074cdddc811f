"""The documents of a run unit, for recipes that build an index of their own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from pytest_heta.errors import RecipeError
from pytest_heta.keys import document_id_of_key
from pytest_heta.knowledge.parsing import parse
from pytest_heta.protocols import ObjectStoreProtocol, ProgressCallback


@dataclass(frozen=True)
class SourceDocument:
    """One document: its id, its raw key and its bytes. The text is read out of the bytes when it is asked for.

    ``document_id`` is the benchmark's id in its file-name form; a hit that carries it, or ``source_key``, is scored.
    """

    document_id: str
    source_key: str
    data: bytes

    @property
    def name(self) -> str:
        """The file name, such as ``D1.txt``."""
        return self.source_key.rpartition("/")[2]

    @cached_property
    def text(self) -> str:
        """The text of all pages; text, Markdown, HTML and PDF files have one.

        Raises:
            BuildError: the file cannot be read; names it.
        """
        return "\n\n".join(page.text for page in parse(self.name, self.data))

    @property
    def ids(self) -> Mapping[str, str]:
        """What a framework must keep with every chunk, so that a hit is known again."""
        return {"document_id": self.document_id, "source_key": self.source_key}


async def read_documents(
    objects: ObjectStoreProtocol, source_keys: Sequence[str], progress: ProgressCallback | None = None
) -> list[SourceDocument]:
    """Return the documents under these keys, in order; all of them are in memory at once.

    Raises:
        RecipeError: a key is no raw key of a benchmark.
        ObjectNotFoundError: a key without an object.

    """
    documents = []
    for key in source_keys:
        document_id = document_id_of_key(key)
        if document_id is None:
            raise RecipeError(f"{key!r} is no raw key: expected raw/benchmarks/BENCHMARK/SPLIT/DOCUMENT_ID/NAME")
        documents.append(SourceDocument(document_id, key, await objects.get(key)))
        if progress is not None:
            progress("documents", len(documents), len(source_keys))
    return documents
