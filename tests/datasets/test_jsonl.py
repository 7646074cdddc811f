"""Reading JSON Lines."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_heta.datasets.jsonl import read_jsonl, required_id, required_text
from pytest_heta.errors import DataError

_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


def _write(folder: Path, content: bytes) -> Path:
    path = folder / "rows.jsonl"
    path.write_bytes(content)
    return path


@given(rows=st.lists(st.dictionaries(st.text(), _VALUES, max_size=4)), end=st.sampled_from(["\n", "\r\n", "\n \n"]))
def test_any_rows_come_back(rows: list[dict[str, Any]], end: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    """What is written as UTF-8 JSON Lines is read back, with unescaped U+2028 and any line end."""
    text = "".join(json.dumps(row, ensure_ascii=False) + end for row in rows)
    path = _write(tmp_path_factory.mktemp("jsonl"), text.encode())
    assert [row for _, row in read_jsonl(path)] == rows


def test_separators_of_unicode_are_text(tmp_path: Path) -> None:
    """U+2028, U+2029, U+0085 and form feed inside a text end no line."""
    text = "a\u2028b\u2029c\u0085d"
    path = _write(tmp_path, json.dumps({"text": text}, ensure_ascii=False).encode() + b"\n" + b'{"n": 2}\n')
    assert list(read_jsonl(path)) == [(1, {"text": text}), (2, {"n": 2})]


def test_numbers_count_blank_lines_after_a_byte_order_mark(tmp_path: Path) -> None:
    """Line numbers are those of the file, whose byte order mark, CRLF, blank lines and missing last end are fine."""
    path = _write(tmp_path, b'\xef\xbb\xbf{"a": 1}\r\n\r\n  \n{"a": 2}')
    assert list(read_jsonl(path)) == [(1, {"a": 1}), (4, {"a": 2})]


def test_it_streams(tmp_path: Path) -> None:
    """The first row is there before the malformed third line is looked at."""
    rows = read_jsonl(_write(tmp_path, b'{"a": 1}\n{"a": 2}\n{"a": \n'))
    assert (next(rows), next(rows)) == ((1, {"a": 1}), (2, {"a": 2}))
    with pytest.raises(DataError, match=r"rows\.jsonl:3: not JSON: Expecting value"):
        next(rows)


@pytest.mark.parametrize(
    ("line", "what"),
    [
        (b"[1]", "expected a JSON object, found an array"),
        (b"null", "expected a JSON object, found null"),
        (b"3", "expected a JSON object, found a number"),
        (b'{"a": 1} {"b": 2}', "not JSON: Extra data"),
        (b'{"a": NaN}', "not JSON: NaN is not a JSON number"),
        (b'{"a": -Infinity}', "not JSON: -Infinity is not a JSON number"),
        (b'{"a": "caf\xe9"}', "not UTF-8: .* at byte 10 of the line"),
        (b'{"a":' * 200_000, "not JSON: "),
    ],
)
def test_a_malformed_line_is_named(tmp_path: Path, line: bytes, what: str) -> None:
    """Each malformed line is one DataError with file, line and reason."""
    path = _write(tmp_path, b'{"fine": true}\n' + line + b"\n")
    with pytest.raises(DataError, match=rf"rows\.jsonl:2: {what}"):
        list(read_jsonl(path))


def test_half_a_surrogate_pair_becomes_a_question_mark(tmp_path: Path) -> None:
    """A whole escaped pair is a character; half of one, which UTF-8 cannot hold, is read as ``?``."""
    path = _write(tmp_path, rb'{"text": "\ud83d\ude00 and \uD83D"}')
    assert list(read_jsonl(path)) == [(1, {"text": "\U0001f600 and ?"})]


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    """A file that cannot be opened is a DataError with its path."""
    with pytest.raises(DataError, match=r"nothing\.jsonl: cannot be read: No such file"):
        list(read_jsonl(tmp_path / "nothing.jsonl"))
    with pytest.raises(DataError, match="cannot be read: "):
        list(read_jsonl(tmp_path))


def test_required_text_is_stripped() -> None:
    """A required text comes without the white space around it."""
    assert required_text({"q": "\u2003what? \n"}, "q", Path("f"), 1) == "what?"


def test_required_id_is_kept_as_written() -> None:
    """An id keeps its spaces, and an integer id becomes text."""
    assert required_id({"_id": " a b "}, "_id", Path("f"), 1) == " a b "
    assert required_id({"_id": -7}, "_id", Path("f"), 1) == "-7"


@pytest.mark.parametrize("read", [required_text, required_id])
@pytest.mark.parametrize(
    ("row", "what"),
    [
        ({"x": 1, "y": 2}, r"field 'q' is missing \(there are: x, y\)"),
        ({}, r"field 'q' is missing \(there are: none\)"),
        ({"q": " \t"}, "field 'q' is blank"),
        ({"q": None}, "field 'q' must be a text, not null"),
        ({"q": True}, "field 'q' must be a text, not a boolean"),
        ({"q": 1.5}, "field 'q' must be a text, not a number"),
        ({"q": {}}, "field 'q' must be a text, not an object"),
    ],
)
def test_a_required_field_that_is_not_there_is_named(read: Any, row: dict[str, Any], what: str) -> None:
    """A field that is missing, of the wrong type or blank is a DataError with file and line."""
    with pytest.raises(DataError, match=rf"^cases\.jsonl:12: {what}$"):
        read(row, "q", Path("cases.jsonl"), 12)
