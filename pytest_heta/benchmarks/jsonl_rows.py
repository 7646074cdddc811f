"""From a line of a JSON Lines benchmark to a record."""

from __future__ import annotations

import base64
import binascii
import mimetypes
from collections.abc import Iterator, Mapping
from os.path import isfile  # unlike Path.is_file it takes a name that is too long for one that does not exist
from pathlib import Path, PureWindowsPath
from typing import Any, TypeVar

from pydantic import ValidationError

from pytest_heta.datasets.jsonl import read_jsonl, required_text
from pytest_heta.errors import DataError
from pytest_heta.records import BenchmarkDocument, Record

RecordType = TypeVar("RecordType", bound=Record)
SOURCES = ("text", "data_base64", "path", "source_uri")


def read_rows(path: Path, key: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield (line, row) of a file whose rows are told apart by the text in ``key``, which is stripped.

    Raises:
        DataError: a line is malformed, or has no ``key`` or one that another line has.

    """
    lines: dict[str, int] = {}
    for line, row in read_jsonl(path):
        row[key] = required_text(row, key, path, line)
        before = lines.setdefault(row[key], line)
        if before != line:
            raise DataError.at(path, line, f"{key} {row[key]!r} is already on line {before}")
        yield line, row


def make_record(kind: type[RecordType], fields: Mapping[str, Any], path: Path, line: int | None) -> RecordType:
    """Return the record with these fields.

    Raises:
        DataError: a field is missing, unknown, or of the wrong kind; names the first such field.

    """
    try:
        return kind.model_validate(fields)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"])
        raise DataError.at(path, line, f"{field}: {first['msg']}" if field else first["msg"]) from error


def document_of_row(path: Path, line: int, row: Mapping[str, Any]) -> BenchmarkDocument:
    """Return the document of one row. ``name`` defaults to the file name in ``path``, else ``{document_id}.txt``.

    ``media_type`` defaults to what the extension of the name says.

    Raises:
        DataError: the row is malformed, or its path is missing or leads out of the folder of the file.

    """
    given = [source for source in SOURCES if row.get(source) is not None]
    if len(given) != 1 or not isinstance(row[given[0]], str):
        found = ", ".join(given) or "none"
        raise DataError.at(path, line, f"a document has exactly one of {', '.join(SOURCES)}, a text; found {found}")
    if "/" in row["document_id"]:
        raise DataError.at(path, line, f"document_id {row['document_id']!r} is a part of keys and cannot hold a slash")
    source, value = given[0], row[given[0]]
    name = row.get("name") or (Path(value).name if source == "path" else f"{row['document_id']}.txt")
    media_type = row.get("media_type") or mimetypes.guess_type(str(name))[0]
    if media_type is None:
        raise DataError.at(path, line, f"media_type is missing, and the extension of {name!r} does not tell it")
    fields = {key: item for key, item in row.items() if key not in SOURCES}
    fields |= {"name": name, "media_type": media_type, **_content(path, line, source, value)}
    return make_record(BenchmarkDocument, fields, path, line)


def _content(path: Path, line: int, source: str, value: str) -> dict[str, Any]:
    if source == "text":
        return {"data": value.encode()}
    if source == "path":
        return {"path": _inner_file(path, line, value)}
    if source == "source_uri":
        return {"source_uri": value}
    try:
        return {"data": base64.b64decode(value, validate=True)}
    except binascii.Error as error:
        raise DataError.at(path, line, f"data_base64 is not base64: {error}") from error


def _inner_file(path: Path, line: int, value: str) -> Path:
    """Return the file that a row names, after seeing that it lies below the folder of ``path``, links followed."""
    if "\0" in value:
        raise DataError.at(path, line, f"path {value!r} holds a NUL")
    folder = path.parent.resolve()
    windows = PureWindowsPath(value)
    target = (folder / value).resolve()
    if windows.drive or windows.root or ".." in windows.parts or not target.is_relative_to(folder):
        raise DataError.at(path, line, f"path {value!r} must stay below {folder}")
    if not isfile(target):
        raise DataError.at(path, line, f"path {value!r}: there is no such file in {folder}")
    return target
