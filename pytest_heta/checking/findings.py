"""What a check finds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Verdict = Literal["ok", "wrong", "skipped"]


@dataclass(frozen=True)
class Finding:
    """The verdict of one check; ``mode`` is empty where the check is not about one mode."""

    check: str
    verdict: Verdict
    message: str
    mode: str = ""

    def __str__(self) -> str:
        """Return a line for people."""
        place = f"{self.check} [{self.mode}]" if self.mode else self.check
        return f"{self.verdict:7} {place}: {self.message}"
