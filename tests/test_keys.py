"""Safe ids and the way back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_heta.keys import original_document_id, safe_document_id


@given(st.text(max_size=12))
def test_a_short_safe_id_is_turned_back(original: str) -> None:
    """The original id comes back, whatever its characters."""
    assert original_document_id(safe_document_id(original)) == original


@pytest.mark.parametrize("text", ["plain", "a b", "=", "=4", "=zz", "a=41", "=FF", "100%", "%20=20", "=~"])
def test_what_is_no_safe_id_stays(text: str) -> None:
    """An id that no original has as its safe form is its own original."""
    assert original_document_id(text) == text


def test_a_digest_cannot_be_turned_back() -> None:
    """The safe form of a long id stays as it is."""
    safe = safe_document_id("é" * 200)
    assert original_document_id(safe) == safe
