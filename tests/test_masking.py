"""Secrets in texts are masked, however long and odd the text is."""

from __future__ import annotations

import pytest

from pytest_heta.masking import mask_text


@pytest.mark.parametrize("text", ["x" * 1_000_000, "a." * 500_000, "a://" * 250_000, "a:b" * 300_000])
def test_long_texts_are_masked_too(text: str) -> None:
    """A word of a million characters, as an exception may hold, is read once: it once took hours."""
    assert mask_text(f"{text} token=abc") == f"{text} token=***"


def test_secrets_in_between_are_masked() -> None:
    """By name, in URLs, and within the value of a harmless name."""
    text = 'api_key=SECRET https://u:p@host/x?token=abc "password": "s s" url=http://h/?key=v name=Ada'
    assert (
        mask_text(text) == 'api_key=*** https://***@host/x?token=*** "password": "***" url=http://h/?key=*** name=Ada'
    )
