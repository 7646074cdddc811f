"""What the fixtures do: from an item to its knowledge base, response and scores, or to one clean line of failure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

import pytest

from pytest_heta.engine.retry import evaluation_error
from pytest_heta.errors import HetaError
from pytest_heta.plugin.check import ERROR, JUDGED
from pytest_heta.records import BenchmarkCase, EvaluationError, EvaluationScore, QueryResponse

if TYPE_CHECKING:
    from pytest_heta.plugin.nodes import CaseItem, UnitNode


class BuildFailed(pytest.fail.Exception):  # type: ignore[name-defined, misc]  # pytest types it as an attribute
    """The knowledge base of a unit cannot be built: the error of each of its cases, which pytest shows in one line."""

    def __init__(self, error: EvaluationError) -> None:
        """Keep the record of what went wrong."""
        super().__init__(_told(error), pytrace=False)
        self.error = error


def knowledge_base(unit: UnitNode) -> Any:
    """Return the knowledge base of the unit.

    Raises:
        BuildFailed: where it cannot be built; pytest keeps the exception for all items of the unit.

    """
    anchored = unit.benchmark.anchored
    try:
        return anchored.loop.run(anchored.evaluation.knowledge_base(unit.planned))
    except HetaError as error:
        raise BuildFailed(evaluation_error(error)) from None
    finally:
        unit.benchmark.heta.progress.clear()


def response(item: CaseItem, case: BenchmarkCase, kb: Any) -> QueryResponse:
    """Return the response to the case; a query that failed is an error of the item."""
    evaluation, unit, mode = item.planned.evaluation, item.planned.unit, item.planned.mode
    judged = evaluation.ready(unit, case, mode, kb)
    if judged is None:
        judged = item.anchored.loop.run(evaluation.judged(unit, case, mode, kb))
    item.stash[JUDGED] = judged
    if judged.outcome.response is None:
        assert judged.outcome.error is not None
        _give_up(item, judged.outcome.error)
    return judged.outcome.response


def scores(item: CaseItem, case: BenchmarkCase, response: QueryResponse) -> dict[str, EvaluationScore]:
    """Return the scores by metric; an evaluator that failed is noted and leaves none."""
    judged = item.stash.get(JUDGED, None)
    if judged is not None and judged.outcome.response is response and case is item.planned.case:
        found, error = judged.scores, judged.error
    else:
        # A conftest has put its own in place of the case or the response.
        found, error = item.anchored.loop.run(item.planned.evaluation.score(case, response))
    if error is not None:
        item.stash[ERROR] = error
    return {score.name: score for score in found}


def _give_up(item: CaseItem, error: EvaluationError) -> NoReturn:
    item.stash[ERROR] = error
    pytest.fail(_told(error), pytrace=False)


def _told(error: EvaluationError) -> str:
    tries = f" (after {error.attempts} tries)" if error.attempts > 1 else ""
    return f"{error.error_type}: {error.message}{tries}"
