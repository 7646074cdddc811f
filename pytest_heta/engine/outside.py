"""What belongs to a cached knowledge base but lies outside of the cache, such as a table on a server."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

MARK = "outside.json"


@dataclass(frozen=True)
class OutsideMark:
    """Stands beside an entry that must not go without what lies outside.

    ``recipe`` tells people whose ``drop`` can remove that, ``fingerprint`` tells recipes apart; ``session`` made it.
    """

    recipe: str
    fingerprint: str
    session: int


@dataclass(frozen=True)
class Outside:
    """``drop(path)`` removes what the saved files at ``path`` point to; ``recipe`` and ``fingerprint`` as in a mark."""

    drop: Callable[[Path], Any]
    recipe: str = ""
    fingerprint: str = ""

    def mark(self, session: int) -> OutsideMark:
        """Return the mark of what a session makes."""
        return OutsideMark(self.recipe, self.fingerprint, session)


def write_mark(folder: Path, mark: OutsideMark) -> None:
    """Mark an entry that is about to be built."""
    (folder / MARK).write_text(json.dumps(asdict(mark)), encoding="utf-8")


def read_mark(folder: Path) -> OutsideMark | None:
    """Return an entry's mark, one that says nothing where it is damaged, or None where there is none."""
    try:
        return OutsideMark(**json.loads((folder / MARK).read_bytes()))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError):
        return OutsideMark("", "", 0)
