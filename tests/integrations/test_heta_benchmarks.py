"""Benchmarks and evaluators of heta-framework, run by our runner on any recipe."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip(
    "heta_framework", reason="heta_framework is not installed: pip install 'pytest-heta[heta]' (Python 3.11 or 3.12)"
)

from heta_framework import evaluation as heta

from pytest_heta import BeirBenchmark, BenchmarkRunner, BenchmarkWorkspace, EvaluationReport
from pytest_heta.integrations import as_benchmark, as_evaluator
from pytest_heta.integrations.heta_benchmarks import HetaBenchmark, HetaEvaluator
from tests.integrations.helpers import overlap

TEXTS = {"1": "Zinc shortens colds.", "2": "Statins lower cholesterol.", "3": "Coffee keeps people awake."}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Write a data set of three documents and two queries in BEIR layout."""
    folder = tmp_path / "data"
    (folder / "qrels").mkdir(parents=True)
    rows = [json.dumps({"_id": name, "title": "", "text": text}) for name, text in TEXTS.items()]
    (folder / "corpus.jsonl").write_text("\n".join(rows))
    queries = {"7": "statins lower cholesterol", "8": "coffee keeps"}
    (folder / "queries.jsonl").write_text("\n".join(json.dumps({"_id": n, "text": t}) for n, t in queries.items()))
    (folder / "qrels/test.tsv").write_text("query-id\tcorpus-id\tscore\n7\t2\t1\n8\t1\t1\n")
    return folder


class Overlap:
    """Ranks by shared words."""

    def build(self, documents: list[Any]) -> None:
        """Keep the texts."""
        self.texts = {document.document_id: document.text for document in documents}

    def search(self, query: str, top_k: int) -> list[tuple[str, float]]:
        """Rank."""
        ranked = sorted(self.texts, key=lambda name: (-overlap(query, self.texts[name].replace(".", "")), name))
        return [(name, 1 / (place + 1)) for place, name in enumerate(ranked)][:top_k]


def report(benchmark: Any, folder: Path, evaluators: Any = None) -> EvaluationReport:
    """Run a benchmark."""
    run = BenchmarkRunner().run(
        benchmark=as_benchmark(benchmark),
        recipe=Overlap,
        knowledge_base_name="zoo",
        evaluators=evaluators,
        workspace=BenchmarkWorkspace.under(folder),
    )
    return asyncio.run(run)


def test_their_benchmark_gives_the_cases_and_units_of_ours(data: Path, tmp_path: Path) -> None:
    """heta-framework's BeirBenchmark and ours find the same cases, gold labels and hits in the same files."""
    theirs = as_benchmark(heta.BeirBenchmark(dataset="mini", data_root=data, download=False))
    assert isinstance(theirs, HetaBenchmark)
    first = report(theirs, tmp_path / "a")
    second = report(BeirBenchmark("mini", data_root=data), tmp_path / "b")
    facts = [
        [(case.case_id, case.query, [hit.document_id for hit in case.hits]) for case in each.cases]
        for each in (first, second)
    ]
    assert facts[0] == facts[1]
    assert [case.error for case in first.cases if case.error] == []
    assert first.benchmark.name == second.benchmark.name == "beir_mini"


def test_their_evaluators_score_our_responses(data: Path, tmp_path: Path) -> None:
    """heta-framework's reciprocal rank of the first right document is 1 for one query and 1/2 for the other."""
    mrr = as_evaluator(heta.BeirRetrievalMetric(metric="mrr", k=10))
    assert isinstance(mrr, HetaEvaluator)
    scored = report(BeirBenchmark("mini", data_root=data), tmp_path, (mrr,))
    assert [score.value for case in scored.cases for score in case.scores] == [1.0, 0.5]


def test_ours_stay_as_they_are(data: Path) -> None:
    """What does not come from heta-framework is not wrapped."""
    ours = BeirBenchmark("mini", data_root=data)
    assert as_benchmark(ours) is ours
    evaluator = ours.evaluators()[0]
    assert as_evaluator(evaluator) is evaluator
