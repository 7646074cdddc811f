"""What makes one run of several processes: its name and its beginning, made once and told to xdist workers."""

from __future__ import annotations

import time
import uuid
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from pytest_heta.errors import UnknownNameError
from pytest_heta.plugin.options import LAST_RUN, option_value

HOST = "heta_host"
"""What a worker on another machine is told beside."""

_RUN: pytest.StashKey[dict[str, Any]] = pytest.StashKey()


def worker_input(config: pytest.Config) -> dict[str, Any]:
    """Return what all processes of a run must agree on: exact builtins only."""
    told: dict[str, Any] = getattr(config, "workerinput", {})
    if "heta_run_id" in told:
        return told
    if _RUN not in config.stash:
        config.stash[_RUN] = {"heta_start_ns": time.time_ns(), "heta_run_id": _run_id(config)}
    return config.stash[_RUN]


def new_run_id() -> str:
    """Return a name for a run that sorts by time."""
    now = datetime.now(UTC)
    return f"{now:%Y%m%dT%H%M%S}{now.microsecond // 1000:03}Z-{uuid.uuid4().hex[:8]}"


def runs_folder(config: pytest.Config) -> Path:
    """Return the folder in which all runs of a project lie."""
    return config.rootpath / ".heta" / "runs"


def resumes(config: pytest.Config) -> bool:
    """Tell whether this run goes on with an earlier one, whose id it then has."""
    return option_value(config, "--heta-resume") is not None


def _run_id(config: pytest.Config) -> str:
    wanted, folder = option_value(config, "--heta-resume"), runs_folder(config)
    if wanted is None:
        return new_run_id()
    known = sorted(path.name for path in folder.iterdir() if path.is_dir()) if folder.is_dir() else []
    if wanted == LAST_RUN and known:
        return known[-1]
    if wanted not in known:
        raise UnknownNameError(f"run in {folder} (write --heta-resume=RUN)", wanted, known[-5:])
    return str(wanted)
