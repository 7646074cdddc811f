"""JSON Lines: one JSON object a line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

from pytest_heta.datasets.lines import read_lines
from pytest_heta.errors import DataError


def read_jsonl(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    r"""Yield ``(line number from 1, object)`` of each line that is not blank; lines end at ``\n`` only.

    Raises:
        DataError: the file cannot be read, or a line is not a JSON object (``path:line: what``). NaN and Infinity
            are not JSON. Half of a surrogate pair (``\\ud83d`` alone), which no UTF-8 can hold, is read as ``?``.
    """
    for number, line in read_lines(path):
        try:
            row = _DECODER.decode(line)
            if "\\ud" in line or "\\uD" in line:
                row = json.loads(json.dumps(row, ensure_ascii=False).encode("utf-8", "replace"))
        except (ValueError, RecursionError) as error:
            raise DataError.at(path, number, f"not JSON: {error}") from error
        if not isinstance(row, dict):
            raise DataError.at(path, number, f"expected a JSON object, found {_json_type(row)}")
        yield number, row


def required_text(row: dict[str, Any], field: str, path: Path, line: int) -> str:
    """Return the text in ``row[field]``, stripped.

    Raises:
        DataError: the field is missing, not a text, or blank (``path:line: what``).
    """
    return _text(row, field, path, line).strip()


def required_id(row: dict[str, Any], field: str, path: Path, line: int) -> str:
    """Return the id in ``row[field]`` exactly as written; an integer becomes its decimal text.

    Raises:
        DataError: the field is missing, neither a text nor an integer, or blank (``path:line: what``).
    """
    value = row.get(field)
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return _text(row, field, path, line)


def _text(row: dict[str, Any], field: str, path: Path, line: int) -> str:
    if field not in row:
        raise DataError.at(path, line, f"field {field!r} is missing (there are: {', '.join(row) or 'none'})")
    value = row[field]
    if not isinstance(value, str):
        raise DataError.at(path, line, f"field {field!r} must be a text, not {_json_type(value)}")
    if not value.strip():
        raise DataError.at(path, line, f"field {field!r} is blank")
    return value


def _json_type(value: object) -> str:
    names = {type(None): "null", bool: "a boolean", int: "a number", float: "a number", str: "a text", list: "an array"}
    return names.get(type(value), "an object")


def _refuse_constant(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not a JSON number")


_DECODER = json.JSONDecoder(parse_constant=_refuse_constant)
