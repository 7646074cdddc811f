"""Where the parts of a saved knowledge base lie in its folder."""

from __future__ import annotations

from pathlib import Path

FORMAT_VERSION = 1
"""Raised whenever older files can no longer be read, or would be read as something else."""


class Layout:
    """``knowledge_base.json`` (what it is; written last), ``chunks/`` (the chunk table), ``modes/{mode}/``."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self.manifest = directory / "knowledge_base.json"
        self.chunks = directory / "chunks"

    def mode(self, name: str) -> Path:
        """Return the folder of one mode's index."""
        return self._directory / "modes" / name
