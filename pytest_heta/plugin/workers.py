"""The side of the controller that talks with xdist workers; registered only where there are some.

Importing this imports nothing heavy: suite files come to light in the workers, and until then heta is not used.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pytest

from pytest_heta.errors import HetaError
from pytest_heta.plugin.identity import worker_input
from pytest_heta.plugin.options import SUITE_SUFFIX

if TYPE_CHECKING:
    from pytest_heta.plugin.affinity import Affinity
    from pytest_heta.plugin.controller import Controller
    from pytest_heta.plugin.session import HetaSession


class WorkerListener:
    """Tells workers of their run, and takes in what they collect and find."""

    def __init__(self, config: pytest.Config, start: Callable[[pytest.Config], HetaSession]) -> None:
        """Listen in the process that reports; ``start`` makes its session where a worker has met a suite file."""
        self._config, self._start = config, start
        self._selected = False

    @property
    def _controller(self) -> Controller | None:
        found: Controller | None = self._config.pluginmanager.get_plugin("heta-controller")
        return found

    @property
    def _named(self) -> bool:
        """Whether arguments name what to evaluate."""
        return self._controller is not None or any(map(_in_suite, self._config.args))

    @cached_property
    def _told_to_host(self) -> dict[str, Any]:
        from pytest_heta.plugin.hosts import told_to_host

        return told_to_host(self._config, self._start(self._config) if self._controller is not None else None)

    def pytest_xdist_setupnodes(self, config: pytest.Config, specs: Sequence[Any]) -> None:
        """Prepare for workers on other machines."""
        from pytest_heta.plugin.hosts import LostHosts, is_remote, refuse_paths

        if any(map(is_remote, specs)):
            if self._named:
                refuse_paths(config)
            config.pluginmanager.register(LostHosts(config), "heta-hosts")

    def pytest_configure_node(self, node: Any) -> None:
        """Tell a worker which run it belongs to."""
        try:
            node.workerinput.update(worker_input(self._config))
        except HetaError as error:
            raise pytest.UsageError(str(error)) from error
        from pytest_heta.plugin.hosts import is_remote

        if is_remote(node.gateway.spec):
            node.workerinput.update(self._told_to_host)

    def pytest_xdist_make_scheduler(self, config: pytest.Config, log: Any) -> Any:
        """Schedule by affinity where arguments name what to evaluate, unless the user says how to distribute."""
        if not self._named or _distribution_is_chosen(config):
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
            with _ending():
                self._controller.select(ids)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note the result that comes with a report."""
        if self._controller is None:
            return
        from pytest_heta.plugin.records import unpack

        found = unpack(report)
        if found is None:
            return
        line, bases, news = found
        if news is None:
            self._controller.receive(report.nodeid, line, bases)
        else:
            with _ending(f"{report.node.gateway.id}, "):
                self._controller.receive_from_host(report.nodeid, line, bases, news)

    def _affinity_of(self, nodeid: str) -> Affinity | None:
        return None if self._controller is None else self._controller.affinity_of(nodeid)

    def _start_late(self) -> None:
        with _ending():
            self._start(self._config)


@contextmanager
def _ending(where: str = "") -> Iterator[None]:
    """End the run where something cannot be used, as it does before it begins."""
    try:
        yield
    except (HetaError, pytest.UsageError) as error:
        pytest.exit(f"{where}{error}", returncode=pytest.ExitCode.USAGE_ERROR)


def _in_suite(nodeid: str) -> bool:
    return nodeid.partition("::")[0].endswith(SUITE_SUFFIX)


def _distribution_is_chosen(config: pytest.Config) -> bool:
    """Tell an explicit ``--dist`` from the ``load`` that ``-n`` stands for: the options look the same."""
    environment = shlex.split(os.environ.get("PYTEST_ADDOPTS", ""))
    given = [str(argument) for argument in (*config.invocation_params.args, *config.getini("addopts"), *environment)]
    # With --tx, -d only says that the workers are to be used: without it or --dist there are none.
    short = "-d" in given and not any(argument.startswith("--tx") for argument in given)
    return short or any(argument.startswith("--dist") for argument in given) or config.getoption("dist") != "load"
