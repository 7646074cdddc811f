"""What the process that reports knows of one evaluation while it runs."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Any

from pytest_heta.engine.agreement import Facts, disagreements
from pytest_heta.engine.scoring import not_run_result
from pytest_heta.engine.shard import SHARD, Shard
from pytest_heta.errors import UsageError
from pytest_heta.plugin.anchored import AnchoredEvaluation, PlannedCase
from pytest_heta.plugin.host import HostNews, unlike
from pytest_heta.records import EvaluationCaseResult, KnowledgeBaseReport


class Gathered:
    """What is known of one evaluation: which items were selected, in plan order, and what came of them."""

    def __init__(self, prefix: str, anchored: AnchoredEvaluation, shard: Shard | None) -> None:
        """Begin with nothing selected; ``prefix`` is the node id of the benchmark's node."""
        self.prefix, self.anchored, self.shard = prefix, anchored, shard
        self.planned: dict[str, PlannedCase] = {
            f"{prefix}::{unit}::{name}": planned
            for unit, items in anchored.units.items()
            for name, planned in items.items()
        }
        self.selected: set[str] = set()
        self._lines: dict[str, str] = {}
        self.knowledge_bases: dict[str, KnowledgeBaseReport] = {}
        self._note(anchored.known_bases)
        self._documents: Facts = {}

    @cached_property
    def _facts(self) -> Facts:
        return self.anchored.facts_to_agree()

    def agree(self, news: HostNews) -> None:
        """Hold what another machine says of itself against what is known here and what others have said.

        Raises:
            UsageError: its results are not of this evaluation.

        """
        documents = news.get("documents", {})
        known = {what: self._documents.setdefault(what, digest) for what, digest in documents.items()}
        differences = disagreements(known, documents)
        if "facts" in news:
            differences += disagreements(self._facts, news["facts"])
        if differences:
            raise UsageError(unlike(news["host"], differences))

    def add(self, nodeid: str, line: str, knowledge_bases: Iterable[KnowledgeBaseReport]) -> None:
        """Note a result; that of a second try of the same item replaces the first.

        It stays JSON until the end: hundreds of thousands of objects would slow the garbage collector down.
        """
        self._lines[nodeid] = line
        self._note(knowledge_bases)

    def _note(self, knowledge_bases: Iterable[KnowledgeBaseReport]) -> None:
        for kb in knowledge_bases:
            known = self.knowledge_bases.get(kb.unit_id)
            # Of several workers that opened it, the one that built it tells how.
            if known is None or known.cached:
                self.knowledge_bases[kb.unit_id] = kb

    def was_finished(self, nodeid: str) -> bool:
        """Tell whether the run that is resumed has finished an item."""
        planned = self.planned[nodeid]
        return (planned.unit.unit.unit_id, planned.case.case_id, planned.mode) in self.anchored.finished

    def ordered_results(self) -> list[EvaluationCaseResult]:
        """Return a result for each selected item, in plan order; those without one were not run."""
        return [
            decoded(self._lines[nodeid]) if nodeid in self._lines else _not_run(nodeid, planned)
            for nodeid, planned in self.planned.items()
            if nodeid in self.selected
        ]

    def ordered_knowledge_bases(self) -> list[KnowledgeBaseReport]:
        """Return how the knowledge bases came to be, in plan order, whichever worker was first."""
        units = (unit.unit.unit_id for unit in self.anchored.evaluation.plan.units)
        return [self.knowledge_bases[unit_id] for unit_id in units if unit_id in self.knowledge_bases]

    def selection(self) -> dict[str, Any]:
        """Return what was selected out of how many, for the report."""
        counts = {
            "cases": self.anchored.evaluation.plan.case_count,
            "planned": len(self.planned),
            "selected": len(self.selected),
        }
        return counts | self.anchored.spec.selection.manifest | ({SHARD: str(self.shard)} if self.shard else {})


def decoded(line: str) -> EvaluationCaseResult:
    """Return the result that was handed over as JSON."""
    return EvaluationCaseResult.model_validate_json(line)


def _not_run(nodeid: str, planned: PlannedCase) -> EvaluationCaseResult:
    result = not_run_result(planned.unit.unit.unit_id, planned.case, planned.mode)
    return result.model_copy(update={"node_id": nodeid})
