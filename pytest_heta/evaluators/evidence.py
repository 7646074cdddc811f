"""Did retrieval find the gold evidence?"""

from __future__ import annotations

from typing import Any

from pytest_heta.evaluators.checks import check_cutoff
from pytest_heta.evaluators.texts import squeeze
from pytest_heta.keys import document_id_of, document_id_of_key, safe_document_id
from pytest_heta.records import BenchmarkCase, BenchmarkEvidence, EvaluationScore, QueryResponse, QueryResult

_SHORTEST_PROOF = 20


class EvidenceRecallAtK:
    """The share of gold evidence that one of the first ``k`` hits matches, named ``evidence_recall@{k}``.

    For when a hit matches see ``Hit.matches``. A case without evidence is unscored.

    Raises:
        UsageError: ``k`` is not positive.
    """

    def __init__(self, k: int) -> None:
        check_cutoff("evidence_recall", k)
        self.k = k
        self.name = f"evidence_recall@{k}"
        self.definition = f"{self.name}: locator and text, a contained hit of {_SHORTEST_PROOF} tokens or more"

    async def evaluate(self, *, case: BenchmarkCase, response: QueryResponse) -> EvaluationScore:
        """Return the share, in [0, 1]."""
        if not case.expected.evidence:
            return EvaluationScore.unscored(self.name, "the case has no evidence")
        hits = [Hit(result) for result in response.results[: self.k]]
        found = sum(any(hit.matches(evidence) for hit in hits) for evidence in case.expected.evidence)
        return EvaluationScore(name=self.name, value=found / len(case.expected.evidence))


class Hit:
    """One result, as evidence sees it."""

    def __init__(self, result: QueryResult) -> None:
        self._result = result
        self._keys = [str(key) for key in (*self._values("source_key"), *self._values("object_key"))]
        # The explicit ids too: beside a raw key they may be the KB's own.
        ids = [str(one) for one in (document_id_of(result), *self._values("document_id")) if one is not None]
        self._documents = {*ids, *map(safe_document_id, ids)}
        self._text: str | None = None

    def matches(self, evidence: BenchmarkEvidence) -> bool:
        """Tell whether this hit is what the evidence points at.

        Every field of the locator must match, and the text where there is one: the hit contains it after case and
        white space are normalised, or is contained in it with at least 20 tokens (a one-word chunk proves nothing).
        Only evidence that has neither is matched by its reference id, against the ids of the hit, document and chunk.
        """
        if not evidence.locator and evidence.text is None:
            return self._is_document(str(evidence.reference_id)) or self._is_chunk(evidence.reference_id)
        located = all(self._is_at(field, value) for field, value in evidence.locator.items())
        return located and (evidence.text is None or self._shares_text(evidence.text))

    def _is_at(self, field: str, value: Any) -> bool:
        match field:
            case "document_id":
                return self._is_document(str(value))
            case "source_key" | "object_key":
                return str(value) in self._keys or self._stands_for(str(value))
            case "source_key_prefix":
                return any(key.startswith(str(value)) for key in self._keys) or self._stands_for(str(value))
            case "chunk_id":
                return self._is_chunk(value)
            case _:
                return value in self._values(field)

    def _is_document(self, document_id: str) -> bool:
        return document_id in self._documents or safe_document_id(document_id) in self._documents

    def _stands_for(self, key: str) -> bool:
        """Tell whether a hit without any key names the document that ``key`` belongs to."""
        return not self._keys and document_id_of_key(key) in self._documents

    def _is_chunk(self, chunk_id: Any) -> bool:
        several = [one for ids in self._values("chunk_ids") if isinstance(ids, list | tuple) for one in ids]
        return chunk_id in (self._result.id, *self._values("chunk_id"), *several)

    def _shares_text(self, text: str) -> bool:
        if self._text is None:
            self._text = squeeze(self._result.text)
        wanted = squeeze(text)
        return wanted in self._text or (len(self._text.split()) >= _SHORTEST_PROOF and self._text in wanted)

    def _values(self, field: str) -> list[Any]:
        """Return what the hit says about a field, in source and in metadata."""
        places = (self._result.source, self._result.metadata)
        return [place[field] for place in places if place.get(field) is not None]
