"""The process that reports: gathers the results, judges the gates, writes the files, prints the summary."""

from __future__ import annotations

import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from pytest_heta.engine.scoring import not_run_result
from pytest_heta.errors import ReportError
from pytest_heta.plugin.affinity import Affinity
from pytest_heta.plugin.gates import report_gates
from pytest_heta.plugin.options import option_value
from pytest_heta.plugin.session import AnchoredEvaluation, HetaSession, PlannedCase
from pytest_heta.plugin.suites import SUFFIX
from pytest_heta.records import EvaluationCaseResult, EvaluationReport, KnowledgeBaseReport
from pytest_heta.reports.assemble import assemble_report
from pytest_heta.reports.collector import collector_paused
from pytest_heta.reports.compare import comparison_lines
from pytest_heta.reports.json_file import write_report
from pytest_heta.reports.lines import Line
from pytest_heta.reports.summary import summary_lines
from pytest_heta.runner import new_facts


class Gathered:
    """What is known of one evaluation: which items were selected, in plan order, and what came of them."""

    def __init__(self, prefix: str, anchored: AnchoredEvaluation) -> None:
        """Begin with nothing selected; ``prefix`` is the node id of the benchmark's node."""
        self.prefix, self.anchored = prefix, anchored
        self.planned: dict[str, PlannedCase] = {
            f"{prefix}::{unit}::{name}": planned
            for unit, items in anchored.units.items()
            for name, planned in items.items()
        }
        self.selected: set[str] = set()
        self.results: dict[str, EvaluationCaseResult] = {}
        self.knowledge_bases: dict[str, KnowledgeBaseReport] = {}

    def add(self, nodeid: str, result: EvaluationCaseResult, knowledge_bases: Iterable[KnowledgeBaseReport]) -> None:
        """Note a result; that of a second try of the same item replaces the first."""
        self.results[nodeid] = result
        for kb in knowledge_bases:
            known = self.knowledge_bases.get(kb.unit_id)
            # Of several workers that opened it, the one that built it tells how.
            if known is None or known.cached:
                self.knowledge_bases[kb.unit_id] = kb

    def ordered_results(self) -> list[EvaluationCaseResult]:
        """Return a result for each selected item, in plan order; those without one were not run."""
        return [
            self.results.get(nodeid) or _not_run(nodeid, planned)
            for nodeid, planned in self.planned.items()
            if nodeid in self.selected
        ]

    def selection(self) -> dict[str, Any]:
        """Return what was selected out of how many, for the report."""
        plan, spec = self.anchored.evaluation.plan, self.anchored.spec
        modes = len(self.anchored.evaluation.modes)
        found = {"cases": plan.case_count, "items": plan.case_count * modes, "selected": len(self.selected)}
        return found | ({"limit": spec.limit} if spec.limit else {})


def _not_run(nodeid: str, planned: PlannedCase) -> EvaluationCaseResult:
    result = not_run_result(planned.unit.unit.unit_id, planned.case, planned.mode)
    return result.model_copy(update={"node_id": nodeid})


class Controller:
    """Registered as a plugin in the process that reports, which under xdist runs no item itself."""

    def __init__(self, config: pytest.Config, heta: HetaSession) -> None:
        """Gather nothing yet."""
        self._config, self._heta = config, heta
        heta.receive = self.receive
        self._gathered: dict[str, Gathered] = {}
        self._reports: list[tuple[EvaluationReport, list[str]]] = []
        self._problems: list[str] = []
        self._started = time.perf_counter()

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Note what was selected, where this process collected it."""
        self.select(item.nodeid for item in session.items)

    def select(self, nodeids: Iterable[str]) -> None:
        """Note which items will run."""
        for nodeid in nodeids:
            gathered = self._gathered_of(nodeid)
            if gathered is not None and nodeid in gathered.planned:
                gathered.selected.add(nodeid)

    def affinity_of(self, nodeid: str) -> Affinity | None:
        """Return what an item belongs to for scheduling: its run unit, or None for another test."""
        gathered = self._gathered_of(nodeid)
        if gathered is None or nodeid not in gathered.planned:
            return None
        return Affinity(nodeid.rsplit("::", 1)[0], gathered.anchored.evaluation.shareable)

    def receive(
        self, nodeid: str, result: EvaluationCaseResult, knowledge_bases: Iterable[KnowledgeBaseReport]
    ) -> None:
        """Note the result of an item, and how knowledge bases came to be."""
        gathered = self._gathered_of(nodeid)
        if gathered is not None:
            gathered.add(nodeid, result, knowledge_bases)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Judge and write, before JUnit and the terminal close their books."""
        if self._config.getoption("collectonly"):
            return
        groups = [gathered for gathered in self._gathered.values() if gathered.selected]
        with collector_paused():
            for gathered in groups:
                self._finish(session, gathered, several=len(groups) > 1)
        if self._problems and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print a summary for each evaluation, and a comparison of those on the same benchmark."""
        for lines in self._sections(terminalreporter):
            for line in lines:
                terminalreporter.write_line(line.text, **_MARKUP[line.style])
        for problem in self._problems:
            terminalreporter.write_line(problem, red=True)

    def pytest_unconfigure(self) -> None:
        """Let go of the results: what pytest does after this is slow where there are many objects."""
        self._reports.clear()
        self._gathered.clear()

    def _sections(self, terminal: pytest.TerminalReporter) -> Iterable[list[Line]]:
        width = terminal._tw.fullwidth
        for report, paths in self._reports:
            terminal.section(f"heta: {report.benchmark.name} with {report.recipe['name']}")
            yield summary_lines(report, width, paths)
        by_benchmark: dict[tuple[str, str], list[EvaluationReport]] = {}
        for report, _ in self._reports:
            by_benchmark.setdefault((report.benchmark.name, report.benchmark.split), []).append(report)
        for (name, _), reports in by_benchmark.items():
            if sum(len(report.query_modes) for report in reports) > 1:
                terminal.section(f"heta: {name} compared")
                yield comparison_lines(reports, width)

    def _gathered_of(self, nodeid: str) -> Gathered | None:
        prefix = "::".join(nodeid.split("::", 2)[:2])
        if prefix not in self._gathered and nodeid.count("::") == 3:
            self._load(nodeid.split("::", 1)[0])
        return self._gathered.get(prefix)

    def _load(self, file: str) -> None:
        anchor = (self._config.rootpath / file).resolve()
        if anchor in self._heta.recipe_files or anchor.name.endswith(SUFFIX):
            for anchored in self._heta.anchored(anchor):
                prefix = f"{file}::{anchored.name}"
                self._gathered.setdefault(prefix, Gathered(prefix, anchored))

    def _finish(self, session: pytest.Session, gathered: Gathered, *, several: bool) -> None:
        anchored = gathered.anchored
        durations = {"prepare": anchored.prepare_seconds, "total": time.perf_counter() - self._started}
        facts = new_facts(durations, gathered.selection())
        report = assemble_report(
            anchored.evaluation, gathered.ordered_results(), gathered.knowledge_bases.values(), facts, anchored.gates
        )
        report_gates(session, gathered.prefix, report.gates)
        run = self._heta.run_folder(gathered.prefix) / "report.json"
        self._reports.append((report, self._write(report, run, several)))

    def _write(self, report: EvaluationReport, run: Path, several: bool) -> list[str]:
        asked = [Path(self._config.invocation_params.dir, path) for path in option_value(self._config, "--heta-report")]
        if several:
            asked = [path.with_name(f"{path.stem}-{report.knowledge_base_name}{path.suffix}") for path in asked]
        return [str(path) for path in (run, *asked) if self._written(path, report)]

    def _written(self, path: Path, report: EvaluationReport) -> bool:
        try:
            write_report(path, report)
        except ReportError as error:
            self._problems.append(f"heta: {error}")
            return False
        return True


_MARKUP: dict[str, dict[str, bool]] = {
    "plain": {},
    "bold": {"bold": True},
    "good": {"green": True},
    "bad": {"red": True},
    "dim": {"light": True},
}
