"""How deep a query must look so that the deepest metric sees enough documents."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from pytest_heta.engine.depth import DEFAULT_TOP_K, Depth
from pytest_heta.evaluators.evidence import EvidenceRecallAtK
from pytest_heta.evaluators.ranking import BeirRetrievalMetric
from pytest_heta.records import QueryResponse, QueryResult
from tests.engine.toys import case, response

NO_K = SimpleNamespace(name="answer")


@pytest.mark.parametrize(
    ("evaluators", "top_k", "expected"),
    [
        ([NO_K], None, Depth(DEFAULT_TOP_K)),
        ([NO_K, EvidenceRecallAtK(5)], None, Depth(5)),
        ([EvidenceRecallAtK(50), BeirRetrievalMetric("ndcg", 10)], None, Depth(50, 10, drop_query_id=True)),
        ([BeirRetrievalMetric("ndcg", 10, drop_query_id=False)], None, Depth(10, 10)),
        ([BeirRetrievalMetric("ndcg", 10, drop_query_id=False)], 3, Depth(3, 10, fixed=True)),
    ],
)
def test_the_deepest_metric_decides(evaluators: list[Any], top_k: int | None, expected: Depth) -> None:
    """Unless the user does; only metrics that count documents need distinct ones."""
    assert Depth.of(evaluators, top_k) == expected


def test_deeper_is_four_times_as_deep_and_has_an_end() -> None:
    """A depth that the user chose is kept."""
    assert list(Depth(10, 10).deeper()) == [40, 160, 640]
    assert list(Depth(10, 10, fixed=True).deeper()) == []


@pytest.mark.parametrize(
    ("documents", "asked", "collapsed"),
    [
        (["a", "b", "c"], 3, False),
        (["a", "b", "b"], 3, True),
        (["a", "b", "b"], 4, False),
        (["a", "b", "q"], 3, True),
        ([], 3, False),
    ],
)
def test_a_full_response_with_too_few_documents_is_collapsed(documents: list[str], asked: int, collapsed: bool) -> None:
    """One that is not full has all that there is; the query's own document does not count."""
    depth = Depth(3, documents=3, drop_query_id=True)
    assert depth.collapsed(case("q"), response(*documents), asked) is collapsed


def test_fewer_results_than_documents_are_always_too_few() -> None:
    """As where the user chose a small top_k."""
    assert Depth(2, documents=3, fixed=True).collapsed(case("q"), response("a", "b"), 2)


def test_hits_that_name_no_document_count_as_one_each() -> None:
    """They keep their places in the ranking too."""
    found = QueryResponse(mode="m", results=tuple(QueryResult(id=name) for name in "abc"))
    assert not Depth(3, documents=3).collapsed(case("q"), found, 3)


def test_nothing_collapses_where_nobody_counts_documents() -> None:
    """Ten chunks of one document are ten results."""
    assert not Depth(3).collapsed(case("q"), response("a", "a", "a"), 3)
