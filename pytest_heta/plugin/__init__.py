"""The pytest plugin: hooks of a few lines, each calling one object that does the work.

Importing this module imports nothing heavy; a session that does not use heta never does.
"""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest

from pytest_heta.plugin.fixtures import heta_case, heta_kb, heta_response, heta_scores
from pytest_heta.plugin.options import ADDRESS_SUFFIX, SUITE_SUFFIX, add_options

if TYPE_CHECKING:
    from pytest_heta.plugin.nodes import CaseItem
    from pytest_heta.plugin.session import HetaSession

__all__ = ["heta_case", "heta_kb", "heta_response", "heta_scores"]

MARK = "heta(benchmark, recipe, mode=None, limit=None, top_k=None): run the test for each case of a benchmark"
SESSION: pytest.StashKey[HetaSession] = pytest.StashKey()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the options."""
    add_options(parser)


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    """Declare our hooks."""
    from pytest_heta.plugin import hookspecs

    pluginmanager.add_hookspecs(hookspecs)


def pytest_load_initial_conftests(early_config: pytest.Config, args: list[str]) -> None:
    """Make the files of the recipes arguments, so that pytest collects them."""
    known = early_config.known_args_namespace
    if known.heta_benchmark and known.heta_recipe and known.heta_benchmark != ["list"]:
        from pytest_heta.plugin.anchors import anchor_arguments

        # First, where no option that takes an optional value stands before them.
        args[:0] = anchor_arguments(known.heta_recipe, known.file_or_dir, early_config.rootpath)


def pytest_cmdline_main(config: pytest.Config) -> int | None:
    """Answer ``--heta-benchmark=list``."""
    if config.getoption("heta_benchmark") != ["list"]:
        return None
    from pytest_heta.plugin.start import print_known_benchmarks

    return print_known_benchmarks(config)


def pytest_configure(config: pytest.Config) -> None:
    """Start where the options ask for it; suite files and marked tests start later, when they are met."""
    config.addinivalue_line("markers", MARK)
    if config.getoption("heta_benchmark") or config.getoption("heta_recipe"):
        heta_session(config)
    if config.getoption("dist", "no") != "no" and not hasattr(config, "workerinput"):
        from pytest_heta.plugin.workers import WorkerListener

        config.pluginmanager.register(WorkerListener(config, heta_session), "heta-workers")


@pytest.hookimpl(tryfirst=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    """Check everything that the options name, before any worker starts."""
    heta = session.config.stash.get(SESSION, None)
    if heta is not None and not hasattr(session.config, "workerinput"):
        from pytest_heta.plugin.start import load_everything

        load_everything(heta)


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Collect suite files, and what stands for a recipe that is no file."""
    if not file_path.name.endswith(SUITE_SUFFIX) and not _is_address_anchor(file_path, parent.config):
        return None
    from pytest_heta.plugin.nodes import AnchorFile

    try:
        heta = heta_session(parent.config)
    except pytest.UsageError as error:
        raise parent.CollectError(str(error)) from None
    return AnchorFile.from_parent(parent, path=file_path, heta=heta)


def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Collector) -> pytest.Module | None:
    """Collect a recipe file as what it is, where pytest would import it as a module of tests."""
    heta = parent.config.stash.get(SESSION, None)
    if heta is None or module_path.resolve() not in heta.anchors:
        return None
    from pytest_heta.plugin.nodes import AnchorFile

    return AnchorFile.from_parent(parent, path=module_path, heta=heta)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make tests of a marked function, one for each case of a benchmark."""
    mark = metafunc.definition.get_closest_marker("heta")
    if mark is not None:
        heta = heta_session(metafunc.config)
        from pytest_heta.plugin.start import parametrize_marked

        parametrize_marked(metafunc, mark, heta)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Order what ``--lf`` selects."""
    if SESSION in config.stash:
        from pytest_heta.plugin.baselines import worst_first

        worst_first(config, items)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Tell the evaluations which cases will be asked, and in which order."""
    if SESSION in session.config.stash:
        from pytest_heta.plugin.start import select_items

        session.config.stash[SESSION].items_are_collected()
        select_items(session.config, session.items)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[Any]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Hand the result of a case over to who reports."""
    report = yield
    if hasattr(item, "planned"):
        from pytest_heta.plugin.records import hand_over

        hand_over(cast("CaseItem", item), call, report)
    return report


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Stop what nobody waits for any more, after ``-x`` and Ctrl-C too."""
    if SESSION in session.config.stash:
        session.config.stash[SESSION].stop()


def pytest_unconfigure(config: pytest.Config) -> None:
    """Stop all queries, close all knowledge bases."""
    heta = config.stash.get(SESSION, None)
    if heta is not None:
        heta.close()


def _is_address_anchor(path: Path, config: pytest.Config) -> bool:
    return path.suffix == ADDRESS_SUFFIX and SESSION in config.stash and path.resolve() in config.stash[SESSION].anchors


def heta_session(config: pytest.Config) -> HetaSession:
    """Return what this process holds of heta, made when first asked for."""
    if SESSION not in config.stash:
        from pytest_heta.plugin.start import start

        config.stash[SESSION] = start(config)
    return config.stash[SESSION]
