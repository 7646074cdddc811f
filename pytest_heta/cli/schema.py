"""``python -m pytest_heta schema``: the JSON Schema of a report file."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from pytest_heta.cli.command import Command
from pytest_heta.records import EvaluationReport
from pytest_heta.reports.whole_file import write_whole


def report_schema() -> str:
    """Return the JSON Schema (draft 2020-12) of a report in JSON, as the text of a file."""
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema"} | EvaluationReport.model_json_schema()
    return json.dumps(schema, indent=1, ensure_ascii=False) + "\n"


def _schema(arguments: argparse.Namespace) -> int:
    if arguments.output is None:
        sys.stdout.write(report_schema())
    else:
        write_whole(arguments.output, [report_schema().encode()])
        print(f"schema: {arguments.output}")
    return 0


def _configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--output", metavar="PATH", type=Path, help="write it to PATH instead of standard output")


COMMAND = Command("schema", "write the JSON Schema of a report file", _configure, _schema)
