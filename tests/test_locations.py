"""Where things are kept by default."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from pytest_heta.locations import default_cache_dir, kb_cache_dir


def test_own_variable_wins(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """HETA_CACHE_DIR is the cache folder itself."""
    monkeypatch.setenv("HETA_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", "/elsewhere")
    assert default_cache_dir() == tmp_path
    assert kb_cache_dir() == tmp_path / "knowledge_bases"
    assert kb_cache_dir(tmp_path / "given") == tmp_path / "given" / "knowledge_bases"


def test_xdg(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """An absolute XDG_CACHE_HOME holds the cache folder; a relative one is ignored, as its specification says."""
    monkeypatch.delenv("HETA_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert default_cache_dir() == tmp_path / "pytest-heta"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert default_cache_dir().is_absolute()


@pytest.mark.parametrize(
    ("platform", "expected"), [("linux", ".cache"), ("darwin", "Library/Caches"), ("win32", "AppData/Local")]
)
def test_platforms(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, platform: str, expected: str) -> None:
    """Without variables the platform's usual folder in the user's home is taken."""
    for name in ("HETA_CACHE_DIR", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    assert default_cache_dir() == tmp_path / expected / "pytest-heta"
