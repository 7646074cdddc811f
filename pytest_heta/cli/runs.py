"""``python -m pytest_heta runs``: look at what earlier runs left behind, compare, remove."""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path

from pytest_heta.cli.command import Command
from pytest_heta.errors import UsageError
from pytest_heta.records import EvaluationReport
from pytest_heta.reports.compare import comparison_lines
from pytest_heta.reports.history import REPORT, RunStore, StoredEvaluation
from pytest_heta.reports.lines import Line
from pytest_heta.reports.metric_names import headline_metrics
from pytest_heta.reports.summary import summary_lines
from pytest_heta.reports.text import benchmark_title, fit, listed, mean, one_line, plural, recipe_name
from pytest_heta.reports.thresholds import short_name
from pytest_heta.reports.writers import write_report_file, writer_of


def _list(arguments: argparse.Namespace) -> int:
    store = RunStore(arguments.runs)
    for run_id in store.run_ids():
        print(run_id)
        for evaluation in store.evaluations(run_id):
            _print(list_lines(evaluation, _width()))
    print(f"{plural(len(store.run_ids()), 'run')} in {store.folder}")
    return 0


def list_lines(evaluation: StoredEvaluation, width: int) -> list[Line]:
    """Return what a list of runs says of one evaluation."""
    head = evaluation.head
    if head is None:
        return [Line(f"  {evaluation.folder.name}: {one_line(evaluation.problem)}", "bad")]
    gates = f"{sum(gate.passed for gate in head.gates)} of {plural(len(head.gates), 'gate')}" if head.gates else ""
    title = listed([f"{benchmark_title(head)} with {recipe_name(head)}", head.created_at, _commit(head), gates])
    metric = next(iter(headline_metrics(head.metrics)), "")
    means = (
        f"{mode}: {short_name(metric)} {mean(head.score_summary.get(f'{mode}.{metric}'))}"
        for mode in head.query_modes
        if metric
    )
    return [
        Line(f"  {evaluation.folder.name}"),
        *(Line(fit(f"    {one_line(text)}", width)) for text in (title, *means)),
    ]


def _commit(report: EvaluationReport) -> str:
    git = report.metadata.get("git")
    if not git:
        return ""
    dirty = " (dirty)" if git.get("dirty") else ""
    return f"{str(git.get('commit'))[:10]} on {git.get('branch') or 'no branch'}{dirty}"


def _show(arguments: argparse.Namespace) -> int:
    store = RunStore(arguments.runs)
    for evaluation in store.find(arguments.name):
        _print(summary_lines(store.report(evaluation.name), _width(), [evaluation.folder / REPORT]))
    for path in arguments.report:
        _written(write_report_file(path, store.report(arguments.name)))
    return 0


def _compare(arguments: argparse.Namespace) -> int:
    store = RunStore(arguments.runs)
    reports = [store.report(name) for name in (arguments.first, *arguments.others)]
    _print(comparison_lines(reports, _width()))
    for path in arguments.report:
        # As above, the differences are those of the newest to the first.
        _written(write_report_file(path, reports[-1], others=reports[:-1]))
    return 0


def _remove(arguments: argparse.Namespace) -> int:
    store = RunStore(arguments.runs)
    for name in arguments.names:
        print(f"removed {store.remove(name)}")
    return 0


def _print(lines: list[Line]) -> None:
    for line in lines:
        print(line.text)


def _written(paths: tuple[Path, ...]) -> None:
    for path in paths:
        print(f"report: {path}")


def _width() -> int:
    return shutil.get_terminal_size((80, 24)).columns


def report_path(text: str) -> Path:
    """Return the path of a report file to write; its suffix must name a format."""
    path = Path(text)
    try:
        writer_of(path)
    except UsageError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
    return path


def add_report(parser: argparse.ArgumentParser) -> None:
    """Add ``--report PATH``, which may be repeated."""
    parser.add_argument(
        "--report",
        metavar="PATH",
        type=report_path,
        action="append",
        default=[],
        help="write the report to PATH too; its suffix names the format; may be repeated",
    )


def _add_folder(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--runs", metavar="DIR", type=Path, default=Path(".heta") / "runs", help="the run store (default: %(default)s)"
    )


def _add_run(parser: argparse.ArgumentParser) -> None:
    _add_folder(parser)
    parser.add_argument("name", metavar="RUN[/EVALUATION]", help="what `runs list` shows, or its beginning")
    add_report(parser)


def _add_pair(parser: argparse.ArgumentParser) -> None:
    _add_folder(parser)
    what = "RUN[/EVALUATION] as `runs list` shows it, or the path of a report in JSON"
    parser.add_argument("first", metavar="REPORT", help=f"what the others are compared with: {what}")
    parser.add_argument("others", metavar="REPORT", nargs="+", help=what)
    add_report(parser)


def _add_runs(parser: argparse.ArgumentParser) -> None:
    _add_folder(parser)
    parser.add_argument("names", metavar="RUN", nargs="+", help="the id of a run, or its beginning")


COMMAND = Command(
    "runs",
    "look at what earlier runs left behind, compare, remove",
    lambda parser: None,
    commands=(
        Command("list", "list the runs, the oldest first", _add_folder, _list),
        Command("show", "print the summary of a run", _add_run, _show),
        Command("compare", "print results side by side", _add_pair, _compare),
        Command("rm", "remove runs", _add_runs, _remove),
    ),
)
