"""``python -m pytest_heta merge``: join the shards of one run, from several machines, into its report."""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path

from pytest_heta.cli.command import Command
from pytest_heta.cli.runs import add_report
from pytest_heta.errors import UsageError
from pytest_heta.reports.history import REPORT, RunStore
from pytest_heta.reports.json_file import write_report
from pytest_heta.reports.merge import Merged, merge_parts, read_part
from pytest_heta.reports.summary import summary_lines
from pytest_heta.reports.writers import write_report_file
from pytest_heta.runner import new_facts


def _merge(arguments: argparse.Namespace) -> int:
    store = RunStore(arguments.runs)
    folders = [_place(name, store) for name in arguments.run_names]
    merged = merge_parts([read_part(folder) for folder in folders], new_facts({}))
    report = merged.report
    path = store.folder / report.report_id / _evaluation_name(folders[0], report.knowledge_base_name) / REPORT
    write_report(path, report)
    for line in summary_lines(report, shutil.get_terminal_size((80, 24)).columns, [path]):
        print(line.text)
    for asked in arguments.report:
        for written in write_report_file(asked, report):
            print(f"report: {written}")
    for problem in _problems(merged):
        print(problem)
    whole = not any(count.not_run for count in report.counts.values())
    return 0 if whole and not merged.unjudged and all(gate.passed for gate in report.gates) else 1


def _problems(merged: Merged) -> list[str]:
    found = []
    if merged.missing:
        missing = ", ".join(map(str, merged.missing))
        found.append(f"missing: shard {missing}; their cases are counted as not run")
    if merged.unjudged:
        names = ", ".join(gate.name for gate in merged.unjudged)
        found.append(f"not judged, as it takes more than the reports: {names}")
    return found


def _place(name: str, store: RunStore) -> Path:
    """Return the report file or the folder of the one evaluation that is named, by its path or in the run store."""
    path = Path(name)
    if path.is_file():
        return path
    folders = [path] if path.is_dir() else [found.folder for found in store.find(name)]
    if path.is_dir() and not _holds_evaluation(path):
        folders = sorted(folder for folder in path.iterdir() if folder.is_dir() and _holds_evaluation(folder))
    if len(folders) != 1:
        held = ", ".join(str(folder) for folder in folders) or "none"
        raise UsageError(f"{name} must name one evaluation of a run; found: {held}")
    return folders[0]


def _holds_evaluation(folder: Path) -> bool:
    return (folder / REPORT).is_file() or any(folder.glob("*.journal.jsonl"))


def _evaluation_name(place: Path, knowledge_base: str) -> str:
    """Name the merged evaluation as in the run store, where a shard comes from one, else by its knowledge base."""
    return place.name if place.is_dir() else knowledge_base


def _configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "run_names",
        metavar="RUN",
        nargs="+",
        help="a shard: RUN[/EVALUATION] of the run store, the folder of a run or evaluation, or a report.json",
    )
    parser.add_argument(
        "--runs",
        metavar="DIR",
        type=Path,
        default=Path(".heta") / "runs",
        help="the run store, where the merged run goes (default: %(default)s)",
    )
    add_report(parser)


COMMAND = Command("merge", "merge the shards of a run into its report", _configure, _merge)
