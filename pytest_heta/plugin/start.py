"""The beginning of a run: arguments, checks, and what is registered only where heta is used."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import pytest

from pytest_heta.benchmarks.registry import known_benchmarks
from pytest_heta.engine.evaluation import Evaluation
from pytest_heta.errors import HetaError
from pytest_heta.plugin.anchored import PlannedCase
from pytest_heta.plugin.assigned import CaseKey, assigned_cases
from pytest_heta.plugin.controller import Controller
from pytest_heta.plugin.marker import MarkedTests, marked_case
from pytest_heta.plugin.nodes import CaseItem
from pytest_heta.plugin.session import HetaSession, benchmark_families
from pytest_heta.records import BenchmarkCase
from pytest_heta.reports.collector import collector_paused


def print_known_benchmarks(config: pytest.Config) -> int:
    """Print what ``--heta-benchmark`` knows, one a line."""
    print(*known_benchmarks(benchmark_families(config)), sep="\n")
    return 0


def start(config: pytest.Config) -> HetaSession:
    """Make the session, and register who reports in the process that does.

    Raises:
        pytest.UsageError: where an option cannot be used.

    """
    try:
        heta = HetaSession(config)
        if not hasattr(config, "workerinput"):
            _register_controller(config, heta)
    except HetaError as error:
        raise pytest.UsageError(str(error)) from error
    # Early, so that it comes late: after pytest's own collecting at the end, which has nothing to find here.
    config.add_cleanup(heta.let_collector_be)
    return heta


def _register_controller(config: pytest.Config, heta: HetaSession) -> None:
    config.pluginmanager.register(Controller(config, heta), "heta-controller")


def load_everything(heta: HetaSession) -> None:
    """Prepare all that the options name.

    Raises:
        pytest.UsageError: where something cannot be used; pytest ends with exit code 4.

    """
    try:
        with collector_paused():
            for anchor in heta.anchors:
                heta.anchored(anchor)
    except HetaError as error:
        raise pytest.UsageError(str(error)) from error


def select_items(config: pytest.Config, items: Sequence[pytest.Item]) -> None:
    """Tell each evaluation which of its cases will run, by unit and mode and in order."""
    order: dict[Evaluation, dict[tuple[str, str], dict[str, BenchmarkCase]]] = {}
    asked = [_asked(item) for item in items]
    due = assigned_cases(config, [_key(planned) if planned else None for planned in asked])
    for planned in filter(None, asked):
        mine = order.setdefault(planned.evaluation, {})
        # Several marked tests may be about one case, which is asked once for those that follow each other.
        mine.setdefault((planned.unit.unit.unit_id, planned.mode), {})[planned.case.case_id] = planned.case
    for evaluation, selected in order.items():
        cases_by_key = {key: list(cases.values()) for key, cases in selected.items()}
        evaluation.select(cases_by_key, due and partial(due, evaluation))


def _key(planned: PlannedCase) -> CaseKey:
    return planned.evaluation, planned.unit.unit.unit_id, planned.mode, planned.case.case_id


def _asked(item: pytest.Item) -> PlannedCase | None:
    """Return the case that an item asks, or None where it asks none."""
    if isinstance(item, CaseItem):
        return item.planned if item.recorded is None else None
    marked = marked_case(item)
    return marked.planned if marked else None


def parametrize_marked(metafunc: pytest.Metafunc, mark: pytest.Mark, heta: HetaSession) -> None:
    """Make a test for each case of the benchmark that a mark names."""
    manager = metafunc.config.pluginmanager
    tests = manager.get_plugin("heta-marked")
    if tests is None:
        tests = MarkedTests(heta)
        manager.register(tests, "heta-marked")
    tests.parametrize(metafunc, mark)
