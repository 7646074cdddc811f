"""What travels on a test report, from the process that ran an item to the one that reports: exact builtins only."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NotRequired, TypedDict

import pytest

from pytest_heta.engine.retry import evaluation_error
from pytest_heta.engine.scoring import errored_result, not_run_result
from pytest_heta.plugin.asking import BuildFailed
from pytest_heta.plugin.check import ASKED, ERROR, GIVEN, JUDGED, LINE, RESULT, CaseFailed, encoded
from pytest_heta.plugin.host import HostNews
from pytest_heta.records import EvaluationCaseResult, EvaluationError, KnowledgeBaseReport

if TYPE_CHECKING:
    from pytest_heta.plugin.nodes import CaseItem

ATTRIBUTE = "heta"


class Record(TypedDict):
    """The value of the attribute: a result and reports on knowledge bases, each in JSON, and what a host has to say."""

    case: str
    knowledge_bases: list[str]
    host: NotRequired[HostNews]


def hand_over(item: CaseItem, call: pytest.CallInfo[Any], report: pytest.TestReport) -> None:
    """Write the item's result down and hand it to who reports, with news of knowledge bases.

    In the process that reports that is a call; from a worker both travel as JSON on the report of the last phase.
    """
    if report.when == "call" or (report.when == "setup" and not report.passed):
        result, news = _result(item, call, report), item.anchored.knowledge_base_news()
        if call.excinfo is not None and isinstance(call.excinfo.value, CaseFailed):
            section = call.excinfo.value.section
            report.sections += [section] if section else []
        line = item.stash.get(LINE, None) or encoded(result)
        forget(item.stash)
        host = item.heta.host
        if item.recorded is None and host is None:  # else it is written down where it is reported
            item.heta.journal(item.prefix, item.anchored, line, news)
        if item.heta.receive is not None:
            item.heta.receive(item.nodeid, line, news)
        else:
            record = Record(case=line, knowledge_bases=[kb.model_dump_json() for kb in news])
            if host is not None:
                record["host"] = host.news(item.prefix, item.anchored, news)
            setattr(report, ATTRIBUTE, record)


def unpack(report: pytest.TestReport) -> tuple[str, list[KnowledgeBaseReport], HostNews | None] | None:
    """Return what came with a worker's report, the result still as JSON; None for another test or phase."""
    record: Record | None = getattr(report, ATTRIBUTE, None)
    if record is None:
        return None
    bases = [KnowledgeBaseReport.model_validate_json(text) for text in record["knowledge_bases"]]
    return record["case"], bases, record.get("host")


def _result(item: CaseItem, call: pytest.CallInfo[Any], report: pytest.TestReport) -> EvaluationCaseResult:
    """Return the result; where an item left none, the error or skip that kept it from one."""
    result = item.stash.get(RESULT, None)
    if result is not None:
        return result
    place = (item.planned.unit.unit.unit_id, item.planned.case, item.planned.mode)
    if report.skipped:
        skipped = not_run_result(*place)
        return skipped.model_copy(update={"node_id": item.nodeid, "metadata": {"reason": f"skipped: {_reason(call)}"}})
    return errored_result(*place, _error(item, call)).model_copy(update={"node_id": item.nodeid})


def _error(item: CaseItem, call: pytest.CallInfo[Any]) -> EvaluationError:
    assert call.excinfo is not None
    raised = call.excinfo.value
    if isinstance(raised, BuildFailed):
        return raised.error
    return item.stash.get(ERROR, None) or evaluation_error(raised)


def forget(stash: pytest.Stash) -> None:
    """Let go of what the fixtures found: items live until the end of the session and may be run again."""
    keys: tuple[pytest.StashKey[Any], ...] = (ASKED, JUDGED, ERROR, RESULT, GIVEN, LINE)
    for key in keys:
        if key in stash:
            del stash[key]


def _reason(call: pytest.CallInfo[Any]) -> str:
    return str(call.excinfo.value) if call.excinfo else ""
