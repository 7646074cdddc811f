"""Answering queries: what a knowledge base does with the rankings that its indexes give, wherever these lie."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from pytest_heta.errors import UnknownNameError, UsageError
from pytest_heta.knowledge.answering import Answerer
from pytest_heta.knowledge.fusion import fuse
from pytest_heta.knowledge.modes import Fusion
from pytest_heta.knowledge.ranking import Ranking
from pytest_heta.records import QueryResponse, QueryResult

Rankings = dict[str, Sequence[Ranking]]


class Search(Protocol):
    """The searches that one call of a knowledge base needs."""

    def rank(self, mode: str, queries: Sequence[str], k: int) -> Sequence[Ranking]:
        """Return at most ``k`` chunks for each query, best first, of a mode that is no fusion."""
        ...

    def hits(self, ranking: Ranking) -> tuple[QueryResult, ...]:
        """Return the chunks of a ranking that this search gave, in its order."""
        ...


class SearchingKnowledgeBase(ABC):
    """A knowledge base of modes. Safe to use from several threads at once."""

    def __init__(
        self, name: str, manifest: dict[str, Any], modes: Mapping[str, Any], answerer: Answerer | None
    ) -> None:
        self.name, self.manifest = name, manifest
        self._modes, self._answerer = modes, answerer

    @abstractmethod
    def _search(self) -> Search:
        """Begin the searches of one call."""

    @property
    def available_queries(self) -> tuple[str, ...]:
        """The modes that ``query`` understands."""
        return tuple(self._modes)

    @property
    def document_count(self) -> int:
        """How many documents were built in, those without text counted too."""
        return int(self.manifest["documents"])

    @property
    def chunk_count(self) -> int:
        """How many chunks there are to find."""
        return int(self.manifest["chunks"])

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
            raise UsageError(f"this knowledge base has no query options (given: {', '.join(map(str, options))})")
        search = self._search()
        rankings = self._rankings(search, (text,), mode, top_k)
        response = self._response(text, mode, search.hits(rankings[mode][0]))
        return response.model_copy(update={"trace": _trace(search, rankings)}) if trace else response

    def query_many(self, texts: Sequence[str], *, mode: str, top_k: int) -> list[QueryResponse]:
        """Return the responses to several queries, in order, each the same as ``query`` gives.

        Raises:
            UnknownNameError: there is no such mode.
            UsageError: ``top_k`` is below 1.
        """
        search = self._search()
        found = self._rankings(search, texts, mode, top_k)[mode]
        return [self._response(text, mode, search.hits(ranking)) for text, ranking in zip(texts, found, strict=True)]

    def _rankings(self, search: Search, texts: Sequence[str], mode: str, top_k: int) -> Rankings:
        """Return the rankings of ``mode`` and of every mode that it needed."""
        if mode not in self._modes:
            raise UnknownNameError("query mode", mode, self._modes)
        if top_k < 1:
            raise UsageError(f"top_k must be 1 or more, not {top_k}")
        declared = self._modes[mode]
        if not isinstance(declared, Fusion):
            return {mode: search.rank(mode, texts, top_k)}
        parts: Rankings = {part: search.rank(part, texts, max(top_k, declared.depth)) for part in declared.modes}
        per_query = zip(*(parts[part] for part in declared.modes), strict=True)
        return {**parts, mode: [fuse(found, declared.weights, declared.k, top_k) for found in per_query]}

    def _response(self, text: str, mode: str, results: tuple[QueryResult, ...]) -> QueryResponse:
        return QueryResponse(mode=mode, results=results, answer=self._answer(text, results))

    def _answer(self, text: str, results: Sequence[QueryResult]) -> str | None:
        if self._answerer is None:
            return None
        return self._answerer.answer(text, [result.text for result in results[: self._answerer.depth]])


def _trace(search: Search, rankings: Rankings) -> dict[str, Any]:
    hits = {mode: search.hits(found[0]) for mode, found in rankings.items()}
    return {"rankings": {mode: [[hit.id, hit.score] for hit in found] for mode, found in hits.items()}}
