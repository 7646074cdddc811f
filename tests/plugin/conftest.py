"""The user's project in which the plugin is tested, without xdist, with ``-n0`` and with ``-n2``."""

from __future__ import annotations

import os

import pytest

# pytester forgets what was imported during a run in its own process, and numpy bears no second import.
import pytest_heta.benchmarks.beir
import pytest_heta.plugin.start
import pytest_heta.reports.significance  # noqa: F401
from tests.plugin.project import ALONE, SEARCH, SPREADS, Project

# Under which pytest, or this plugin, prints other things than at a desk.
_OF_CI = {"CI", "BUILD_NUMBER", "GITHUB_STEP_SUMMARY", "PYTEST_ADDOPTS"}


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A project whose runs use no xdist and none of the plugins that happen to be installed."""
    for name in [name for name in os.environ if name.startswith("HETA_") or name in _OF_CI]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("HETA_CACHE_DIR", str(pytester.path / "cache"))
    made = Project(pytester, ALONE)
    made.write("pytest.ini", "[pytest]\n")
    made.benchmark()
    made.write("r.py", SEARCH)
    return made


@pytest.fixture(params=SPREADS)
def spread(project: Project, request: pytest.FixtureRequest) -> Project:
    """The project, whose runs go without xdist, with ``-n0`` and with ``-n2``."""
    project.spread = SPREADS[request.param]
    return project
