"""``python -m pytest_heta score``: score any TREC run with our evaluators."""

from __future__ import annotations

import argparse
import asyncio
import re
import shutil
from pathlib import Path

from pytest_heta.cli.command import Command
from pytest_heta.cli.runs import add_report
from pytest_heta.errors import UnknownNameError
from pytest_heta.evaluators.ranking import RANKING_MEASURES, BeirRetrievalMetric
from pytest_heta.reports.summary import summary_lines
from pytest_heta.reports.trec_run import score_run
from pytest_heta.reports.writers import write_report_file

CUTOFFS = (1, 3, 5, 10, 100)

_METRIC = re.compile(r"(?:beir_)?(?P<name>[a-z]+)@(?P<k>[0-9]+)")


def parse_metric(text: str, drop_query_id: bool = False) -> BeirRetrievalMetric:
    """Return the metric that ``ndcg@10`` or ``beir_ndcg@10`` names.

    Raises:
        UnknownNameError: There is no such metric.
        UsageError: The cut-off is 0.
    """
    match = _METRIC.fullmatch(text.strip())
    name = match["name"] if match else text
    for measure in RANKING_MEASURES:
        if match and measure == name:
            return BeirRetrievalMetric(measure, int(match["k"]), drop_query_id=drop_query_id)
    raise UnknownNameError("metric", text, [f"{measure}@K" for measure in RANKING_MEASURES])


def _score(arguments: argparse.Namespace) -> int:
    names = arguments.metric or [f"{measure}@{k}" for measure in RANKING_MEASURES for k in CUTOFFS]
    metrics = [parse_metric(name, arguments.drop_query_id) for name in dict.fromkeys(names)]
    report = asyncio.run(score_run(arguments.qrels, arguments.run_file, metrics))
    for line in summary_lines(report, shutil.get_terminal_size((80, 24)).columns):
        print(line.text)
    for path in arguments.report:
        for written in write_report_file(path, report):
            print(f"report: {written}")
    return 0


def _configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--qrels", metavar="FILE", type=Path, required=True, help="judgements: BEIR's .tsv or TREC's")
    # Not "run": that is where argparse keeps the function of a command.
    parser.add_argument("--run", metavar="FILE", type=Path, required=True, dest="run_file", help="a TREC run")
    parser.add_argument(
        "--metric",
        metavar="NAME@K",
        action="append",
        help=f"one of {', '.join(RANKING_MEASURES)} at K; may be repeated (default: all at 1, 3, 5, 10, 100)",
    )
    parser.add_argument(
        "--drop-query-id", action="store_true", help="leave out documents that have their query's id, as BEIR does"
    )
    add_report(parser)


COMMAND = Command("score", "score a TREC run against judgements", _configure, _score)
