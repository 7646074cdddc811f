"""The body of every case item, and the result that it leaves behind."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import pytest

from pytest_heta.engine.asking import Outcome
from pytest_heta.engine.evaluation import Judged
from pytest_heta.engine.retry import evaluation_error
from pytest_heta.engine.scoring import finished_result
from pytest_heta.plugin import details
from pytest_heta.plugin.running import running_case
from pytest_heta.records import BenchmarkCase, EvaluationCaseResult, EvaluationError, EvaluationScore, QueryResponse
from pytest_heta.reports.thresholds import check_case

if TYPE_CHECKING:
    from pytest_heta.plugin.nodes import CaseItem

ASKED: pytest.StashKey[Any] = pytest.StashKey()
"""The knowledge base that what is ``JUDGED`` came from."""

JUDGED: pytest.StashKey[Judged] = pytest.StashKey()
ERROR: pytest.StashKey[EvaluationError] = pytest.StashKey()
RESULT: pytest.StashKey[EvaluationCaseResult] = pytest.StashKey()

LINE: pytest.StashKey[str] = pytest.StashKey()

Given = tuple[QueryResponse, dict[str, EvaluationScore]]
GIVEN: pytest.StashKey[Given] = pytest.StashKey()


class CaseFailed(Exception):
    """A case missed its thresholds, or an evaluator failed on it; one line each. ``section`` shows the case."""

    def __init__(self, failures: Sequence[str], section: details.Section) -> None:
        """Keep the section apart: it goes below."""
        super().__init__("\n".join(failures))
        self.section = section


def check_heta_case(
    heta_case: BenchmarkCase,
    heta_response: QueryResponse,
    heta_scores: dict[str, EvaluationScore],
) -> None:
    """Record what the fixtures give, and fail where a threshold of the case is missed."""
    _check(cast("CaseItem", running_case()), heta_case, heta_response, heta_scores)


def check_plain_case() -> None:
    """Do the same with what ``plain_case`` gave."""
    item = cast("CaseItem", running_case())
    _check(item, item.planned.case, *item.stash[GIVEN])


def _check(
    item: CaseItem, heta_case: BenchmarkCase, heta_response: QueryResponse, heta_scores: dict[str, EvaluationScore]
) -> None:
    error, outcome = item.stash.get(ERROR, None), _outcome(item, heta_response)
    result = finished_result(
        item.planned.unit.unit.unit_id,
        heta_case,
        outcome,
        tuple(heta_scores.values()),
        error,
        node_id=item.nodeid,
        keep_texts=item.planned.evaluation.config.keep_texts or heta_case.case_id in item.heta.shown_cases,
    )
    try:
        item.stash[LINE] = encoded(result)
    except ValueError as failure:
        item.stash[ERROR] = unwritable = evaluation_error(failure)
        raise CaseFailed([unwritable.message], details.section(item, result)) from None
    item.stash[RESULT] = result
    item.user_properties += _properties(result)
    misses: Sequence[str] | None = None
    if item.config.hook.pytest_heta_check_case.get_hookimpls():  # else the call alone would cost as much as the scores
        misses = item.ihook.pytest_heta_check_case(
            config=item.config,
            case=heta_case,
            response=heta_response,
            scores=heta_scores,
            thresholds=item.anchored.case_thresholds,
        )
    if misses is None:
        misses = check_case(item.anchored.case_thresholds, result, item.planned.evaluation.plan.manifest.name)
    lost = [metric for metric in item.planned.evaluation.metrics if metric not in heta_scores]
    told = [f"{error.error_type}: {error.message}"] if error else [f"no score for {metric}" for metric in lost]
    failures = (*told, *misses)
    if failures:
        raise CaseFailed(failures, details.section_with_texts(item, heta_case, outcome, result.scores))


def check_recorded_case() -> None:
    """Take over what a resumed run has finished, and hold it against the thresholds of this one."""
    item = cast("CaseItem", running_case())
    assert item.recorded is not None
    result = item.recorded.model_copy(update={"node_id": item.nodeid})
    item.stash[RESULT] = result
    item.user_properties += _properties(result)
    misses = check_case(item.anchored.case_thresholds, result, item.planned.evaluation.plan.manifest.name)
    if misses:
        raise CaseFailed(misses, details.section(item, result))


def encoded(result: EvaluationCaseResult) -> str:
    """Return a result as JSON.

    Raises:
        ValueError: something in the response or the scores is none.
    """
    try:
        return result.model_dump_json(exclude_defaults=True)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"what came back for the case cannot be written as JSON: {error}") from error


def _outcome(item: CaseItem, response: QueryResponse) -> Outcome:
    """Return the query's outcome with the response that the fixture gave, which a conftest may have replaced."""
    judged = item.stash.get(JUDGED, None)
    if judged is None:
        return Outcome(response, None, None, None)
    return judged.outcome if judged.outcome.response is response else replace(judged.outcome, response=response)


def _properties(result: EvaluationCaseResult) -> list[tuple[str, Any]]:
    return [(score.name, "unscored" if score.value is None else float(score.value)) for score in result.scores]
