"""Reading delimited text."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_heta.datasets.delimited import DelimitedRow, read_delimited
from pytest_heta.errors import DataError


def write(folder: Path, content: str | bytes) -> Path:
    """Write the file to read."""
    path = folder / "rows.csv"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def test_rows_come_with_their_lines(tmp_path: Path) -> None:
    """A byte order mark, CRLF and empty lines are no part of the cells, and lines count from 1."""
    path = write(tmp_path, "\ufeffa|b\r\n1|2\r\n\r\n3|\r\n")
    assert list(read_delimited(path, delimiter="|")) == [
        DelimitedRow(2, {"a": "1", "b": "2"}),
        DelimitedRow(4, {"a": "3", "b": ""}),
    ]


def test_quoted_cells_hold_line_ends_delimiters_and_quotes(tmp_path: Path) -> None:
    """The row below a cell of two lines has the line of the file, not of the row."""
    path = write(tmp_path, 'a|b\n"one\ntwo|three ""four"""|x\n5|6\n')
    rows = list(read_delimited(path, delimiter="|"))
    assert rows[0] == DelimitedRow(2, {"a": 'one\ntwo|three "four"', "b": "x"})
    assert rows[1].line == 4


def test_a_line_separator_inside_a_cell_is_text(tmp_path: Path) -> None:
    """U+2028 and U+0085 end no row."""
    path = write(tmp_path, "a|b\none\u2028two|x\x85y\n")
    assert [row.values for row in read_delimited(path, delimiter="|")] == [{"a": "one\u2028two", "b": "x\x85y"}]


@pytest.mark.parametrize("row", ["1", "1|2|3"])
def test_a_row_with_another_number_of_fields_is_an_error_with_its_line(tmp_path: Path, row: str) -> None:
    """Too few and too many fields are both refused."""
    path = write(tmp_path, f"a|b\n1|2\n{row}\n")
    with pytest.raises(DataError, match=rf"rows\.csv:3: {row.count('|') + 1} fields instead of 2 \(a, b\)"):
        list(read_delimited(path, delimiter="|"))


def test_a_broken_row_is_joined_where_that_is_allowed(tmp_path: Path) -> None:
    """A short row, known to be broken, and a row with an empty first field make one row that knows both lines."""
    path = write(tmp_path, "a|b|c\nx|known\r|z\n")
    rows = list(read_delimited(path, delimiter="|", is_broken=lambda fields: "known" in fields))
    assert rows == [DelimitedRow(2, {"a": "x", "b": "known", "c": "z"}, 3)]


def test_a_broken_row_without_its_second_half_is_an_error(tmp_path: Path) -> None:
    """What follows must begin with an empty field, or the short row is refused with its line."""
    path = write(tmp_path, "a|b|c\nx|known\ny|z|z\n")
    with pytest.raises(DataError, match=r"rows\.csv:2: 2 fields"):
        list(read_delimited(path, delimiter="|", is_broken=lambda fields: "known" in fields))


def test_a_quote_that_is_never_closed_is_an_error_with_the_line_where_it_opens(tmp_path: Path) -> None:
    """The rest of the file is not silently taken for one cell."""
    path = write(tmp_path, 'a|b\n1|2\n"3|4\n5|6\n')
    with pytest.raises(DataError, match=r"rows\.csv:3: .*cannot be read"):
        list(read_delimited(path, delimiter="|"))


def test_a_header_without_a_required_column_is_an_error(tmp_path: Path) -> None:
    """The message names what is missing."""
    with pytest.raises(DataError, match=r"rows\.csv:1: the header must name c; it is \['a', 'b'\]"):
        list(read_delimited(write(tmp_path, "a|b\n"), delimiter="|", required=("a", "c")))


def test_an_empty_file_is_an_error(tmp_path: Path) -> None:
    """A file without a header is no table without rows."""
    with pytest.raises(DataError, match="the header must name columns"):
        list(read_delimited(write(tmp_path, "")))


def test_a_file_that_is_not_utf8_is_an_error(tmp_path: Path) -> None:
    """Latin-1 text is refused, not guessed at."""
    with pytest.raises(DataError, match="not UTF-8"):
        list(read_delimited(write(tmp_path, b"a,b\n\xe9,1\n")))


def test_a_missing_file_is_an_error(tmp_path: Path) -> None:
    """The message has the path."""
    with pytest.raises(DataError, match=r"nothing\.csv: cannot be read"):
        list(read_delimited(tmp_path / "nothing.csv"))
