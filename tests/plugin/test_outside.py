"""Runs whose knowledge bases lie on a server leave nothing there, however they end."""

from __future__ import annotations

import os
import signal
import time

import pytest

from pytest_heta.__main__ import main
from tests.plugin.noting import EVALUATION, noted, ran, started, write_noting
from tests.plugin.project import ALONE, N2, Project

TABLES = """
from uuid import uuid4

SERVER = Path(__file__).with_name("server")

class TableBase(Base):
    def __init__(self, name, table, saved):
        super().__init__(name)
        self.table, self.saved = table, saved

    def save(self, directory):
        (directory / "name.txt").write_text(self.table.name)
        self.saved = True

    def close(self):
        super().close()
        if not self.saved:
            self.table.unlink()

class TableRecipe(Recipe):
    keep = Path(__file__).with_name("keep.txt").exists()

    async def build(self, *, name, objects, source_keys, progress=None):
        note("build", name)
        SERVER.mkdir(exist_ok=True)
        table = SERVER / uuid4().hex
        table.touch()
        try:
            await self.fill()
        except BaseException:
            table.unlink()
            raise
        return TableBase(name, table, saved=False)

    async def fill(self):
        pass

    def load(self, directory, *, name):
        return TableBase(name, SERVER / (directory / "name.txt").read_text(), saved=True)

    def drop(self, directory):
        (SERVER / (directory / "name.txt").read_text()).unlink()

recipe = TableRecipe()
"""


def tables(project: Project) -> int:
    """Return how many tables the server has."""
    return len(list((project.path / "server").iterdir()))


def left_in_cache(project: Project) -> list[str]:
    """Return what is in the KB cache, apart from locks."""
    cache = project.path / "cache" / "knowledge_bases"
    return [path.name for path in cache.rglob("*") if path.is_file() and path.parent.name != "locks"]


@pytest.mark.parametrize("option", ["--heta-rebuild", "--heta-kb-cache=off", "--heta-open-kbs=1"])
def test_a_run_leaves_nothing(spread: Project, option: str) -> None:
    """Neither on the server nor in the cache; no unit is built twice for it."""
    write_noting(spread, units=3, cases=8, recipe=TABLES)
    result = spread.run(*EVALUATION, option)
    result.assert_outcomes(passed=24)
    assert "cannot be removed" not in ran(result)
    assert len(noted(spread, "build")) == 3
    assert (tables(spread), left_in_cache(spread)) == (0, [])


def test_what_is_kept_is_removed_by_the_command(
    spread: Project, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A recipe that keeps its tables builds once; ``cache rm --recipe`` removes table and entry."""
    write_noting(spread, cases=8, recipe=TABLES)
    spread.write("keep.txt", "")
    for _ in range(2):
        spread.run(*EVALUATION).assert_outcomes(passed=8)
    assert (len(noted(spread, "build")), tables(spread)) == (1, 1)
    monkeypatch.chdir(spread.path)
    capsys.readouterr()
    main(["cache", "ls"])
    key = capsys.readouterr().out[:12]
    assert main(["cache", "rm", key]) == 1
    assert f"--recipe={spread.path / 'r.py'} removes both" in capsys.readouterr().err
    assert main(["cache", "rm", key, "--recipe=r.py"]) == 0
    assert (tables(spread), left_in_cache(spread)) == (0, [])


def test_a_build_that_fails_leaves_nothing(spread: Project) -> None:
    """Each of its cases has the error."""
    failing = "async def fill(self):\n    raise ValueError('full')\n\nTableRecipe.fill = fill\n"
    write_noting(spread, cases=8, recipe=TABLES + failing)
    spread.run(*EVALUATION).assert_outcomes(errors=8)
    assert (tables(spread), left_in_cache(spread)) == (0, [])


DYING = """
async def query(self, text, **options):
    if os.environ.get("PYTEST_XDIST_WORKER"):
        os.kill(os.getpid(), 9)

TableBase.query = query
"""


def test_the_controller_removes_what_dead_workers_built(project: Project) -> None:
    """Where no worker is left to do so."""
    write_noting(project, cases=8, recipe=TABLES + DYING)
    project.spread = ("-p", "xdist", "-n1", "--max-worker-restart=0")
    project.run(*EVALUATION)
    assert len(noted(project, "build")) == 1
    assert (tables(project), left_in_cache(project)) == (0, [])


FILLING = """
async def fill(self):
    note("begin", "fill")
    await asyncio.sleep(100)

TableRecipe.fill = fill
"""
ASKING = "SECONDS = 100\n"


@pytest.mark.parametrize("spread", [ALONE, N2])
@pytest.mark.parametrize(("slow", "event"), [(FILLING, "begin"), (ASKING, "ask")])
def test_ctrl_c_leaves_nothing(project: Project, spread: tuple[str, ...], slow: str, event: str) -> None:
    """Be it in the midst of a build or of queries."""
    write_noting(project, units=2, cases=8, recipe=TABLES + slow)
    project.spread = spread
    process = started(project)
    deadline = time.monotonic() + 60
    while not noted(project, event) and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.005)
    os.killpg(process.pid, signal.SIGINT)
    assert process.wait(timeout=60) == pytest.ExitCode.INTERRUPTED
    assert (tables(project), left_in_cache(project)) == (0, [])


def test_what_cannot_be_removed_at_the_end_is_told(project: Project) -> None:
    """pytest has printed its warnings by then: it is told after them, and the exit code is that of the cases."""
    deaf = "def drop(self, directory):\n    raise OSError('not today')\n\nTableRecipe.drop = drop\n"
    write_noting(project, cases=2, recipe=TABLES + deaf)
    result = project.run(*EVALUATION)
    assert result.ret == 0
    assert [line for line in result.errlines if "cannot be removed: OSError: not today" in line]
