"""A saved knowledge base can be read by whom its folder is meant for."""

from __future__ import annotations

from pathlib import Path

from pytest_heta.knowledge import Bm25, Recipe, TokenChunker
from tests.knowledge.helpers import build, raw


def test_saving_leaves_the_folder_as_open_as_it_was(tmp_path: Path) -> None:
    """A knowledge base is built in a folder that is closed to all others, but may be kept where a group reads it."""
    recipe = Recipe("words", chunker=TokenChunker(size=16, overlap=0), modes={"full_text_search": Bm25()})
    kb = build(recipe, {raw("cats"): "The cat is a small animal."})
    folder = tmp_path / "shared"
    folder.mkdir()
    folder.chmod(0o2775)
    kb.save(folder)
    kb.close()
    assert folder.stat().st_mode & 0o7777 == 0o2775
    assert {path.stat().st_mode & 0o077 for path in folder.rglob("*") if path.is_dir()} != {0}
