"""The plugin beside other plugins, and switched off."""

from __future__ import annotations

import pytest

from tests.plugin.project import EVALUATION, Project, clean, statuses

ASYNC_TESTS = """
import pytest

@pytest.fixture(autouse=True)
async def own():
    return 1

async def test_asyncio():
    pass

@pytest.mark.anyio
async def test_anyio(anyio_backend):
    pass
"""


def test_every_installed_plugin_may_be_on(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """Cases run beside async tests, with pytest-asyncio in auto mode, anyio, hypothesis and whatever is installed."""
    pytest.importorskip("pytest_asyncio")
    monkeypatch.delenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD")
    project.write("pytest.ini", "[pytest]\nasyncio_mode = auto\nasyncio_default_fixture_loop_scope = function\n")
    project.write("test_own.py", ASYNC_TESTS)
    project.spread = ()
    result = project.subprocess(*EVALUATION, "test_own.py", "r.py")
    result.assert_outcomes(passed=6)
    clean(result)


FLAKY = """
ASKED = []

def search(query, top_k):
    ASKED.append(query)
    if query == "pears" and ASKED.count("pears") == 1:
        raise ValueError("not yet")
    return {"apples": ["d1"], "pears": ["d2"], "fish": ["d3"], "stones": ["d4"]}[query]
"""

RERUN = """
import pytest

@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item, nextitem):
    runtestprotocol = item.config.pluginmanager.get_plugin("runner").runtestprotocol
    for attempt in (1, 2):
        reports = runtestprotocol(item, nextitem=nextitem, log=False)
        if attempt == 2 or not any(report.failed for report in reports):
            break
        item._initrequest()
    for report in reports:
        item.ihook.pytest_runtest_logreport(report=report)
    return True
"""
"""What pytest-rerunfailures does: run the phases of an item again, and report the last time."""


def test_a_case_that_is_run_again_counts_once(project: Project) -> None:
    """A case that fails and is run again is asked again; its last result counts."""
    project.write("r.py", FLAKY)
    project.write("conftest.py", RERUN)
    project.evaluate().assert_outcomes(passed=4)
    assert set(statuses(project.report()).values()) == {"finished"}
    assert project.report().score_summary["search.beir_ndcg@1"] == 1.0


def test_rerunfailures(project: Project) -> None:
    """The same holds for pytest-rerunfailures itself: the first try is a rerun, the second counts."""
    pytest.importorskip("pytest_rerunfailures")
    project.write("r.py", FLAKY)
    result = project.evaluate("-p", "rerunfailures", "--reruns=1")
    result.assert_outcomes(passed=4)
    assert "1 rerun" in result.outlines[-1]
    assert set(statuses(project.report()).values()) == {"finished"}


def test_the_plugin_can_be_switched_off(project: Project) -> None:
    """With -p no:heta suite files and options are unknown, and all else works."""
    project.write("small.heta.toml", 'benchmark = "data"\nrecipe = "r.py"\n')
    project.write("test_own.py", "def test_own(): pass\n")
    run = project.pytester.runpytest
    run("-p", "no:heta").assert_outcomes(passed=1)
    assert run("-p", "no:heta", *EVALUATION).ret == 4


def test_options_are_in_the_help(project: Project) -> None:
    """--help tells of every option and ini option, even without a benchmark."""
    text = clean(project.run("--help"))
    for option in (
        "--heta-benchmark=SPEC",
        "--heta-recipe=SPEC",
        "--heta-case-min",
        "heta_mode (args)",
        "heta_timeout",
    ):
        assert option in text
    assert "heta_kb" in clean(project.run("--fixtures", "-q"))
