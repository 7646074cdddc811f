"""The process that reports: gathers the results, judges the gates, has the files written and the summary printed."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest

from pytest_heta.errors import UsageError
from pytest_heta.plugin.affinity import Affinity
from pytest_heta.plugin.anchored import AnchoredEvaluation
from pytest_heta.plugin.baselines import Baselines
from pytest_heta.plugin.gates import report_gates
from pytest_heta.plugin.gathering import Gathered, decoded
from pytest_heta.plugin.host import HostNews
from pytest_heta.plugin.options import SUITE_SUFFIX, option_value
from pytest_heta.plugin.outputs import Outputs, for_evaluation
from pytest_heta.plugin.session import HetaSession
from pytest_heta.plugin.terminal import Written, benchmark_key, print_rankings, print_summary
from pytest_heta.records import EvaluationReport, KnowledgeBaseReport
from pytest_heta.reports.against_baseline import BaselineComparison
from pytest_heta.reports.assemble import assemble_report
from pytest_heta.reports.collector import collector_paused
from pytest_heta.reports.provenance import provenance
from pytest_heta.reports.slices import with_slices
from pytest_heta.runner import new_facts

_UNPLANNED = "is not planned where the run is reported: pytest's root folder, the benchmark or the recipe is another"


class Controller:
    """Registered as a plugin in the process that reports, which under xdist runs no item itself."""

    def __init__(self, config: pytest.Config, heta: HetaSession) -> None:
        """Gather nothing yet.

        Raises:
            UsageError: for a report file whose format is not known.

        """
        self._config, self._heta = config, heta
        heta.receive = self.receive
        self._gathered: dict[str, Gathered] = {}
        self._outputs = Outputs(config)
        self._baselines = Baselines(config)
        self._written: list[Written] = []
        self._provenance = provenance(config.rootpath, sys.argv)
        self._started = time.perf_counter()

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Note what was selected, where this process collected it."""
        self.select(item.nodeid for item in session.items)

    def select(self, nodeids: Iterable[str]) -> None:
        """Note which items will run.

        Raises:
            UsageError: for an item of an evaluation that is planned otherwise here, as on another machine it may be.

        """
        for nodeid in nodeids:
            gathered = self._gathered_of(nodeid)
            if gathered is not None and nodeid in gathered.planned:
                gathered.selected.add(nodeid)
            elif gathered is not None or nodeid.partition("::")[0].endswith(SUITE_SUFFIX):
                raise UsageError(f"{nodeid} {_UNPLANNED}")

    def affinity_of(self, nodeid: str) -> Affinity | None:
        """Return what an item belongs to for scheduling: its run unit, or None for another test."""
        gathered = self._gathered_of(nodeid)
        if gathered is None or nodeid not in gathered.planned:
            return None
        return Affinity(nodeid.rsplit("::", 1)[0], gathered.anchored.evaluation.shareable)

    def receive_from_host(
        self, nodeid: str, line: str, knowledge_bases: Sequence[KnowledgeBaseReport], news: HostNews
    ) -> None:
        """Do the same for another machine, which cannot write down what it finished where this run is resumed.

        Raises:
            UsageError: the result is not of an evaluation of this run.

        """
        gathered = self._gathered_of(nodeid)
        if gathered is None:
            raise UsageError(f"{nodeid} {_UNPLANNED}")
        gathered.agree(news)
        if not gathered.was_finished(nodeid):
            self._heta.journal(gathered.prefix, gathered.anchored, line, knowledge_bases)
        self.receive(nodeid, line, knowledge_bases)

    def receive(self, nodeid: str, line: str, knowledge_bases: Iterable[KnowledgeBaseReport]) -> None:
        """Note the result of an item, in JSON, and how knowledge bases came to be."""
        gathered = self._gathered_of(nodeid)
        if gathered is None:
            return
        gathered.add(nodeid, line, knowledge_bases)
        listeners = self._config.hook.pytest_heta_case_result
        if listeners.get_hookimpls():
            listeners(config=self._config, result=decoded(line))

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Judge and write, before JUnit and the terminal close their books."""
        if self._config.getoption("collectonly"):
            return
        with collector_paused():
            groups = [gathered for gathered in self._gathered.values() if gathered.selected]
            judged = [self._judge(gathered, several=len(groups) > 1) for gathered in groups]
            for gathered, (report, comparison) in zip(groups, judged, strict=True):
                if self._heta.shard is None:  # else they are judged when the shards are merged
                    report_gates(session, gathered.prefix, report.gates)
                others = _beside(report, [other for other, _ in judged])
                folder = self._heta.run_folder(gathered.prefix)
                files = self._outputs.write(report, others, folder, several=len(groups) > 1)
                self._written.append(Written(report, files, comparison))
            self._heta.results_are_assembled()
        if self._problems() and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the summary, and what could not be written."""
        reports = [written.report for written in self._written]
        print_summary(terminalreporter, self._written)
        print_rankings(terminalreporter, reports, option_value(self._config, "--heta-show"))
        for problem in self._problems():
            terminalreporter.write_line(problem, red=True)
        for annotation in self._outputs.annotations(reports):
            terminalreporter.write_line(annotation)

    def pytest_report_header(self) -> list[str]:
        """Say, before the run, what is taken over from another, and what its cases are too few to find."""
        evaluations = list(self._heta.all_anchored())
        taken = sum(len(anchored.finished) for anchored in evaluations)
        resumed = [f"heta: goes on with run {self._heta.run_id}, {taken} results are taken over"] if taken else []
        return resumed + [
            f"heta: {line}"
            for anchored in evaluations
            for line in self._baselines.foresee(anchored, self._baseline_of(anchored, several=len(evaluations) > 1))
        ]

    def pytest_unconfigure(self) -> None:
        """Let go of the results: what pytest does after this is slow where there are many objects."""
        self._baselines.remember_worse()
        self._written.clear()
        self._gathered.clear()

    def _gathered_of(self, nodeid: str) -> Gathered | None:
        prefix = "::".join(nodeid.split("::", 2)[:2])
        if prefix not in self._gathered and nodeid.count("::") == 3:
            self._load(nodeid.split("::", 1)[0])
        return self._gathered.get(prefix)

    def _load(self, file: str) -> None:
        anchor = (self._config.rootpath / file).resolve()
        if anchor in self._heta.anchors or anchor.name.endswith(SUITE_SUFFIX):
            for anchored in self._heta.anchored(anchor):
                prefix = f"{file}::{anchored.name}"
                self._gathered.setdefault(prefix, Gathered(prefix, anchored, self._heta.shard))

    def _judge(self, gathered: Gathered, *, several: bool) -> tuple[EvaluationReport, BaselineComparison | None]:
        anchored = gathered.anchored
        durations = {"prepare": anchored.prepare_seconds, "total": time.perf_counter() - self._started}
        facts = new_facts(durations, gathered.selection(), {**self._provenance, **anchored.facts})
        bases = gathered.ordered_knowledge_bases()
        report = assemble_report(anchored.evaluation, gathered.ordered_results(), bases, facts, anchored.gates)
        report = with_slices(report, anchored.spec.slices)
        comparison = self._baselines.compare(gathered, report, self._baseline_of(anchored, several=several))
        report = report.model_copy(update={"gates": report.gates + (comparison.gates if comparison else ())})
        decided = self._config.hook.pytest_heta_check_report(config=self._config, report=report)
        return report if decided is None else report.model_copy(update={"gates": tuple(decided)}), comparison

    def _baseline_of(self, anchored: AnchoredEvaluation, *, several: bool) -> Path | None:
        path = anchored.spec.baseline
        return path and (for_evaluation(path, anchored.evaluation.name) if several else path)

    def _problems(self) -> list[str]:
        return [*self._outputs.problems, *self._baselines.problems]


def _beside(report: EvaluationReport, reports: Sequence[EvaluationReport]) -> list[EvaluationReport]:
    """Return the other reports on the same benchmark."""
    return [other for other in reports if other is not report and benchmark_key(other) == benchmark_key(report)]
