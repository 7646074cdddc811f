"""Relevance judgements (qrels): BEIR's three columns or TREC's four."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from pytest_heta.datasets.lines import read_lines
from pytest_heta.errors import DataError

_GRADE = re.compile(r"[+-]?[0-9]+")
_QUOTED = re.compile(r'"((?:[^"]|"")*)"')
_HEADERS = frozenset({"queryid", "qid", "query", "topic", "topicid"})


class Judgement(NamedTuple):
    """One row: how relevant a document is to a query. ``grade`` above 0 is relevant, 0 and below is not."""

    line: int
    query_id: str
    document_id: str
    grade: int


def read_qrels(path: Path) -> dict[str, dict[str, int]]:
    """Return ``{query id: {document id: grade}}`` in the order of the file. The same row twice counts once.

    Raises:
        DataError: the file cannot be read, holds no judgement, or a row is malformed or contradicts an earlier one.
    """
    qrels: dict[str, dict[str, int]] = {}
    for line, query_id, document_id, grade in judgements(path):
        grades = qrels.setdefault(query_id, {})
        if grades.setdefault(document_id, grade) != grade:
            earlier = f"{grades[document_id]} on line {first_line(path, query_id, document_id)}"
            message = f"query {query_id!r}, document {document_id!r} is graded {grade} here and {earlier}"
            raise DataError.at(path, line, message)
    if not qrels:
        raise DataError.at(path, None, "holds no judgement")
    return qrels


def judgements(path: Path) -> Iterator[Judgement]:
    """Yield the rows of a qrels file.

    Rows are ``query <tab> document <tab> grade`` (BEIR; ids may hold spaces) or ``query iteration document grade``
    (TREC; any white space), under a header or none. A field in double quotes is read as ``csv`` writes it.

    Raises:
        DataError: the file cannot be read, or a row is malformed (``path:line: what``).
    """
    first = True
    for line, text in read_lines(path):
        query_id, document_id, grade = _columns(path, line, text)
        is_header = first and not _GRADE.fullmatch(grade) and _is_query_column(query_id)
        first = False
        if is_header:
            continue
        if not _GRADE.fullmatch(grade):
            raise DataError.at(path, line, f"grade {grade!r} is not an integer")
        if not query_id.strip() or not document_id.strip():
            raise DataError.at(path, line, "an id is blank")
        yield Judgement(line, query_id, document_id, int(grade))


def first_line(path: Path, query_id: str, document_id: str | None = None) -> int:
    """Return the line of the first row of a query, or of one document of it. The row must exist."""
    return next(row.line for row in judgements(path) if query_id == row.query_id and document_id in {None, row[2]})


def _columns(path: Path, line: int, text: str) -> tuple[str, str, str]:
    fields = [_unquoted(field) for field in text.split("\t")] if "\t" in text else text.split()
    if len(fields) == 3 and "\t" in text:
        return fields[0], fields[1], fields[2].strip()
    if len(fields) == 4:
        return fields[0], fields[2], fields[3].strip()
    kind = "tab-separated columns" if "\t" in text else "columns and no tab"
    raise DataError.at(
        path, line, f"expected query, document, grade with tabs between them, found {len(fields)} {kind}"
    )


def _unquoted(field: str) -> str:
    match = _QUOTED.fullmatch(field)
    return match.group(1).replace('""', '"') if match else field


def _is_query_column(name: str) -> bool:
    return name.strip().lower().replace("-", "").replace("_", "").replace(" ", "") in _HEADERS
