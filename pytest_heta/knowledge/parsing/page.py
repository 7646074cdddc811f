"""What every parser returns."""

from __future__ import annotations

from typing import NamedTuple


class Page(NamedTuple):
    """The text of one page; ``page_index`` counts the pages of the source from 0."""

    page_index: int
    text: str
