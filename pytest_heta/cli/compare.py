"""``python -m pytest_heta compare``: several reports on one benchmark side by side."""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path

from pytest_heta.cli.command import Command
from pytest_heta.reports.compare import comparison_lines
from pytest_heta.reports.json_file import read_report


def _configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "report", nargs="+", type=Path, metavar="REPORT", help="a report.json; the others are compared with the first"
    )


def _run(arguments: argparse.Namespace) -> int:
    reports = [read_report(path) for path in arguments.report]
    for line in comparison_lines(reports, shutil.get_terminal_size().columns):
        print(line.text)
    return 0


COMMAND = Command("compare", "compare reports on the same benchmark, case by case", _configure, _run)
