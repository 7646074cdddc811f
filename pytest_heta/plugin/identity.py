"""What makes one run of several processes: its name and its beginning, made once and told to xdist workers."""

from __future__ import annotations

import time
import uuid
from datetime import UTC, datetime
from typing import Any

import pytest

_RUN: pytest.StashKey[dict[str, Any]] = pytest.StashKey()


def worker_input(config: pytest.Config) -> dict[str, Any]:
    """Return what all processes of a run must agree on: exact builtins only."""
    told: dict[str, Any] = getattr(config, "workerinput", {})
    if "heta_run_id" in told:
        return told
    if _RUN not in config.stash:
        config.stash[_RUN] = {"heta_start_ns": time.time_ns(), "heta_run_id": new_run_id()}
    return config.stash[_RUN]


def new_run_id() -> str:
    """Return a name for a run that sorts by time."""
    return f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{uuid.uuid4().hex[:8]}"
