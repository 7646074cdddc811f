"""The embedded knowledge base: a folder of mapped files that answers queries in this process."""

from __future__ import annotations

import json
import shutil
import weakref
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pytest_heta.errors import UnknownNameError, UsageError
from pytest_heta.knowledge.answering import Answerer
from pytest_heta.knowledge.chunks import ChunkTable
from pytest_heta.knowledge.fusion import fuse
from pytest_heta.knowledge.layout import Layout
from pytest_heta.knowledge.modes import Fusion, IndexMode
from pytest_heta.knowledge.ranking import Ranking
from pytest_heta.records import QueryResponse, QueryResult

Rankings = dict[str, Sequence[Ranking]]


class EmbeddedKnowledgeBase:
    """Answers queries from a folder that a recipe's builder wrote. Safe to use from several threads at once."""

    def __init__(
        self,
        name: str,
        directory: Path,
        modes: Mapping[str, IndexMode | Fusion],
        answerer: Answerer | None = None,
        *,
        temporary: bool = False,
    ) -> None:
        """Open the files in ``directory``; if ``temporary``, it is removed at ``close`` or the end of the process."""
        layout = Layout(directory)
        self.name = name
        self.manifest: dict[str, Any] = json.loads(layout.manifest.read_text("utf-8"))
        self._directory, self._modes, self._answerer = directory, modes, answerer
        self._chunks = ChunkTable(layout.chunks)
        self._indexes = {
            mode: declared.open(layout.mode(mode))
            for mode, declared in modes.items()
            if not isinstance(declared, Fusion)
        }
        self._remove = weakref.finalize(self, shutil.rmtree, directory, ignore_errors=True) if temporary else None

    @property
    def available_queries(self) -> tuple[str, ...]:
        """The modes that ``query`` understands."""
        return tuple(self._modes)

    @property
    def document_count(self) -> int:
        """How many documents were built in, those without text counted too."""
        return self._chunks.document_count

    @property
    def chunk_count(self) -> int:
        """How many chunks there are to find."""
        return self._chunks.chunk_count

    def query(
        self,
        text: str,
        *,
        mode: str,
        top_k: int,
        options: Mapping[str, Any] | None = None,
        trace: bool = False,
    ) -> QueryResponse:
        """Return at most ``top_k`` chunks, best first; with ``trace``, also what each mode found for a fusion.

        Raises:
            UnknownNameError: there is no such mode.
            UsageError: ``top_k`` is below 1, or there are options: this knowledge base has none.
        """
        if options:
            raise UsageError(
                f"the embedded knowledge base has no query options (given: {', '.join(map(str, options))})"
            )
        rankings = self._rankings((text,), mode, top_k)
        response = self._response(text, mode, rankings[mode][0])
        return response.model_copy(update={"trace": self._trace(rankings)}) if trace else response

    def query_many(self, texts: Sequence[str], *, mode: str, top_k: int) -> list[QueryResponse]:
        """Return the responses to several queries, in order, each the same as ``query`` gives.

        Raises:
            UnknownNameError: there is no such mode.
            UsageError: ``top_k`` is below 1.
        """
        found = self._rankings(texts, mode, top_k)[mode]
        return [self._response(text, mode, ranking) for text, ranking in zip(texts, found, strict=True)]

    def save(self, directory: Path) -> None:
        """Copy all files into ``directory``, from where the recipe's ``load`` opens them."""
        shutil.copytree(self._directory, directory, dirs_exist_ok=True)

    def close(self) -> None:
        """Release the files; the knowledge base cannot be used afterwards."""
        self._chunks.close()
        self._indexes.clear()
        if self._remove is not None:
            self._remove()

    def _rankings(self, texts: Sequence[str], mode: str, top_k: int) -> Rankings:
        """Return the rankings of ``mode`` and of every mode that it needed."""
        if mode not in self._modes:
            raise UnknownNameError("query mode", mode, self._modes)
        if top_k < 1:
            raise UsageError(f"top_k must be 1 or more, not {top_k}")
        declared = self._modes[mode]
        if not isinstance(declared, Fusion):
            return {mode: self._indexes[mode].search(texts, top_k)}
        parts: Rankings = {
            part: self._indexes[part].search(texts, max(top_k, declared.depth)) for part in declared.modes
        }
        per_query = zip(*(parts[part] for part in declared.modes), strict=True)
        return {**parts, mode: [fuse(found, declared.weights, declared.k, top_k) for found in per_query]}

    def _response(self, text: str, mode: str, ranking: Ranking) -> QueryResponse:
        results = self._chunks.hits(ranking)
        answer = self._answer(text, results)
        return QueryResponse(mode=mode, results=results, answer=answer)

    def _answer(self, text: str, results: Sequence[QueryResult]) -> str | None:
        if self._answerer is None:
            return None
        return self._answerer.answer(text, [result.text for result in results[: self._answerer.depth]])

    def _trace(self, rankings: Rankings) -> dict[str, Any]:
        hits = {mode: self._chunks.hits(found[0]) for mode, found in rankings.items()}
        return {"rankings": {mode: [[hit.id, hit.score] for hit in found] for mode, found in hits.items()}}
