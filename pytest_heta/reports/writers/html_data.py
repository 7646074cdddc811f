"""What the page of a report knows of each case: compact JSON, compressed."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from pytest_heta.records import EvaluationCaseResult
from pytest_heta.reports.baseline import CaseKey
from pytest_heta.reports.metric_names import headline_metrics
from pytest_heta.reports.mode_summary import labels
from pytest_heta.reports.slices import label_values
from pytest_heta.reports.writers.entrants import Entrant, all_metrics

_LONGEST_QUERY = 600


class Detail(NamedTuple):
    """How much of a ranking is kept: hits a case, and characters of each text."""

    hits: int
    text: int


DETAILS = (Detail(20, 500), Detail(10, 240), Detail(10, 0), Detail(5, 0), Detail(3, 0), Detail(1, 0), Detail(0, 0))
"""From rich to poor: the first that keeps the page below its limit is taken."""


class PageData:
    """What the page's script is given.

    ``entrants`` and ``metrics`` are their labels, ``headline`` is the index of the metric to begin with; ``results``
    has a list for each entrant, with a result, or null, for each of ``cases``.
    """

    def __init__(self, found: Sequence[Entrant], slice_labels: Sequence[str]) -> None:
        """Take the results; ``slice_labels`` are those by which the cases can be chosen."""
        metrics = all_metrics(found)
        names = labels(metrics)
        first = headline_metrics(metrics, most=1)
        keys = list(dict.fromkeys(key for entrant in found for key in entrant.results))
        self._results = [[entrant.results.get(key) for key in keys] for entrant in found]
        self._facts = [[_facts(result, metrics) for result in results] for results in self._results]
        self._content: dict[str, Any] = {
            "entrants": [entrant.label for entrant in found],
            "metrics": [names[metric] for metric in metrics],
            "headline": metrics.index(first[0]) if first else 0,
            "cases": [_case(key, found, slice_labels) for key in keys],
        }

    def packed(self, detail: Detail) -> str:
        """Return the data as base64 of gzip of JSON, the same for the same reports."""
        results = [
            [_with_hits(facts, result, detail) for facts, result in zip(*pair, strict=True)]
            for pair in zip(self._facts, self._results, strict=True)
        ]
        content = self._content | {"results": results}
        text = json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        raw = text.encode("utf-8", "replace")
        return base64.b64encode(gzip.compress(raw, compresslevel=6, mtime=0)).decode("ascii")


def _case(key: CaseKey, found: Sequence[Entrant], slice_labels: Sequence[str]) -> dict[str, Any]:
    results = [entrant.results[key] for entrant in found if key in entrant.results]
    result = next((one for one in results if one.gold), results[0])  # a case that was not run may have left none
    gold = [[label.original_id or label.document_id, label.relevance, _cut(label.text, 240)] for label in result.gold]
    slices = [f"{label}={value}" for label in slice_labels for value in label_values(result.labels, label)]
    parts = {
        "id": key[1],
        "unit": key[0],
        "query": _cut(result.query, _LONGEST_QUERY),
        "gold": gold,
        "labels": {name: str(value) for name, value in result.labels.items()},
        "slices": slices,
    }
    return {name: value for name, value in parts.items() if value}


def _facts(result: EvaluationCaseResult | None, metrics: Sequence[str]) -> dict[str, Any] | None:
    """All of a result but its hits; what is empty is left out."""
    if result is None:
        return None
    scores = {score.name: score for score in result.scores}
    reasons = [str(score.metadata.get("reason", "")) for score in result.scores if score.value is None]
    parts: dict[str, Any] = {
        "scores": [_rounded(scores[metric].value) if metric in scores else None for metric in metrics],
        "count": len(result.hits),
        "ranks": gold_ranks(result),
        "answer": _cut(result.answer, _LONGEST_QUERY),
        "error": _cut(f"{result.error.error_type}: {result.error.message}", _LONGEST_QUERY) if result.error else None,
        "unscored": reasons[0] if reasons else None,
        "ms": _short(result.latency_ms),
        "node": result.node_id,
        "shallow": result.shallow,
        "status": result.status if result.status != "finished" else None,
    }
    return {name: value for name, value in parts.items() if value or name == "scores"}


def _with_hits(
    facts: dict[str, Any] | None, result: EvaluationCaseResult | None, detail: Detail
) -> dict[str, Any] | None:
    if facts is None or result is None:
        return None
    hits = _hits(result, detail)
    return facts | {"hits": hits} if hits else facts


def _hits(result: EvaluationCaseResult, detail: Detail) -> list[list[Any]]:
    """The first hits as [document, is it gold, score, text], what is empty at the end left out."""
    wanted = {label.document_id for label in result.gold if label.relevance > 0}
    original = {label.document_id: label.original_id for label in result.gold if label.original_id}
    kept = []
    for hit in result.hits[: detail.hits]:
        name = hit.document_id or hit.id
        row: list[Any] = [original.get(name, name), int(hit.document_id in wanted), _short(hit.score)]
        kept.append([*row, _cut(hit.text, detail.text)] if hit.text and detail.text else row)
    return kept


def gold_ranks(result: EvaluationCaseResult) -> list[int]:
    """Return the ranks, from 1, of the gold documents among the distinct documents of the ranking.

    The document that has the query's own id takes no rank, as in BEIR.
    """
    wanted = {one for gold in result.gold if gold.relevance > 0 for one in (gold.document_id, gold.original_id) if one}
    documents = dict.fromkeys(hit.document_id or f"?{hit.id}" for hit in result.hits)
    documents.pop(result.case_id, None)
    return [rank for rank, document in enumerate(documents, 1) if document in wanted]


def _rounded(value: float | None) -> float | None:
    """Four decimals: what a table shows."""
    return None if value is None else round(value, 4)


def _short(value: float | None) -> float | None:
    """Four digits, however small the number is."""
    return None if value is None else float(f"{value:.4g}")


def _cut(text: str | None, length: int) -> str | None:
    return text if text is None or len(text) <= length else text[:length].rstrip() + "…"
