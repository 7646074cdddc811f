"""The shards of a run make the report of the whole run, or it is said what does not fit."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_heta.engine.header import journal_header
from pytest_heta.engine.journal import JournalWriter
from pytest_heta.engine.shard import PLAN, SHARD, Shard, plan_ids
from pytest_heta.errors import ReportError, UsageError
from pytest_heta.evaluators.ranking import BeirRetrievalMetric
from pytest_heta.records import BenchmarkRunUnit, EvaluationReport, GateResult
from pytest_heta.reports.assemble import RunFacts, assemble_report
from pytest_heta.reports.json_file import read_report, write_report
from pytest_heta.reports.merge import Merged, merge_parts, read_part
from pytest_heta.reports.slices import with_slices
from pytest_heta.reports.thresholds import parse_threshold
from tests.engine.toys import ToyKnowledgeBase, ToyRecipe, case, evaluation_of, plan_of, response

MODES = ("search", "other")
UNITS = tuple(BenchmarkRunUnit(unit_id=name, case_ids=ids) for name, ids in (("b", ("c5", "c1", "c3")), ("a", ())))
CASES = tuple(
    case(f"c{n}", f"d{n % 3}").model_copy(update={"labels": {"parity": "odd" if n % 2 else "even"}}) for n in range(12)
)
GATES = ("recall@2=0.5", "search.recall@2 where parity=odd=0.25")
FACTS = RunFacts("merged", "2026-05-06T07:08:09Z")
APART = {"report_id", "created_at", "durations", "latency", "metadata"}
"""What differs between two runs of the same thing."""


class TwoModes(ToyRecipe):
    """Answers in both modes; c4 fails."""

    available_queries = MODES

    def __init__(self) -> None:
        def make(name: str) -> ToyKnowledgeBase:
            kb = ToyKnowledgeBase(lambda text, top_k: 1 / 0 if text == "query c4" else response("d0", "d1"))
            kb.available_queries = MODES
            return kb

        super().__init__(make)


def run(
    folder: Path, shard: Shard | None, *, k: int = 2, journal_only: bool = False, only: str = "", killed: bool = False
) -> Path:
    """Leave what a run of a shard, or of everything, leaves in its folder."""

    async def story() -> None:
        plan = await plan_of(cases=CASES, units=UNITS, evaluators=(BeirRetrievalMetric("recall", k),))
        whole = plan_ids(plan.units)
        if shard is not None:
            plan = replace(plan, units=shard.apply(plan.units))
        evaluation = evaluation_of(plan, TwoModes())
        selection: dict[str, Any] = (
            {"cases": plan.case_count, SHARD: str(shard)} if shard else {"cases": plan.case_count}
        )
        results = [
            await evaluation.result(unit, one, mode)
            for unit in plan.units
            for mode in MODES
            for one in unit.cases
            if mode.startswith(only)
        ]
        planned = 2 * sum(len(unit.cases) for unit in plan.units)
        selection |= {"planned": planned, "selected": len(results)}
        with JournalWriter(folder, "main", journal_header(evaluation, selection)) as journal:
            for result in results[: -2 if killed else None]:
                journal.write(result.model_dump_json())
        facts = RunFacts("r", "now", {"total": 1.0}, selection, {PLAN: whole} if shard else {})
        gates = [parse_threshold(text, "min") for text in GATES]
        report = assemble_report(evaluation, results, evaluation.pool.reports.values(), facts, gates)
        if not journal_only and not killed:
            write_report(folder / "report.json", with_slices(report, ["parity"]))

    asyncio.run(story())
    return folder


def shards(folder: Path, count: int, **given: Any) -> list[Path]:
    """Run all shards."""
    return [run(folder / str(index), Shard(index, count), **given) for index in range(1, count + 1)]


def merge(folders: Sequence[Path]) -> Merged:
    """Merge what lies in these folders."""
    return merge_parts([read_part(folder) for folder in folders], FACTS)


def comparable(report: EvaluationReport) -> dict[str, Any]:
    """Return the report without what differs between two runs of the same thing."""
    bare = report.model_copy(
        update={
            "cases": tuple(one.model_copy(update={"asked_at": None, "latency_ms": None}) for one in report.cases),
            "knowledge_bases": tuple(
                base.model_copy(update={"build_seconds": None}) for base in report.knowledge_bases
            ),
        }
    )
    return bare.model_dump(exclude=APART)


@pytest.mark.parametrize("count", [1, 2, 3, 7])
@pytest.mark.parametrize("only", ["", "other"])
def test_shards_make_the_report_of_one_run(tmp_path: Path, count: int, only: str) -> None:
    """Cases in the same order, same means, counts, gates and slices, also where a mode was deselected."""
    whole = read_report(run(tmp_path / "whole", None, only=only) / "report.json")
    folders = shards(tmp_path, count, only=only)
    for order in (folders, folders[::-1]):
        merged = merge(order)
        assert comparable(merged.report) == comparable(whole)
        assert merged.report.metadata["slices"] == whole.metadata["slices"]
        assert {name: figures["count"] for name, figures in merged.report.latency.items()} == {
            name: figures["count"] for name, figures in whole.latency.items()
        }
        assert (merged.missing, merged.unjudged) == ((), ())


def test_the_merged_report_has_its_own_name_and_says_where_it_comes_from(tmp_path: Path) -> None:
    """What the shards share is kept once, what they do not under their names; the plan is of no more use."""
    folders = shards(tmp_path, 2)
    other = read_report(folders[1] / "report.json")
    other = other.model_copy(
        update={
            "durations": {"total": 9.0},
            "versions": {**other.versions, "python": "3.99"},
            "metadata": {**other.metadata, "host": "second"},
        }
    )
    write_report(folders[1] / "report.json", other)
    report = merge(folders).report
    assert (report.report_id, report.created_at) == (FACTS.report_id, FACTS.created_at)
    assert report.durations == {"total": 9.0}
    assert report.versions["python"].endswith(", 3.99")
    assert report.metadata["concurrency"] == 8
    assert report.metadata["shards"] == {"1/2": {"report_id": "r"}, "2/2": {"report_id": "r", "host": "second"}}
    assert PLAN not in report.metadata
    assert SHARD not in report.selection


def test_a_missing_shard_is_said_and_its_cases_were_not_run(tmp_path: Path) -> None:
    """So that no gate passes without them."""
    folders = shards(tmp_path, 3)
    merged = merge(folders[:2])
    assert merged.missing == (Shard(3, 3),)
    gone = {one.case_id for one in CASES if Shard(3, 3).holds(one.case_id)}
    assert {one.case_id for one in merged.report.cases if one.status == "not_run"} == gone
    whole = read_report(run(tmp_path / "whole", None) / "report.json")
    key = [(one.unit_id, one.mode, one.case_id) for one in whole.cases]
    assert [(one.unit_id, one.mode, one.case_id) for one in merged.report.cases] == key
    assert not any(gate.passed for gate in merged.report.gates)


def test_a_shard_that_was_killed_is_read_from_its_journal(tmp_path: Path) -> None:
    """What it finished counts, the rest was not run."""
    folders = [run(tmp_path / "1", Shard(1, 2)), run(tmp_path / "2", Shard(2, 2), killed=True)]
    merged = merge(folders)
    assert merged.missing == ()
    lost = [one for one in merged.report.cases if one.status == "not_run"]
    assert len(lost) == 2
    assert all(Shard(2, 2).holds(one.case_id) for one in lost)


def test_a_journal_that_is_whole_is_as_good_as_a_report(tmp_path: Path) -> None:
    """As long as one of the shards has a report."""
    folders = [run(tmp_path / "1", Shard(1, 2)), run(tmp_path / "2", Shard(2, 2), journal_only=True)]
    whole = read_report(run(tmp_path / "whole", None) / "report.json")
    assert merge(folders).report.score_summary == whole.score_summary
    with pytest.raises(UsageError, match=r"none of .*2 has a report\.json: resume one of them first"):
        merge(folders[1:])


def test_a_shard_given_twice_is_refused(tmp_path: Path) -> None:
    """Both are named."""
    first, second = shards(tmp_path, 2)
    with pytest.raises(UsageError, match=rf"{first} and {first} are both shard 1/2"):
        merge([first, second, first])


def changed(folder: Path, **fields: Any) -> Path:
    """Change the report in a folder."""
    report = read_report(folder / "report.json")
    write_report(folder / "report.json", report.model_copy(update=fields))
    return folder


@pytest.mark.parametrize(
    ("fields", "difference"),
    [
        ({"recipe": {"name": "toy", "size": 5}}, "recipe differ: name 'toy' and name 'toy', size 5"),
        ({"knowledge_base_name": "other"}, "knowledge base name differ: 'kb' and 'other'"),
        ({"query_modes": ("search",)}, "query modes differ: search, other and search"),
        ({"metrics": ("x",)}, r"metrics differ: beir_recall@2 and x"),
        ({"selection": {SHARD: "2/2", "cases": 99}}, "they planned other cases"),
        (
            {"metadata": {PLAN: [["a", ["c0"]]], "evaluators": {}}},
            "their metrics are defined differently; they planned",
        ),
        ({"selection": {SHARD: "2/3"}}, r"it is shard 2/3, not one of 2"),
    ],
)
def test_a_shard_of_another_run_is_refused(tmp_path: Path, fields: dict[str, Any], difference: str) -> None:
    """With what differs."""
    first, second = shards(tmp_path, 2)
    if fields.get("selection", {}).get(SHARD) == "2/3":
        second = run(tmp_path / "third", Shard(2, 3))
        fields = {}
    changed(second, **fields)
    (next(second.glob("*.journal.jsonl"))).unlink()
    with pytest.raises(UsageError, match=f"is no shard of the same run as {first}: .*{difference}"):
        merge([first, second])


def test_journals_tell_more_than_reports(tmp_path: Path) -> None:
    """As a recipe that has changed without saying so."""
    first, second = shards(tmp_path, 2)
    journal = next(second.glob("*.journal.jsonl"))
    lines = journal.read_text(encoding="utf-8").split("\n")
    journal.write_text("\n".join([lines[0].replace('"recipe_fingerprint":"', '"recipe_fingerprint":"x'), *lines[1:]]))
    with pytest.raises(UsageError, match="recipe fingerprint: "):
        merge([first, second])


def test_what_is_no_shard_is_refused(tmp_path: Path) -> None:
    """A whole run, and a shard with cases that belong to another."""
    with pytest.raises(UsageError, match="is no shard: only runs with --heta-shard can be merged"):
        read_part(run(tmp_path / "whole", None))
    folder = changed(run(tmp_path / "1", Shard(1, 2)), selection={SHARD: "2/2"})
    with pytest.raises(ReportError, match="holds cases that do not belong to shard 2/2: c"):
        read_part(folder)


def test_gates_of_other_kinds_are_not_judged_anew(tmp_path: Path) -> None:
    """They are handed on by name."""
    first, second = shards(tmp_path, 2)
    gate = GateResult(
        name="baseline exists",
        mode="",
        metric="",
        bound="min",
        threshold=0.0,
        value=None,
        passed=False,
        reason="no",
    )
    report = read_report(first / "report.json")
    changed(first, gates=(*report.gates, gate))
    merged = merge([first, second])
    assert merged.unjudged == (gate,)
    assert [one.name for one in merged.report.gates] == [one.name for one in report.gates]


def command(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Run ``python -m pytest_heta merge``."""
    return subprocess.run(
        [sys.executable, "-m", "pytest_heta", "merge", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_the_command(tmp_path: Path) -> None:
    """It takes folders, reports and runs of the store, writes a new run and prints its summary."""
    store = tmp_path / "runs"
    run(store / "20260101-a" / "toy", Shard(1, 3))
    second = run(tmp_path / "machine2" / "20260101-b" / "toy", Shard(2, 3))
    third = run(tmp_path / "machine3" / "toy", Shard(3, 3))
    places = ("20260101-a", second.parent, third / "report.json")
    done = command(*places, "--runs", store, "--report", tmp_path / "out.json")
    assert done.returncode == 0, done.stderr
    assert "recall@2" in done.stdout
    written = [path for path in store.rglob("report.json") if "20260101" not in str(path)]
    assert len(written) == 1
    assert written[0].parent.name == "toy"
    assert comparable(read_report(written[0])) == comparable(read_report(tmp_path / "out.json"))
    missing = command(*places[:2], "--runs", store)
    assert missing.returncode == 1
    assert "missing: shard 3/3; their cases are counted as not run" in missing.stdout
    refused = command("20260101-a", "20260101-a", "--runs", store)
    assert refused.returncode == 2
    assert "are both shard 1/3" in refused.stderr
