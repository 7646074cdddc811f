"""The questions of one UDA subset: the rows of its CSV file joined with its extended items."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from hashlib import sha256
from pathlib import Path
from typing import Any

from pytest_heta.benchmarks.uda_subsets import Subset
from pytest_heta.datasets.delimited import DelimitedRow, read_delimited
from pytest_heta.datasets.json_file import read_json
from pytest_heta.errors import DataError, UsageError

_BROKEN_ROW = "8114"
"""q_uid of the one row of the published files that a stray line end breaks in two."""


class MendedDataWarning(UserWarning):
    """Malformed data that could be mended without loss."""


@dataclass(frozen=True)
class Question:
    """One row of the CSV file. ``document_id`` is the file-name form of ``doc_name``."""

    line: int
    doc_name: str
    document_id: str
    q_uid: str
    text: str
    cells: Mapping[str, str]


def read_questions(subset: Subset, path: Path, *, on_mended: Callable[[str], None] | None = None) -> list[Question]:
    """Return all questions of a ``|``-separated QA file, in order.

    ``on_mended`` is told about a row that had to be joined.

    Raises:
        DataError: for a malformed file or row, no rows, a blank doc_name, q_uid or question, and a q_uid given twice.

    """
    columns = ("doc_name", "q_uid", "question", *subset.columns)

    def is_broken(fields: list[str]) -> bool:
        return subset.name == "feta" and fields[1:2] == [_BROKEN_ROW]

    rows = list(read_delimited(path, delimiter="|", required=columns, is_broken=is_broken))
    _check(path, rows)
    for row in rows:
        if row.joined_line is not None and on_mended:
            on_mended(
                f"{path}:{row.line}: q_uid {row.values['q_uid']} is broken over the lines {row.line} and "
                f"{row.joined_line}; they were joined"
            )
    ids = document_ids(row.values["doc_name"] for row in rows)
    return [_question(row, ids) for row in rows]


def _check(path: Path, rows: list[DelimitedRow]) -> None:
    if not rows:
        raise DataError(f"{path}: no questions below the header")
    seen: dict[str, int] = {}
    for row in rows:
        for column in ("doc_name", "q_uid", "question"):
            if not row.values[column].strip():
                raise DataError.at(path, row.line, f"{column} is blank")
        before = seen.setdefault(row.values["q_uid"].strip(), row.line)
        if before != row.line:
            raise DataError.at(path, row.line, f"q_uid {row.values['q_uid']!r} was given before, in line {before}")


def _question(row: DelimitedRow, ids: Mapping[str, str]) -> Question:
    cells = row.values
    doc_name = cells["doc_name"]
    return Question(row.line, doc_name, ids[doc_name], cells["q_uid"].strip(), cells["question"], cells)


def document_ids(doc_names: Iterable[str]) -> dict[str, str]:
    """Map each doc_name to its document id: ASCII letters and digits kept, each run of anything else one ``_``.

    Names that would get the same id, also but for case (ids become file names), get 8 hex digits of their sha256 behind
    it, so that the ids of different names differ.
    """
    slugs = {
        name: re.sub("[^0-9A-Za-z]+", "_", unicodedata.normalize("NFC", name)) for name in dict.fromkeys(doc_names)
    }
    shared = Counter(slug.casefold() for slug in slugs.values())
    return {
        name: slug if shared[slug.casefold()] == 1 else f"{slug}_{sha256(name.encode()).hexdigest()[:8]}"
        for name, slug in slugs.items()
    }


def select_documents(subset: Subset, names: Mapping[str, str], docs: Iterable[str]) -> set[str]:
    """Return the ids of the documents that ``docs`` names, by doc_name or id; ``names`` maps all ids to doc_names.

    Raises:
        UsageError: for one that the subset does not have; names the nearest.

    """
    ids = {document_id: document_id for document_id in names}
    ids |= {doc_name: document_id for document_id, doc_name in names.items()}
    for wanted in docs:
        if wanted not in ids:
            near = get_close_matches(wanted, ids, n=3) or list(ids)[:3]
            raise UsageError(f"uda:{subset.name} has no document {wanted!r}; it has {', '.join(near)}, …")
    return {ids[wanted] for wanted in docs}


def read_extended(path: Path) -> dict[str, dict[str, Any]]:
    """Return the extended items (``{doc_name: [item, …]}``) by their q_uid as text.

    Raises:
        DataError: for malformed JSON, another layout, and a q_uid given twice.

    """
    content = read_json(path)
    if not isinstance(content, dict) or not all(isinstance(items, list) for items in content.values()):
        raise DataError(f"{path}: must be an object that maps a doc_name to a list of items")
    found: dict[str, dict[str, Any]] = {}
    for doc_name, items in content.items():
        for place, item in enumerate(items, start=1):
            if not isinstance(item, dict) or "q_uid" not in item or "answers" not in item:
                raise DataError(f"{path}: item {place} of {doc_name!r} must be an object with q_uid and answers")
            if found.setdefault(str(item["q_uid"]), item) is not item:
                raise DataError(f"{path}: item {place} of {doc_name!r}: q_uid {item['q_uid']!r} was given before")
    return found
