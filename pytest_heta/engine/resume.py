"""Going on where a run was interrupted: what it finished, and why that cannot be taken over."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

from pydantic import ValidationError

from pytest_heta.engine.documents import digest_documents
from pytest_heta.engine.journal import JournalHeader, explain_difference, read_journals
from pytest_heta.engine.plan import Plan
from pytest_heta.records import EvaluationCaseResult, KnowledgeBaseReport

ResultKey = tuple[str, str, str]
"""Unit id, case id, mode."""


def finished_results(
    folder: Path, header: JournalHeader, *, notice: Callable[[str], None]
) -> dict[ResultKey, EvaluationCaseResult]:
    """Return what the run in ``folder`` finished of the evaluation that ``header`` describes.

    Only what has a response and all its scores is finished; what errored is to be asked again. Another selection of
    the cases does not matter. Where nothing can be taken over, or a line is torn, ``notice`` is told why.

    Raises:
        ReportError: the journal cannot be read.
    """
    # A run of another recipe or benchmark has no such folder.
    journals = read_journals(folder, notice=notice) if folder.exists() else []
    if not journals:
        notice(f"{folder} holds no journal, so nothing can be resumed: everything is asked anew")
    differences = [explain_difference(before, header, ignore=("selection",)) for before, _ in journals]
    if journals and all(differences):
        notice(f"{folder} was another evaluation, so everything is asked anew: {'; '.join(differences[-1])}")
    return {
        (result.unit_id, result.case_id, result.mode): result
        for (_, results), different in zip(journals, differences, strict=True)
        for result in results
        if not different and result.status == "finished" and result.error is None
    }


_BASES = ".knowledge_bases.jsonl"


def write_bases(folder: Path, writer_id: str, reports: Iterable[KnowledgeBaseReport]) -> None:
    """Write down how knowledge bases came to be, beside the journal and flushed like it.

    Raises:
        OSError: it cannot be written.
    """
    with (folder / f"{writer_id}{_BASES}").open("a", encoding="utf-8") as file:
        file.write("".join(f"{report.model_dump_json()}\n" for report in reports))


def read_bases(folder: Path) -> list[KnowledgeBaseReport]:
    """Return what ``write_bases`` wrote; a torn line tells of a knowledge base that is opened again."""
    reports = []
    for path in sorted(folder.glob(f"*{_BASES}")):
        for line in path.read_text(encoding="utf-8").split("\n"):
            with suppress(ValidationError):
                reports.append(KnowledgeBaseReport.model_validate_json(line))
    return reports


async def changed_units(plan: Plan, bases: Iterable[KnowledgeBaseReport]) -> list[str]:
    """Return the ids of the units whose documents are no longer those that their knowledge base was built from."""
    before = {base.unit_id: base.manifest.get("documents_digest") for base in bases}
    known = [unit.unit for unit in plan.units if before.get(unit.unit.unit_id)]
    return [unit.unit_id for unit in known if await digest_documents(plan, unit) != before[unit.unit_id]]
