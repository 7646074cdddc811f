"""Python's garbage collector, kept away from where it only costs time."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def collector_paused() -> Iterator[None]:
    """Pause the collector while a report's objects come into being."""
    # Close to a million objects come into being at once and none is garbage: collecting among them doubles the time.
    running = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if running:
            gc.enable()
