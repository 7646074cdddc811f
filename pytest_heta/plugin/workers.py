"""The side of the controller that talks with xdist workers; registered only where there are some.

Importing this imports nothing heavy: suite files come to light in the workers, and until then heta is not used.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import pytest

from pytest_heta.errors import HetaError
from pytest_heta.plugin.identity import worker_input
from pytest_heta.plugin.options import SUITE_SUFFIX

if TYPE_CHECKING:
    from pytest_heta.plugin.affinity import Affinity
    from pytest_heta.plugin.controller import Controller


class WorkerListener:
    """Tells workers of their run, and takes in what they collect and find."""

    def __init__(self, config: pytest.Config, start: Callable[[pytest.Config], object]) -> None:
        """Listen in the process that reports; ``start`` makes its session where a worker has met a suite file."""
        self._config, self._start = config, start
        self._selected = False

    @property
    def _controller(self) -> Controller | None:
        found: Controller | None = self._config.pluginmanager.get_plugin("heta-controller")
        return found

    def pytest_configure_node(self, node: Any) -> None:
        """Tell a worker which run it belongs to."""
        try:
            node.workerinput.update(worker_input(self._config))
        except HetaError as error:
            raise pytest.UsageError(str(error)) from error

    def pytest_xdist_make_scheduler(self, config: pytest.Config, log: Any) -> Any:
        """Schedule by affinity where arguments name what to evaluate, unless the user says how to distribute."""
        named = self._controller is not None or any(map(_in_suite, config.args))
        if not named or _distribution_is_chosen(config):
            return None
        from pytest_heta.plugin.scheduling import AffinityScheduling

        return AffinityScheduling(config, log, self._affinity_of)

    def pytest_xdist_node_collection_finished(self, ids: Sequence[str]) -> None:
        """Note what was selected; all workers collect the same."""
        if self._selected:
            return
        self._selected = True
        if any(map(_in_suite, ids)):
            self._start_late()
        if self._controller is not None:
            self._controller.select(ids)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note the result that comes with a report."""
        if self._controller is None:
            return
        from pytest_heta.plugin.records import unpack

        found = unpack(report)
        if found is not None:
            self._controller.receive(report.nodeid, *found)

    def _affinity_of(self, nodeid: str) -> Affinity | None:
        return None if self._controller is None else self._controller.affinity_of(nodeid)

    def _start_late(self) -> None:
        try:
            self._start(self._config)
        except pytest.UsageError as error:
            pytest.exit(str(error), returncode=pytest.ExitCode.USAGE_ERROR)


def _in_suite(nodeid: str) -> bool:
    return nodeid.partition("::")[0].endswith(SUITE_SUFFIX)


def _distribution_is_chosen(config: pytest.Config) -> bool:
    """Tell an explicit ``--dist`` from the ``load`` that ``-n`` stands for: the options look the same."""
    environment = shlex.split(os.environ.get("PYTEST_ADDOPTS", ""))
    given = [str(argument) for argument in (*config.invocation_params.args, *config.getini("addopts"), *environment)]
    chosen = any(argument == "-d" or argument.startswith("--dist") for argument in given)
    return chosen or config.getoption("dist") != "load"
