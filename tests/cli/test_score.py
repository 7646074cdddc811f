"""``python -m pytest_heta score``."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_heta.__main__ import main
from pytest_heta.cli.score import parse_metric
from pytest_heta.errors import UsageError
from pytest_heta.reports.json_file import read_report


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    """Judgements of two queries in BEIR's form, and a run that ranks for one of them."""
    (tmp_path / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td1\t1\nq2\td2\t1\n")
    (tmp_path / "my.run").write_text("q1 Q0 q1 1 3.0 t\nq1 Q0 d1 2 2.0 t\n")
    return ["score", "--qrels", str(tmp_path / "test.tsv"), "--run", str(tmp_path / "my.run")]


def test_all_measures_are_scored(files: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """The query without a ranking counts 0, and the official view leaves it out."""
    assert main(files) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["run", "@1", "@3", "@5", "@10", "@100"] in lines
    assert ["mrr", "0.0000", "0.2500", "0.2500", "0.2500", "0.2500"] in lines
    assert ["mrr", "0.0000", "0.5000", "0.5000", "0.5000", "0.5000"] in lines
    assert ["2", "planned:", "1", "scored,", "0", "unscored,", "1", "errored,", "0", "not", "run"] in lines


def test_chosen_metrics_and_a_report_file(files: list[str], tmp_path: Path) -> None:
    """As BEIR does it, the document with the query's id does not count; the report can be written in any format."""
    out = tmp_path / "out.json"
    options = ["--metric", "mrr@10", "--metric", "beir_ndcg@5", "--drop-query-id", "--report", str(out)]
    assert main([*files, *options]) == 0
    assert read_report(out).score_summary == {"run.beir_mrr@10": 0.5, "run.beir_ndcg@5": 0.5}


@pytest.mark.parametrize("text", ["ndcg", "ndcg@", "@10", "bleu@10", "ndcg@x", "ndcg@0"])
def test_bad_metrics(text: str) -> None:
    """What is no metric is refused."""
    with pytest.raises(UsageError):
        parse_metric(text)


def test_bad_files_are_named(files: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 1 and file:line."""
    (tmp_path / "my.run").write_text("q1 d1 1\n")
    assert main(files) == 1
    assert f"error: {tmp_path / 'my.run'}:1: expected query, Q0" in capsys.readouterr().err
