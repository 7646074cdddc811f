"""What the fixtures do: from a case to its knowledge base, response and scores, or to one clean line of failure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

import pytest

from pytest_heta.engine.evaluation import Judged
from pytest_heta.engine.retry import evaluation_error
from pytest_heta.errors import HetaError
from pytest_heta.plugin.check import ASKED, ERROR, JUDGED, Given
from pytest_heta.records import BenchmarkCase, EvaluationError, EvaluationScore, QueryResponse

if TYPE_CHECKING:
    from pytest_heta.plugin.nodes import CaseItem
    from pytest_heta.plugin.running import RunningCase


class BuildFailed(pytest.fail.Exception):  # type: ignore[name-defined, misc]  # pytest types it as an attribute
    """The knowledge base of a unit cannot be built: the error of each of its cases, which pytest shows in one line."""

    def __init__(self, error: EvaluationError) -> None:
        """Keep the record of what went wrong."""
        super().__init__(_told(error), pytrace=False)
        self.error = error


def knowledge_base(running: RunningCase) -> Any:
    """Return the knowledge base of the unit of the case.

    Raises:
        BuildFailed: where it cannot be built; pytest keeps the exception for all items of the unit.

    """
    try:
        return running.anchored.loop.run(running.planned.evaluation.knowledge_base(running.planned.unit))
    except HetaError as error:
        raise BuildFailed(evaluation_error(error)) from None
    finally:
        running.heta.progress.clear()


def plain_case(item: CaseItem) -> Given:
    """Return the response and the scores of a case, as the fixtures would give them."""
    case, unit, anchored = item.planned.case, item.unit, item.anchored
    if anchored.current is None or anchored.current[0] is not unit:
        anchored.current = None
        anchored.current = (unit, knowledge_base(item))
    answered = response(item, case, anchored.current[1])
    return answered, scores(item, case, answered)


def response(running: RunningCase, case: BenchmarkCase, kb: Any) -> QueryResponse:
    """Return the response to the case; a query that failed is an error of the test."""
    judged = _judged(running, case, kb)
    if judged.outcome.response is None:
        assert judged.outcome.error is not None
        _give_up(running, judged.outcome.error)
    return judged.outcome.response


def _judged(running: RunningCase, case: BenchmarkCase, kb: Any) -> Judged:
    """Return what came of the case; tests of the same case that follow each other share it."""
    if running.stash.get(ASKED, None) is kb and JUDGED in running.stash:
        return running.stash[JUDGED]
    evaluation, unit, mode = running.planned.evaluation, running.planned.unit, running.planned.mode
    judged = evaluation.ready(unit, case, mode, kb)
    if judged is None:
        judged = running.anchored.loop.run(evaluation.judged(unit, case, mode, kb))
    running.stash[ASKED], running.stash[JUDGED] = kb, judged
    return judged


def scores(running: RunningCase, case: BenchmarkCase, response: QueryResponse) -> dict[str, EvaluationScore]:
    """Return the scores by metric; an evaluator that failed is told of and leaves none."""
    judged = running.stash.get(JUDGED, None)
    if judged is not None and judged.outcome.response is response and case is running.planned.case:
        found, error = judged.scores, judged.error
    else:
        # A conftest has put its own in place of the case or the response.
        found, error = running.anchored.loop.run(running.planned.evaluation.score(case, response))
    if error is not None:
        if not running.tells_errors:
            _give_up(running, error)
        running.stash[ERROR] = error
    return {score.name: score for score in found}


def _give_up(running: RunningCase, error: EvaluationError) -> NoReturn:
    running.stash[ERROR] = error
    pytest.fail(_told(error), pytrace=False)


def _told(error: EvaluationError) -> str:
    tries = f" (after {error.attempts} tries)" if error.attempts > 1 else ""
    return f"{error.error_type}: {error.message}{tries}"
