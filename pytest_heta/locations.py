"""Where pytest-heta keeps what outlives a run, unless it is told otherwise."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def default_cache_dir() -> Path:
    """Return the folder for downloads and built knowledge bases; it need not exist.

    HETA_CACHE_DIR if set, else ``pytest-heta`` in the user's cache folder: XDG_CACHE_HOME if set to an absolute path
    (others are invalid by the XDG Base Directory Specification), else the platform's own.
    """
    told = os.environ.get("HETA_CACHE_DIR")
    return Path(told).expanduser() if told else _user_cache_dir() / "pytest-heta"


def kb_cache_dir(cache_dir: Path | None = None) -> Path:
    """Return the folder of the KB cache inside a cache folder, by default inside ``default_cache_dir()``."""
    return (cache_dir or default_cache_dir()) / "knowledge_bases"


def _user_cache_dir() -> Path:
    told = Path(os.environ.get("XDG_CACHE_HOME", ""))
    if told.is_absolute():
        return told
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    return Path.home() / ".cache"
