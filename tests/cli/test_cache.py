"""``python -m pytest_heta cache``, where knowledge bases point to tables on a server."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_heta.__main__ import main
from pytest_heta.engine.cache import KnowledgeBaseCache
from pytest_heta.engine.cache_folder import CacheFolder
from pytest_heta.engine.outside import Outside

KEY, OTHER = "0123456789abcdef", "fedcba9876543210"
RECIPE = """
from pathlib import Path

class Recipe:
    available_queries = ("words",)

    def build(self, *, name, objects, source_keys, progress=None):
        raise NotImplementedError

    def drop(self, directory):
        (Path(__file__).parent / (directory / "table.txt").read_text()).unlink()

class Without:
    build = Recipe.build

recipe, without = Recipe(), Without()
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A KB cache with one knowledge base that points to the "table" t1 and one that points to nothing."""
    (tmp_path / "r.py").write_text(RECIPE, encoding="utf-8")
    (tmp_path / "t1").touch()
    cache = KnowledgeBaseCache(tmp_path / "cache", notice=print)
    cache.open(KEY, build=save, label={"recipe": "tables"}, outside=Outside(print, str(tmp_path / "r.py"))).release()
    cache.open(OTHER, build=save, label={"recipe": "files"}).release()
    monkeypatch.chdir(tmp_path)
    return tmp_path / "cache"


def save(path: Path) -> None:
    """Point to the table."""
    (path / "table.txt").write_text("t1", encoding="utf-8")


def keys(folder: Path) -> list[str]:
    """Return the keys of what is in a cache."""
    return [entry.key for entry in KnowledgeBaseCache(folder, notice=print).list_entries()]


def run(folder: Path, *arguments: str) -> int:
    """Run a command on the cache."""
    command, *others = arguments
    return main(["cache", command, "--kb-cache", str(folder), *others])


def test_ls_says_which_point_outside(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """And whose ``drop`` removes what they point to; what a killed build has left is listed with them."""
    outside = Outside(print, "other.py")
    save(CacheFolder(folder).begin_build("abab", outside.mark(1)) / "files")
    run(folder, "ls")
    first, second, third, total = capsys.readouterr().out.splitlines()
    assert first.endswith(f"  (points outside of the cache: {folder.parent / 'r.py'})  recipe=tables")
    assert "outside" not in second
    assert third.startswith("abab  ")
    assert third.endswith("  (unfinished)  (points outside of the cache: other.py)")
    assert total.startswith("3 knowledge bases, ")


def test_rm_keeps_what_points_outside_and_says_how_to_remove_it(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The exit code is 1; what points to nothing is removed."""
    assert run(folder, "rm", "0123", "fedc") == 1
    out, err = capsys.readouterr()
    assert err == (
        "0123456789ab points outside of the cache, such as to a table on a server, and is kept: "
        f"--recipe={folder.parent / 'r.py'} removes both, --forget leaves there what it points to\n"
    )
    assert [line[:17] for line in out.splitlines()] == ["0 knowledge bases", "1 knowledge base,"]
    assert keys(folder) == [KEY]


def test_rm_with_the_recipe_removes_both(folder: Path) -> None:
    """The recipe is named as for --heta-recipe."""
    assert run(folder, "rm", "0123", "--recipe", "r.py:recipe") == 0
    assert keys(folder) == [OTHER]
    assert not (folder.parent / "t1").exists()


def test_rm_keeps_what_cannot_be_dropped(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The error is told; --forget removes the entry nevertheless."""
    (folder.parent / "t1").unlink()
    assert run(folder, "rm", "0123", "--recipe", "r.py") == 1
    assert "has outside of the cache cannot be removed: FileNotFoundError" in capsys.readouterr().out
    assert keys(folder) == [KEY, OTHER]
    assert run(folder, "rm", "0123", "--forget") == 0
    assert keys(folder) == [OTHER]


def test_rm_with_a_recipe_that_drops_nothing_is_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As is one that is not there."""
    assert run(folder, "rm", "0123", "--recipe", "r.py:without") == 2
    assert "recipe r.py:without has no drop: it makes nothing outside of the cache" in capsys.readouterr().err
    assert run(folder, "rm", "0123", "--recipe", "none.py") == 2
    assert "no such file" in capsys.readouterr().err
    assert keys(folder) == [KEY, OTHER]


def test_gc_says_what_it_never_collects(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Whatever the limit."""
    assert run(folder, "gc", "--limit", "0") == 0
    removed, kept = capsys.readouterr().out.splitlines()
    assert removed.startswith("1 knowledge base, ")
    assert kept.startswith("1 knowledge base, ")
    assert kept.endswith(" never collected, as they point outside of the cache (see `cache ls`, `cache rm --recipe`)")
    assert keys(folder) == [KEY]
