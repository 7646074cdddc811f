"""Plain text and its encodings."""

from __future__ import annotations

import codecs
import re

from pytest_heta.errors import BuildError
from pytest_heta.knowledge.parsing.page import Page

# The UTF-32 mark for little endian begins with the UTF-16 one, so it is looked for first.
_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_BINARY = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")


def decode(data: bytes, fallback: str | None = "cp1252") -> str:
    """Return the text: by its byte order mark, else as UTF-8, else in ``fallback``. Line ends become ``\\n``.

    Raises:
        UnicodeDecodeError: the bytes are not what their mark says, or not UTF-8 where ``fallback`` is None.
    """
    return _decode(data, fallback).replace("\r\n", "\n")


def _decode(data: bytes, fallback: str | None) -> str:
    for mark, encoding in _BYTE_ORDER_MARKS:
        if data.startswith(mark):
            return data[len(mark) :].decode(encoding)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        if fallback is None:
            raise
    try:
        return data.decode(fallback)
    except UnicodeDecodeError:
        return data.decode("latin-1")


def parse_text(data: bytes) -> list[Page]:
    """Return the text as one page, or no page where it is blank.

    Text that is not UTF-8 is read as Windows-1252 (the superset of Latin-1 that such files are in) unless it holds
    control characters, as no text does.

    Raises:
        BuildError: the bytes are no text.
    """
    try:
        text = decode(data, fallback=None if _BINARY.search(data) else "cp1252")
    except UnicodeDecodeError as error:
        raise BuildError(f"it is no text: byte {error.start} is not {error.encoding.upper()}") from None
    return [Page(0, text)] if text.strip() else []
