"""Files that are one JSON value."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_heta.datasets.json_file import read_json
from pytest_heta.errors import DataError


def test_the_value_is_read_with_a_byte_order_mark_and_half_surrogates(tmp_path: Path) -> None:
    """A mark at the start is no part of the value, and what UTF-8 cannot hold becomes a question mark."""
    path = tmp_path / "a.json"
    path.write_bytes(b'\xef\xbb\xbf["\\ud83d\\ude00", "\\uD800"]')
    assert read_json(path) == ["😀", "?"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"[\n1,\n]", r"a\.json:3: not JSON"),
        (b"[NaN]", r"a\.json: not JSON: NaN is not a JSON number"),
        (b'["\xe9"]', r"a\.json: not JSON: .*utf-8"),
        (None, r"a\.json: cannot be read"),
    ],
)
def test_what_cannot_be_read_is_an_error_with_its_place(tmp_path: Path, content: bytes | None, message: str) -> None:
    """Malformed JSON has the line, other failures the file."""
    if content is not None:
        (tmp_path / "a.json").write_bytes(content)
    with pytest.raises(DataError, match=message):
        read_json(tmp_path / "a.json")
