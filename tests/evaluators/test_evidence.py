"""Which hits match which evidence."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_heta.errors import UsageError
from pytest_heta.evaluators import EvidenceRecallAtK
from pytest_heta.records import BenchmarkEvidence, QueryResult
from tests.evaluators.builders import evidenced, folder, hit, response, score, texts

CHUNK = QueryResult(
    id="c7",
    text="Revenue rose  by\n 12 %",
    source={"object_key": f"{folder('D1')}D1.pdf", "page_index": 4, "chunk_ids": ["c7", "c8"], "row_index": 0},
    metadata={"table_id": "t2", "column": "2019", "document_id": "own-id", "sheet": "a"},
)
LONG = "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen"


def found(evidence: BenchmarkEvidence, *results: QueryResult, k: int = 5) -> float | None:
    """Return the recall of one evidence."""
    return score(EvidenceRecallAtK(k), evidenced(evidence), response(*results)).value


@pytest.mark.parametrize(
    "locator",
    [
        {"document_id": "D1"},
        {"document_id": "own-id"},
        {"source_key": f"{folder('D1')}D1.pdf"},
        {"object_key": f"{folder('D1')}D1.pdf"},
        {"source_key_prefix": folder("D1")},
        {"page_index": 4},
        {"chunk_id": "c7"},
        {"chunk_id": "c8"},
        {"table_id": "t2"},
        {"row_index": 0},
        {"column": "2019"},
        {"sheet": "a"},
        {"document_id": "D1", "page_index": 4, "sheet": "a"},
    ],
)
def test_a_locator_matches_when_every_field_does(locator: dict[str, Any]) -> None:
    """Each known field, and an own one by equality, is found in source or metadata; one wrong field is too many."""
    assert found(BenchmarkEvidence(locator=locator), CHUNK) == 1.0
    assert found(BenchmarkEvidence(locator={**locator, "other": 1}), CHUNK) == 0.0


@pytest.mark.parametrize(
    "locator",
    [
        {"document_id": "D2"},
        {"source_key": folder("D1")},
        {"source_key_prefix": folder("D10")},
        {"page_index": 5},
        {"chunk_id": "c9"},
        {"row_index": 1},
        {"column": "2018"},
        {"sheet": None},
    ],
)
def test_a_locator_with_another_value_does_not_match(locator: dict[str, Any]) -> None:
    """A value that the hit does not have is no match, and a missing one is never equal to None."""
    assert found(BenchmarkEvidence(locator=locator), CHUNK) == 0.0


def test_a_hit_without_keys_stands_for_its_document() -> None:
    """A KB that gives original document ids only still matches keys of that document."""
    named = QueryResult(id="1", source={"document_id": "D 1"})
    assert found(BenchmarkEvidence(locator={"source_key_prefix": folder("D=201")}), named) == 1.0
    assert found(BenchmarkEvidence(locator={"source_key": folder("D=201") + "x.txt"}), named) == 1.0
    assert found(BenchmarkEvidence(locator={"document_id": "D=201"}), named) == 1.0
    assert found(BenchmarkEvidence(locator={"source_key_prefix": folder("D=202")}), named) == 0.0
    assert found(BenchmarkEvidence(locator={"source_key_prefix": "elsewhere/"}), named) == 0.0


def test_text_matches_a_hit_that_contains_it_after_normalising() -> None:
    """Case, runs of white space and compatibility forms do not matter; other words do."""
    assert found(BenchmarkEvidence(text="REVENUE rose by １２ %"), CHUNK) == 1.0
    assert found(BenchmarkEvidence(text="revenue fell by 12 %"), CHUNK) == 0.0


def test_a_contained_hit_proves_something_from_twenty_tokens_on() -> None:
    """Nineteen tokens of the evidence are too few, twenty are enough, twenty others are not."""
    evidence = BenchmarkEvidence(text=f"Before. {LONG} a b c d e. After.")
    assert found(evidence, *texts(f"{LONG} a b c")) == 0.0
    assert found(evidence, *texts(f"{LONG} a b c d")) == 1.0
    assert found(evidence, *texts(f"{LONG} a b c x")) == 0.0
    assert found(evidence, *texts("")) == 0.0


def test_locator_and_text_must_hold_for_the_same_hit() -> None:
    """The right text in another document, and another text in the right document, prove nothing together."""
    evidence = BenchmarkEvidence(locator={"source_key_prefix": folder("D1")}, text="the fact", reference_id="x")
    assert found(evidence, hit("D2", text="the fact"), hit("D1", text="nothing")) == 0.0
    assert found(evidence, hit("D1", text="So: the fact!")) == 1.0


def test_the_reference_id_counts_only_alone() -> None:
    """It matches the ids of hit, chunk and document, but never beside a locator or a text."""
    for reference in ("c7", "c8", "D1"):
        assert found(BenchmarkEvidence(reference_id=reference), CHUNK) == 1.0
    assert found(BenchmarkEvidence(reference_id="D2"), CHUNK) == 0.0
    assert found(BenchmarkEvidence(reference_id="c7", text="something else"), CHUNK) == 0.0


def test_the_share_of_all_evidence_within_k() -> None:
    """Two of three evidences in the first two hits are two thirds; the third hit lies below the cut."""
    case = evidenced(*(BenchmarkEvidence(locator={"document_id": one}) for one in ("a", "b", "c")))
    got = score(EvidenceRecallAtK(2), case, response(hit("a"), hit("b"), hit("c")))
    assert got.name == "evidence_recall@2"
    assert got.value == pytest.approx(2 / 3)


def test_without_evidence_there_is_no_score() -> None:
    """A case without evidence is unscored and says so; a cut that is not positive is refused."""
    got = score(EvidenceRecallAtK(5), evidenced(), response(CHUNK))
    assert (got.value, got.metadata["reason"]) == (None, "the case has no evidence")
    with pytest.raises(UsageError, match="k must be at least 1"):
        EvidenceRecallAtK(0)
