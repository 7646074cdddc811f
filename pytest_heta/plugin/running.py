"""The case that runs now, for its fixtures: that of a case item, or of a test that is marked with a benchmark.

A fixture that asks for ``request`` is dear: pytest makes one anew each time, which adds up over thousands of cases.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import pytest

if TYPE_CHECKING:
    from pytest_heta.plugin.anchored import AnchoredEvaluation, PlannedCase
    from pytest_heta.plugin.session import HetaSession


class RunningCase(Protocol):
    """What the fixtures need to know of a test: its case, the evaluation that asks it, and a place for what they find.

    ``tells_errors``: the test itself says which evaluators failed; else the fixture of the scores does.
    """

    heta: HetaSession
    anchored: AnchoredEvaluation
    planned: PlannedCase
    tells_errors: bool

    @property
    def stash(self) -> pytest.Stash:
        """The place."""


_running: list[RunningCase] = []


def begin(case: RunningCase) -> None:
    """Make this the running case; its test has begun its set-up."""
    _running[:] = [case]


def end() -> None:
    """Note that no case runs: the test of the last has been torn down."""
    _running.clear()


def running_case() -> RunningCase:
    """Return the running case; a test that has none is told so."""
    if not _running:
        pytest.fail(
            "the fixtures heta_kb, heta_case, heta_response and heta_scores belong to benchmark cases, "
            "and to tests that are marked with @pytest.mark.heta(benchmark=…, recipe=…)",
            pytrace=False,
        )
    return _running[0]
