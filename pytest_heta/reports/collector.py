"""Python's garbage collector, kept away from where it only costs time.

A run of thousands of cases makes objects that live until its end: items, reports, results. Looking through them again
and again finds nothing and can take a quarter of the whole time.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

_RARELY = (20_000, 100, 10)


@contextmanager
def collector_paused() -> Iterator[None]:
    """Pause the collector while many objects come into being, none of which is garbage."""
    running = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if running:
            gc.enable()


class RareCollector:
    """Leaves out what exists when it begins, and looks at the rest more rarely, until it ends."""

    def __init__(self) -> None:
        """Begin."""
        self._thresholds = gc.get_threshold()
        gc.freeze()
        gc.set_threshold(*map(max, _RARELY, self._thresholds))

    def leave_out(self) -> None:
        """Leave out what exists now too."""
        gc.freeze()

    def end(self) -> None:
        """Put everything back."""
        gc.unfreeze()
        gc.set_threshold(*self._thresholds)
