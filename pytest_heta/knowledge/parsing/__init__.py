"""From the bytes of one document to its pages of text."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import PurePosixPath

from pytest_heta.errors import BuildError
from pytest_heta.knowledge.parsing.page import Page
from pytest_heta.knowledge.parsing.text import decode, parse_text

__all__ = ["PARSER_DISTRIBUTIONS", "Page", "parse"]

PARSER_DISTRIBUTIONS = ("pypdfium2", "selectolax")
"""The libraries whose version can change what a document says."""

_TEXT_ENDINGS = (".txt", ".text", ".md", ".markdown", ".rst", ".csv", ".tsv", ".json", ".jsonl", ".log", ".tex")
_HTML_ENDINGS = (".html", ".htm", ".xhtml")


def parse(name: str, data: bytes, media_type: str | None = None) -> list[Page]:
    """Return the pages of a document that hold text, in order; their ``page_index`` counts from 0.

    The ending of ``name`` says what the document is, then ``media_type``; anything else is text if it is valid UTF-8.
    Texts, Markdown and HTML are one page. A text file may be empty; it has no pages then.

    Raises:
        BuildError: the file cannot be read (encrypted, truncated, empty, without text, of unknown type); names it.
        RecipeError: the parser for such files is not installed.
    """
    try:
        return _parser(name, data, media_type)(data)
    except BuildError as error:
        raise BuildError(f"cannot read {name!r}: {error}") from error


def _parser(name: str, data: bytes, media_type: str | None) -> Callable[[bytes], list[Page]]:
    ending = PurePosixPath(name).suffix.lower()
    kind = (media_type or "").partition(";")[0].strip().lower()
    if ending in _TEXT_ENDINGS:
        return parse_text
    if ending == ".pdf":
        return _parse_pdf
    if ending in _HTML_ENDINGS:
        return _parse_html
    if kind == "application/pdf":
        return _parse_pdf
    if kind in ("text/html", "application/xhtml+xml"):
        return _parse_html
    if kind.startswith("text/") or kind == "application/json":
        return parse_text
    return lambda data: parse_text(_must_be_utf8(data, ending or kind))


def _must_be_utf8(data: bytes, what: str) -> bytes:
    try:
        decode(data, fallback=None)
    except UnicodeDecodeError:
        raise BuildError(f"no parser for files of type {what!r} (known: text, Markdown, HTML, PDF)") from None
    return data


def _parse_pdf(data: bytes) -> list[Page]:
    from pytest_heta.knowledge.parsing.pdf import parse_pdf

    return parse_pdf(data)


def _parse_html(data: bytes) -> list[Page]:
    from pytest_heta.knowledge.parsing.html import parse_html

    return parse_html(data)
