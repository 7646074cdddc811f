"""The side of the controller that talks with xdist workers; registered only where there are some."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from typing import Any

import pytest

from pytest_heta.plugin.controller import Controller
from pytest_heta.plugin.records import unpack
from pytest_heta.plugin.scheduling import AffinityScheduling
from pytest_heta.plugin.session import HetaSession


class WorkerListener:
    """Tells workers of their run, and takes in what they collect and find."""

    def __init__(self, controller: Controller, heta: HetaSession) -> None:
        """Listen on behalf of ``controller``."""
        self._controller, self._heta = controller, heta
        self._selected = False

    def pytest_configure_node(self, node: Any) -> None:
        """Tell a worker which run it belongs to."""
        node.workerinput.update(self._heta.worker_input())

    def pytest_xdist_make_scheduler(self, config: pytest.Config, log: Any) -> Any:
        """Schedule by affinity, unless the user says how to distribute."""
        if _distribution_is_chosen(config):
            return None
        return AffinityScheduling(config, log, self._controller.affinity_of)

    def pytest_xdist_node_collection_finished(self, ids: Sequence[str]) -> None:
        """Note what was selected; all workers collect the same."""
        if not self._selected:
            self._controller.select(ids)
            self._selected = True

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note the result that comes with a report."""
        found = unpack(report)
        if found is not None:
            self._controller.receive(report.nodeid, *found)


def _distribution_is_chosen(config: pytest.Config) -> bool:
    """Tell an explicit ``--dist`` from the ``load`` that ``-n`` stands for: the options look the same."""
    environment = shlex.split(os.environ.get("PYTEST_ADDOPTS", ""))
    given = [str(argument) for argument in (*config.invocation_params.args, *config.getini("addopts"), *environment)]
    chosen = any(argument == "-d" or argument.startswith("--dist") for argument in given)
    return chosen or config.getoption("dist") != "load"
