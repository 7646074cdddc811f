"""``python -m pytest_heta``."""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_heta.__main__ import main
from pytest_heta.cli.cache import format_size, parse_size
from pytest_heta.engine.cache import CacheEntry, KnowledgeBaseCache

FIRST, SECOND = "0123456789abcdef", "fedcba9876543210"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A KB cache with two knowledge bases of about 2 kB."""
    for key in (FIRST, SECOND):
        store(tmp_path, key).release()
    return tmp_path


def store(folder: Path, key: str) -> CacheEntry:
    """Open a knowledge base, building it where it is missing."""
    cache = KnowledgeBaseCache(folder, notice=print)

    def build(path: Path) -> None:
        (path / "x").write_bytes(b"x" * 2000)

    return cache.open(key, build=build, label={"knowledge_base": "sample", "recipe": "bm25.py"})


def test_ls(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """``cache ls`` lists each entry with key, size, use, build time and label, and a total."""
    with store(folder, SECOND):
        assert main(["cache", "ls", "--kb-cache", str(folder)]) == 0
    first, second, total = capsys.readouterr().out.splitlines()
    assert first.startswith("0123456789ab  ")
    assert first.endswith(" s  knowledge_base=sample recipe=bm25.py")
    assert second.startswith("fedcba987654  ")
    assert "(in use)" in second
    assert "(in use)" not in first
    assert total.startswith("2 knowledge bases, ")


def test_ls_damaged(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """``cache ls`` marks an entry whose manifest cannot be read."""
    with store(folder, FIRST) as entry:
        (entry.path.parent / "manifest.json").write_text("{")
    main(["cache", "ls", "--kb-cache", str(folder)])
    assert "(damaged)" in capsys.readouterr().out


def test_rm(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """``cache rm`` removes what a prefix names; what is in use stays, is reported, and makes the exit code 1."""
    assert main(["cache", "rm", "--kb-cache", str(folder), "0123"]) == 0
    assert capsys.readouterr().out.startswith("1 knowledge base, ")
    with store(folder, SECOND):
        assert main(["cache", "rm", "--kb-cache", str(folder), "fedc"]) == 1
    assert "1 in use, not removed" in capsys.readouterr().err
    assert main(["cache", "rm", "--kb-cache", str(folder), "0123"]) == 2
    assert "error: no knowledge base in" in capsys.readouterr().err


def test_gc(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """``cache gc --limit`` removes the least recently used entries above a size."""
    store(folder, FIRST).release()
    assert main(["cache", "gc", "--kb-cache", str(folder), "--limit", "4kB"]) == 0
    assert capsys.readouterr().out.startswith("1 knowledge base, ")
    assert [entry.key for entry in KnowledgeBaseCache(folder, notice=print).list_entries()] == [FIRST]


@pytest.mark.parametrize(
    ("text", "size"),
    [("0", 0), ("12", 12), ("500MB", 500_000_000), ("20GiB", 20 * 2**30), ("1.5 k", 1500), ("2tb", 2 * 10**12)],
)
def test_sizes(text: str, size: int) -> None:
    """Sizes are read with decimal and binary prefixes, in any case."""
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "-1", "1XB", "big"])
def test_bad_sizes(text: str) -> None:
    """What is no size is refused with an example."""
    with pytest.raises(argparse.ArgumentTypeError, match="not a size"):
        parse_size(text)


@pytest.mark.parametrize(
    ("size", "text"), [(0, "0 B"), (999, "999 B"), (1000, "1 kB"), (31_400_000, "31.4 MB"), (2 * 10**12, "2 TB")]
)
def test_shown_sizes(size: int, text: str) -> None:
    """Sizes are shown with three digits."""
    assert format_size(size) == text


@pytest.mark.parametrize("arguments", [[], ["nonsense"], ["cache"], ["cache", "gc", "--limit", "big"]])
def test_bad_usage(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """What cannot be understood prints the usage and ends with exit code 2."""
    with pytest.raises(SystemExit) as exit_:
        main(arguments)
    assert exit_.value.code == 2
    assert "usage: python -m pytest_heta" in capsys.readouterr().err


def test_as_a_program(tmp_path: Path) -> None:
    """``python -m pytest_heta cache ls`` runs, and takes the default folder from HETA_CACHE_DIR."""
    command = [sys.executable, "-m", "pytest_heta", "cache", "ls"]
    done = subprocess.run(command, env={"HETA_CACHE_DIR": str(tmp_path)}, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"0 knowledge bases, 0 B in {tmp_path / 'knowledge_bases'}\n"
