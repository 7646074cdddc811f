"""Whatever looks like a response is read as one."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from pytest_heta.engine.responses import as_response
from pytest_heta.errors import RecipeError
from pytest_heta.records import QueryResponse, QueryResult


def test_our_own_response_stays_as_it_is() -> None:
    """Not even a copy is made."""
    response = QueryResponse(mode="m")
    assert as_response(response, "m") is response


def test_the_mode_that_was_asked_counts() -> None:
    """A recipe that calls its mode otherwise must not put the result where nobody looks for it."""
    found = as_response(QueryResponse(mode="dense", results=(QueryResult(id="1"),)), "vector_search")
    assert (found.mode, found.results[0].id) == ("vector_search", "1")


@pytest.mark.parametrize("make", [dict, SimpleNamespace])
def test_mappings_and_objects_are_read_by_their_fields(make: Any) -> None:
    """What they lack has its default, what they have beyond is ignored."""
    hit = make(id="a", score=0.5, source={"document_id": "d"}, own=1)
    found = as_response(make(results=[hit], answer="42", own=2), "m")
    expected = QueryResult(id="a", score=0.5, source={"document_id": "d"})
    assert found == QueryResponse(mode="m", results=(expected,), answer="42")


@pytest.mark.parametrize("value", [None, "text", 5, {"answer": "x"}, [("d", 1.0)]])
def test_anything_else_is_refused(value: Any) -> None:
    """The message names mode and type."""
    with pytest.raises(RecipeError, match=f"mode 'm' returned {type(value).__name__}, which is not a QueryResponse"):
        as_response(value, "m")


@pytest.mark.parametrize("hit", [{}, {"id": ""}, {"id": "a", "score": "high"}])
def test_a_malformed_hit_is_refused(hit: dict[str, Any]) -> None:
    """It is never dropped."""
    with pytest.raises(RecipeError, match="malformed response"):
        as_response({"results": [hit]}, "m")
