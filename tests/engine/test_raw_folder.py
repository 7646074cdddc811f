"""Raw documents lie in a temporary folder that does not outlive its build for long, however that ends."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_heta.engine.raw_folder import raw_folder

HOLDER = """
from pytest_heta.engine.raw_folder import raw_folder
with raw_folder() as folder:
    (folder / "document").write_text("x")
    print(folder, flush=True)
    input()
"""


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of temporary files."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


@pytest.fixture
def holder(root: Path) -> Iterator[tuple[subprocess.Popen[str], Path]]:
    """Another process that has a raw folder."""
    command = [sys.executable, "-c", HOLDER]
    environment = {**os.environ, "TMPDIR": str(root), "TEMP": str(root)}
    with subprocess.Popen(
        command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        yield process, Path(process.stdout.readline().strip())
        process.kill()


def test_it_is_there_and_then_it_is_not(root: Path) -> None:
    """Whatever happens inside; nothing is left beside it."""

    def work() -> None:
        with raw_folder() as folder, raw_folder() as another:
            assert folder.is_dir()
            assert another.is_dir()
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        work()
    assert list(root.iterdir()) == []


def test_one_of_a_killed_process_goes_with_the_next(root: Path, holder: tuple[subprocess.Popen[str], Path]) -> None:
    """While the process lives, its folder is left alone."""
    process, folder = holder
    with raw_folder():
        assert (folder / "document").exists()
    process.kill()
    process.wait()
    assert folder.exists()
    with raw_folder():
        assert not folder.exists()
    assert list(root.iterdir()) == []


def test_what_is_not_of_this_host_is_left_alone(root: Path) -> None:
    """A lock may not reach from host to host, as a folder does."""
    others = root / "heta-raw-another.host-0123"
    others.mkdir()
    with raw_folder():
        pass
    assert others.is_dir()
