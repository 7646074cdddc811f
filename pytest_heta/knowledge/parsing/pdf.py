"""PDF to text, page by page, through pypdfium2."""

from __future__ import annotations

import re
import threading
from typing import Any

from pytest_heta.errors import BuildError
from pytest_heta.knowledge.extras import require
from pytest_heta.knowledge.parsing.page import Page

# PDFium works on state that all its documents share: one call at a time in a process.
_PDFIUM = threading.Lock()
_END_MARK, _END_WITHIN = b"%%EOF", 8192
# PDFium writes a hyphen that breaks a word at a line end as U+FFFE, in the place of hyphen and line break.
_BROKEN_WORD = re.compile("\ufffe(?:\r?\n)?")
_CONTROL = re.compile("[\x00-\x08\x0b\x0e-\x1f\x7f]")
# Only ligatures: full NFKC would also turn 10² into 102.
_LIGATURES = str.maketrans(
    {"ﬀ": "ff", "ﬁ": "fi", "ﬂ": "fl", "ﬃ": "ffi", "ﬄ": "ffl", "ﬅ": "st", "ﬆ": "st", "\u00ad": None}
)


def parse_pdf(data: bytes) -> list[Page]:
    """Return the pages that hold text. Line ends are ``\\n``, words broken over lines are joined, ligatures undone.

    Raises:
        BuildError: the file is empty, truncated, encrypted or damaged, or no page holds text (a scan).
        RecipeError: pypdfium2 is not installed.
    """
    if not data:
        raise BuildError("the file is empty")
    if _END_MARK not in data[-_END_WITHIN:]:
        raise BuildError("the file is truncated or no PDF (there is no %%EOF at its end)")
    pdfium = require("pypdfium2", "pdf")
    with _PDFIUM:
        texts = _page_texts(pdfium, data)
    pages = [Page(index, text) for index, text in enumerate(map(_clean, texts)) if text.strip()]
    if not pages:
        raise BuildError(f"none of its {len(texts)} pages holds text (scanned pages need OCR)")
    return pages


def _page_texts(pdfium: Any, data: bytes) -> list[str]:
    try:
        document = pdfium.PdfDocument(data)
    except pdfium.PdfiumError as error:
        if "password" in str(error).lower():
            raise BuildError("the file is encrypted") from error
        raise BuildError(f"the file is damaged or no PDF ({error})") from error
    try:
        return [_page_text(pdfium, document, index) for index in range(len(document))]
    finally:
        document.close()


def _page_text(pdfium: Any, document: Any, index: int) -> str:
    try:
        page = document[index]
    except pdfium.PdfiumError as error:
        raise BuildError(f"page {index + 1} of {len(document)} is damaged ({error})") from error
    try:
        textpage = page.get_textpage()
        try:
            return str(textpage.get_text_range())
        finally:
            textpage.close()
    finally:
        page.close()


def _clean(text: str) -> str:
    joined = _BROKEN_WORD.sub("", text).replace("\r\n", "\n").replace("\r", "\n")
    return _CONTROL.sub(" ", joined.translate(_LIGATURES))
