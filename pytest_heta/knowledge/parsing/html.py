"""HTML to text, through selectolax (the Lexbor engine)."""

from __future__ import annotations

import re

from pytest_heta.errors import BuildError
from pytest_heta.knowledge.extras import require
from pytest_heta.knowledge.parsing.page import Page
from pytest_heta.knowledge.parsing.text import decode

_CHARSET = re.compile(rb"""<meta[^>]+charset\s*=\s*["']?\s*([a-zA-Z0-9_.:-]+)""", re.IGNORECASE)
_CHARSET_WITHIN = 2048
_INVISIBLE = ["script", "style", "noscript", "template", "svg", "iframe"]
_BLOCKS = (
    "address,article,aside,blockquote,br,caption,dd,details,div,dl,dt,fieldset,figcaption,figure,footer,form,h1,h2,h3,"
    "h4,h5,h6,header,hr,legend,li,main,nav,ol,option,p,pre,section,summary,table,tr,ul"
)
_CELLS = "td,th"
# A noncharacter: it stands for a line break of the page, which white space in the source is not.
_BREAK = "\ufdd0"


def parse_html(data: bytes) -> list[Page]:
    """Return title and body as one page: a line for each block or table row, cells apart, nothing invisible.

    Raises:
        BuildError: there is no text in it.
        RecipeError: selectolax is not installed.
    """
    if not data.strip():
        raise BuildError("the file is empty")
    tree = require("selectolax.lexbor", "pdf").LexborHTMLParser(_decode(data).replace(_BREAK, " "))
    title = tree.css_first("title")
    heading = title.text() if title is not None else ""
    tree.strip_tags(_INVISIBLE)
    for node in tree.css(_BLOCKS):
        node.insert_before(_BREAK)
        node.insert_after(_BREAK)
    for node in tree.css(_CELLS):
        node.insert_after(" ")
    body = tree.body.text(deep=True) if tree.body is not None else ""
    lines = [" ".join(line.split()) for line in [heading, *body.split(_BREAK)]]
    text = "\n".join(line for line in lines if line)
    if not text:
        raise BuildError("there is no text in it")
    return [Page(0, text)]


def _decode(data: bytes) -> str:
    """Read as browsers do: by the mark, as UTF-8, or in the declared encoding, a wrong byte becoming U+FFFD."""
    try:
        return decode(data, fallback=None)
    except UnicodeDecodeError:
        declared = _CHARSET.search(data, 0, _CHARSET_WITHIN)
    try:
        return data.decode(declared.group(1).decode("ascii") if declared else "cp1252", "replace")
    except LookupError:
        return data.decode("cp1252", "replace")
