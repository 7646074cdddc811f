"""Gates as test reports: each counts, is in JUnit, and turns the last line red, under xdist too."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import pytest

from pytest_heta.records import GateResult


class GateReport(pytest.TestReport):
    """The report of a gate, headed by its id."""

    @property
    def head_line(self) -> str:
        """What stands above the reason of a failure."""
        return self.nodeid.split("::", 1)[1]


def report_gates(session: pytest.Session, prefix: str, gates: Sequence[GateResult]) -> None:
    """Report each gate as an item ``{prefix}::gates::{gate}`` would be, and fail the session where one failed."""
    for gate in gates:
        nodeid = f"{prefix}::gates::{gate.name}"
        session.testscollected += 1
        hook = session.config.hook
        # Without a name in it: under -v pytest would take the dots in that of a gate for the dots of a module.
        location = (prefix.split("::", 1)[0], None, "")
        hook.pytest_runtest_logstart(nodeid=nodeid, location=location)
        for when in ("setup", "call", "teardown"):
            hook.pytest_runtest_logreport(report=_report(nodeid, location, gate, when))
        hook.pytest_runtest_logfinish(nodeid=nodeid, location=location)
    if not all(gate.passed for gate in gates) and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def _report(
    nodeid: str, location: tuple[str, int | None, str], gate: GateResult, when: Literal["setup", "call", "teardown"]
) -> pytest.TestReport:
    failed = when == "call" and not gate.passed
    return GateReport(
        nodeid=nodeid,
        location=location,
        keywords={},
        outcome="failed" if failed else "passed",
        longrepr=gate.reason if failed else None,
        when=when,
        user_properties=[("value", "none" if gate.value is None else gate.value)] if when == "call" else [],
    )
