"""TREC runs scored with our evaluators."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
import pytrec_eval

from pytest_heta.errors import DataError
from pytest_heta.evaluators.ranking import BeirRetrievalMetric
from pytest_heta.reports.aggregate import official_summary
from pytest_heta.reports.trec_run import read_run, score_run

NDCG, MAP = BeirRetrievalMetric("ndcg", 3, drop_query_id=False), BeirRetrievalMetric("map", 3, drop_query_id=False)


def _files(folder: Path, qrels: str, run: str) -> tuple[Path, Path]:
    paths = folder / "x.qrels", folder / "x.run"
    for path, text in zip(paths, (qrels, run), strict=True):
        path.write_text(text)
    return paths


def test_a_run_is_ordered_as_trec_eval_does(tmp_path: Path) -> None:
    """By score as a 32-bit float, then by document id, both falling; ranks and the order of lines mean nothing."""
    lines = ["q Q0 a 1 1.0 t", "q Q0 c 2 1.00000001 t", "q Q0 b 3 1.0 t", "q Q0 z 4 2e0 t", "p Q0 x 1 -1 t"]
    (tmp_path / "run").write_text("\n".join(lines))
    assert read_run(tmp_path / "run") == {
        "q": [("z", 2.0), ("c", 1.0), ("b", 1.0), ("a", 1.0)],
        "p": [("x", -1.0)],
    }


def test_the_numbers_are_those_of_trec_eval(tmp_path: Path) -> None:
    """Grades, ties, queries that only one file has: the means are those with -c, the official ones those without."""
    qrels = "1 0 a 2\n1 0 b 1\n1 0 c 0\n1 0 d -1\n2 0 a 1\n3 0 z/é 3\n"
    run = "1 Q0 c 1 0.5 t\n1 Q0 b 2 0.5 t\n1 Q0 a 3 0.4 t\n3 Q0 z/é 1 1 t\n3 Q0 3 2 3 t\n9 Q0 a 1 1 t\n"
    paths = _files(tmp_path, qrels, run)
    report = asyncio.run(score_run(*paths, [NDCG, MAP]))
    with paths[0].open() as file:
        grades = pytrec_eval.parse_qrel(file)
    with paths[1].open() as file:
        rankings = pytrec_eval.parse_run(file)
    found = pytrec_eval.RelevanceEvaluator(grades, {"ndcg_cut.3", "map_cut.3"}).evaluate(rankings)
    for metric, name in ((NDCG, "ndcg_cut_3"), (MAP, "map_cut_3")):
        total = sum(values[name] for values in found.values())
        assert report.score_summary[f"run.{metric.name}"] == pytest.approx(total / 3, abs=1e-9)
        assert official_summary(report)[f"run.{metric.name}"] == pytest.approx(total / 2, abs=1e-9)
    assert [case.status for case in report.cases] == ["finished", "errored", "finished"]
    assert report.selection == {"unjudged_queries": 1}


def test_a_query_without_a_relevant_document_is_unscored(tmp_path: Path) -> None:
    """Ranked or not, no ranking could have done better or worse."""
    paths = _files(tmp_path, "1 0 a 0\n2 0 a 0\n", "1 Q0 a 1 1 t\n")
    report = asyncio.run(score_run(*paths, [NDCG]))
    assert report.counts[f"run.{NDCG.name}"].unscored == 2
    assert report.score_summary == {}


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "holds no ranking"),
        ("q Q0 a 1 t\n", ":1: expected query, Q0, document, rank, score, tag, found 5 columns"),
        ("q Q0 a 1 1 t\nq Q0 b 2 high t\n", ":2: score 'high' is not a number"),
        ("q Q0 a 1 nan t\n", ":1: score 'nan' is not a finite 32-bit float"),
        ("q Q0 a 1 1e39 t\n", ":1: score '1e39' is not a finite 32-bit float"),
        ("q Q0 a 1 2 t\nq Q0 a 2 1 t\n", ":2: query 'q' has document 'a' twice"),
    ],
)
def test_a_malformed_run_says_where(tmp_path: Path, text: str, fault: str) -> None:
    """One message with file and line."""
    (tmp_path / "run").write_text(text)
    with pytest.raises(DataError) as caught:
        read_run(tmp_path / "run")
    assert fault in str(caught.value)
