"""A mode that finds no gold document in any case: most often its ids are not those of the benchmark."""

from __future__ import annotations

from pytest_heta.records import EvaluationCaseResult, EvaluationReport

_FEWEST_CASES = 3


def strangers(report: EvaluationReport, mode: str) -> str | None:
    """Return what to say of such a mode, with a document that was found and one that was wanted; None of any other."""
    results = [result for result in report.cases if result.mode == mode and _found(result) and _wanted(result)]
    if len(results) < _FEWEST_CASES or any(_found(result) & _wanted(result) for result in results):
        return None
    hits = sum(len(result.hits) for result in results)
    found, wanted = min(_found(results[0])), min(_wanted(results[0]))
    return (
        f"{mode}: not one of the {hits} hits of {len(results)} cases is a gold document; are their ids those of the "
        f"benchmark? Found for {results[0].case_id}: {found}; gold: {wanted}"
    )


def _found(result: EvaluationCaseResult) -> set[str]:
    return {hit.document_id for hit in result.hits if hit.document_id is not None}


def _wanted(result: EvaluationCaseResult) -> set[str]:
    return {gold.document_id for gold in result.gold if gold.document_id is not None and gold.relevance > 0}
