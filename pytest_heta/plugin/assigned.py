"""What a worker of xdist has been given to run, so that it asks no case ahead that another worker will ask."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

CaseKey = tuple[Any, str, str, str]
"""Evaluation, unit id, mode, case id."""


def assigned_cases(
    config: pytest.Config, cases: Sequence[CaseKey | None]
) -> Callable[[Any, str, str], set[str]] | None:
    """Return what tells the case ids, of an evaluation's unit in a mode, that this worker is yet to run.

    ``cases`` are those of all items in order, None for one that asks none. Where the process is no worker, or xdist
    does not let its queue be looked at, the result is None.
    """
    worker = next((one for one in config.pluginmanager.get_plugins() if type(one).__name__ == "WorkerInteractor"), None)
    if worker is None or not hasattr(worker, "torun"):
        return None

    def due(evaluation: Any, unit_id: str, mode: str) -> set[str]:
        with worker.torun.lock() as waiting:
            items = [getattr(worker, "item_index", None), worker.nextitem_index, *waiting]
        found = (cases[item] for item in items if isinstance(item, int))
        return {case[3] for case in found if case is not None and case[:3] == (evaluation, unit_id, mode)}

    return due
