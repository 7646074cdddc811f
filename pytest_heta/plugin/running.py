"""The case item that runs now, for its fixtures.

A fixture that asks for ``request`` is dear: pytest makes one anew each time, which adds up over thousands of cases.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pytest_heta.plugin.nodes import CaseItem

_running: list[CaseItem] = []


def begin(item: CaseItem) -> None:
    """Make this the running item; it has begun its set-up."""
    _running[:] = [item]


def end() -> None:
    """Note that no case item runs: the last has been torn down."""
    _running.clear()


def running_item() -> CaseItem:
    """Return the running item; a test that is none is told so."""
    if not _running:
        pytest.fail("the fixtures heta_kb, heta_case, heta_response and heta_scores belong to benchmark cases", False)
    return _running[0]
