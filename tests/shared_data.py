"""Where the real benchmark data lies that some tests use, and how they are skipped without it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


def shared_data(relative: str) -> Path:
    """Return the path of one item of the real data, or skip the test and say why."""
    base = Path(os.environ.get("HETA_TEST_DATA") or ROOT.parent / "shared" / "data")
    path = base / relative
    if not path.exists():
        pytest.skip(f"real data not found: {path} (set HETA_TEST_DATA)")
    return path
