"""What belongs together when items are distributed; apart from the scheduler, so that xdist need not be there."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Affinity:
    """What items have in common that belong together: a run unit. ``shareable``: several workers may open its KB."""

    unit: str
    shareable: bool
