"""From a question of UDA-Benchmark to a benchmark case: gold answers, evidence, labels."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from pytest_heta.benchmarks.uda_questions import Question
from pytest_heta.benchmarks.uda_subsets import Subset
from pytest_heta.errors import DataError
from pytest_heta.keys import document_folder
from pytest_heta.records import BenchmarkCase, BenchmarkEvidence, BenchmarkExpected, BenchmarkManifest

_ELSEWHERE = {"q_uid", "question", "answers", "evidence", "facts", "doc_url", "context"}
"""Fields of an extended item that have a place of their own in a case, and ``context``, a copy of a document page."""


def case_of(
    subset: Subset, manifest: BenchmarkManifest, question: Question, item: Mapping[str, Any] | None, places: list[Path]
) -> BenchmarkCase:
    """Return the case of one question; ``item`` is its extended item, ``places`` are the files that it comes from.

    Raises:
        DataError: a gold answer or evidence that does not have the form of its subset; names the q_uid.

    """
    try:
        return _case(subset, manifest, question, item)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        reason = f"{error} is missing" if isinstance(error, KeyError) else error
        where = " and ".join(str(place) for place in places)
        raise DataError(
            f"{where}: q_uid {question.q_uid} (line {question.line} of the QA file) "
            f"does not have the form of uda:{subset.name}: {reason}"
        ) from error


def _case(
    subset: Subset, manifest: BenchmarkManifest, question: Question, item: Mapping[str, Any] | None
) -> BenchmarkCase:
    of_row = subset.gold_of_row(question.cells)
    gold = item["answers"] if item else of_row
    folder = document_folder(manifest, question.document_id)
    labels = {"subset": subset.name, "doc_name": question.doc_name}
    if subset.name == "tat":
        labels["answer_type"] = gold["answer_type"]
    return BenchmarkCase(
        case_id=question.q_uid,
        query=question.text,
        expected=BenchmarkExpected(
            answers=_answers((*subset.texts(gold), *subset.texts(of_row))),
            evidence=tuple(_evidence(subset, question, item, folder)) if item else (),
            value=gold["exe_answer"] if subset.name == "fin" else None,
            metadata={"uda": {"subset": subset.name, "answers": gold}, **_extra(item)},
        ),
        labels=labels,
        metadata={
            "document_id": question.document_id,
            "line": question.line,
            "extended": item is not None,
            **_url(question),
        },
    )


def _answers(texts: Iterable[Any]) -> tuple[str, ...]:
    """Return the texts as answers: stripped, no blank one, none twice, in order."""
    return tuple(text for text in dict.fromkeys(str(text).strip() for text in texts) if text)


def _evidence(subset: Subset, question: Question, item: Mapping[str, Any], folder: str) -> Iterator[BenchmarkEvidence]:
    seen = set()
    for name, text, extra in subset.evidence(item):
        if text.strip() and text not in seen:
            seen.add(text)
            yield BenchmarkEvidence(
                reference_id=name,
                locator={"source_key_prefix": folder},
                text=text,
                metadata={"doc_name": question.doc_name, "evidence_name": name, **extra},
            )


def _extra(item: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return what else the extended item says of the answer: program, derivation, doc_page_uid, …"""
    return {key: value for key, value in (item or {}).items() if key not in _ELSEWHERE}


def _url(question: Question) -> dict[str, str]:
    return {"doc_url": question.cells["doc_url"]} if "doc_url" in question.cells else {}
