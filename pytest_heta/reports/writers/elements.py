"""HTML and SVG that is safe by construction: whatever is not made by ``element`` is escaped."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence


class Html(str):
    """Text that is markup already."""

    __slots__ = ()


def element(name: str, *content: str, **attributes: object) -> Html:
    """Return one element. Content that is not ``Html`` is escaped, as is every attribute.

    In the names of attributes a trailing ``_`` is dropped and others become ``-``; None leaves an attribute out.
    """
    pairs = ((key.rstrip("_").replace("_", "-"), value) for key, value in attributes.items() if value is not None)
    start = "".join(f' {key}="{html.escape(_text(value))}"' for key, value in pairs)
    return Html(f"<{name}{start}>{join(content)}</{name}>")


def join(parts: Iterable[str]) -> Html:
    """Return the parts one after the other, those that are not ``Html`` escaped."""
    return Html("".join(part if isinstance(part, Html) else html.escape(part, quote=False) for part in parts))


def _text(value: object) -> str:
    return f"{value:.5g}" if isinstance(value, float) else str(value)


def table(columns: Sequence[str], body: Iterable[Sequence[str]], *, texts: int = 1, caption: str = "") -> Html:
    """Return a table that scrolls by itself where it is too wide; all but the first ``texts`` columns hold numbers."""
    head = element(
        "tr",
        *(element("th", name, scope="col", class_=_class(place, texts)) for place, name in enumerate(columns)),
    )
    rows = (
        element("tr", *(element("td", cell, class_=_class(place, texts)) for place, cell in enumerate(cells)))
        for cells in body
    )
    title = element("caption", caption) if caption else Html()
    whole = element("table", title, element("thead", head), element("tbody", *rows))
    return element("div", whole, class_="scroll", tabindex=0, role="region", aria_label=caption or "table")


def _class(place: int, texts: int) -> str | None:
    return "text" if place < texts else "number"


def section(title: str, *content: str, id_: str) -> Html:
    """Return a section with its heading; nothing where there is no content."""
    found = join(content)
    return element("section", element("h2", title), found, id_=id_) if found else Html()
