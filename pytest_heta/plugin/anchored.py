"""The evaluations below an anchor file, and the test items that they become."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from pytest_heta.engine.agreement import Facts, evaluation_facts
from pytest_heta.engine.evaluation import Evaluation
from pytest_heta.engine.loop import LoopThread
from pytest_heta.engine.plan import PlannedUnit
from pytest_heta.engine.resume import ResultKey
from pytest_heta.plugin.names import node_names
from pytest_heta.plugin.specs import EvaluationSpec
from pytest_heta.records import BenchmarkCase, EvaluationCaseResult, KnowledgeBaseReport
from pytest_heta.reports.policies import Policy
from pytest_heta.reports.thresholds import Threshold


@dataclass(frozen=True)
class PlannedCase:
    """One test item to be: a case of a unit in a mode."""

    evaluation: Evaluation
    unit: PlannedUnit
    case: BenchmarkCase
    mode: str


@dataclass
class AnchoredEvaluation:
    """An evaluation below its anchor file: its node's name, its thresholds, and its items by unit and by name.

    ``name`` is unique below the anchor; the names of units, and of the items of a unit, are as in node ids. ``facts``
    go into the report's metadata. ``finished`` and ``known_bases`` are what a resumed run has left. ``current`` is
    the node of the unit whose items run now, with its knowledge base.
    """

    name: str
    spec: EvaluationSpec
    loop: LoopThread
    evaluation: Evaluation
    gates: tuple[Threshold, ...]
    case_thresholds: tuple[Threshold, ...]
    policies: tuple[Policy, ...]
    prepare_seconds: float
    facts: dict[str, Any] = field(default_factory=dict)
    finished: dict[ResultKey, EvaluationCaseResult] = field(default_factory=dict)
    known_bases: list[KnowledgeBaseReport] = field(default_factory=list)
    units: dict[str, dict[str, PlannedCase]] = field(default_factory=dict)
    current: tuple[Any, Any] | None = None

    def __post_init__(self) -> None:
        plan = self.evaluation.plan
        names = node_names(unit.unit.unit_id for unit in plan.units)
        self.units = {names[unit.unit.unit_id]: self._items(unit) for unit in plan.units}
        self._told: set[str] = set()

    def facts_to_agree(self) -> Facts:
        """Return what a worker on another machine must have in common with the one that reports."""
        return {
            **evaluation_facts(self.evaluation),
            "the thresholds of cases": _written(self.case_thresholds),
            "the gates": _written(self.gates),
        }

    def knowledge_base_news(self) -> list[KnowledgeBaseReport]:
        """Return the reports on knowledge bases that were opened since this was last asked."""
        reports = self.evaluation.pool.reports
        news = [reports[unit_id] for unit_id in reports.keys() - self._told]
        self._told.update(report.unit_id for report in news)
        return news

    def _items(self, unit: PlannedUnit) -> dict[str, PlannedCase]:
        names = node_names(case.case_id for case in unit.cases)
        return {
            f"{names[case.case_id]}[{mode}]": PlannedCase(self.evaluation, unit, case, mode)
            for mode in self.evaluation.modes
            for case in unit.cases
        }


def _written(thresholds: Iterable[Threshold]) -> str:
    signs = {"min": ">=", "max": "<="}
    return (
        ", ".join(
            sorted(
                f"{one.mode or 'all modes'} {one.metric} {signs[one.bound]} {one.value:g}"
                + (f" where {one.where}" if one.where else "")
                for one in thresholds
            )
        )
        or "none"
    )
