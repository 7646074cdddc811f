"""Whole runs of the adapters: documents through a built-in recipe to scores."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from pytest_heta.benchmarks.multihop_rag import MultiHopRagBenchmark
from pytest_heta.benchmarks.registry import resolve_benchmark
from pytest_heta.benchmarks.uda import UdaBenchmark
from pytest_heta.knowledge import Bm25, Recipe, SentenceAnswerer, TokenChunker
from pytest_heta.protocols import BenchmarkProtocol
from pytest_heta.records import BenchmarkWorkspace, EvaluationCaseResult, EvaluationReport, QueryResponse, QueryResult
from pytest_heta.reports.aggregate import official_summary
from pytest_heta.runner import BenchmarkRunner
from tests.benchmarks.reading import gather, prepare
from tests.benchmarks.uda_files import write_official
from tests.knowledge.pdfs import pdf
from tests.shared_data import shared_data

HERE = Path(__file__).parent
ANSWERING = Recipe("answering", modes={"bm25": Bm25()}, chunker=TokenChunker(100, 20), answerer=SentenceAnswerer())
RETRIEVAL = Recipe("retrieval", modes={"bm25": Bm25()})
GOOD = pdf(["Rent expense", "2016 2015", "Rent 244 249", "The lease ends in 2020."])
ENCRYPTED = pdf(
    ["x"], trailer="/Encrypt << /Filter /Standard /V 1 /R 2 /O (" + 32 * "a" + ") /U (" + 32 * "b" + ") /P -4 >>"
)


def run(benchmark: BenchmarkProtocol, recipe: Recipe, root: Path) -> EvaluationReport:
    """Evaluate below ``root`` under the KB name ``kb``."""
    runner = BenchmarkRunner()
    workspace = BenchmarkWorkspace.under(root / "heta")
    return asyncio.run(runner.run(benchmark=benchmark, recipe=recipe, knowledge_base_name="kb", workspace=workspace))


def multihop() -> MultiHopRagBenchmark:
    """Return the hand-written benchmark in the official format."""
    return MultiHopRagBenchmark(
        HERE / "multihop" / "corpus.json", HERE / "multihop" / "MultiHopRAG.json", download=False
    )


def values(result: EvaluationCaseResult) -> dict[str, float | None]:
    """Return the scores of one result by metric."""
    return {score.name: score.value for score in result.scores}


def fin(root: Path, documents: dict[str, bytes], wanted: Sequence[str]) -> UdaBenchmark:
    """Return a fin subset with one question a wanted document, of which these files are there."""
    rows = [f"{name}|{name}/2016/page_1.pdf-1|what was the rent in 2016?|244|244" for name in wanted]
    source_root = write_official(root, "fin", rows)
    for name, data in documents.items():
        (source_root / "fin_docs" / f"{name}.pdf").write_bytes(data)
    return UdaBenchmark("fin", source_root, download=False)


def test_each_document_of_uda_is_a_knowledge_base_and_gets_an_answer(tmp_path: Path) -> None:
    """The KBs are named after the units, and the official metric judges the number that was found."""
    names = ["GS_2016", "M*A*S*H (TV series)"]
    report = run(fin(tmp_path, dict.fromkeys(names, GOOD), names), ANSWERING, tmp_path)
    assert [kb.name for kb in report.knowledge_bases] == ["kb-GS_2016", "kb-M_A_S_H_TV_series_"]
    for result, name in zip(report.cases, names, strict=True):
        assert (result.answer, values(result)) == ("244", {"uda_em": 1.0, "answer_contains": 1.0})
        assert result.labels == {"subset": "fin", "doc_name": name}
        assert result.case_id == f"{name}/2016/page_1.pdf-1"


def test_a_recipe_that_only_retrieves_gets_nothing_for_answers(tmp_path: Path) -> None:
    """Its missing answers count 0, which is said, and are out of the official view alone."""
    report = run(fin(tmp_path, {"A": GOOD}, ["A"]), RETRIEVAL, tmp_path)
    (result,) = report.cases
    assert values(result) == {"uda_em": 0.0, "answer_contains": 1.0}
    assert "no answer" in result.scores[0].metadata["reason"]
    assert report.counts["bm25.uda_em"].scored == 1
    assert report.score_summary["bm25.uda_em"] == 0.0
    assert "bm25.uda_em" not in official_summary(report)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (None, r"the document 'Bad' is missing: looked for Bad.pdf"),
        (b"", "cannot read 'Bad.pdf': the file is empty"),
        (GOOD[:-40], "cannot read 'Bad.pdf': the file is truncated"),
        (ENCRYPTED, "cannot read 'Bad.pdf': the file is encrypted"),
        (b"%PDF-1.4 rubbish %%EOF", "cannot read 'Bad.pdf': the file is damaged"),
        (pdf([]), "cannot read 'Bad.pdf': none of its 1 pages holds text"),
    ],
)
def test_a_document_that_cannot_be_read_is_an_error_of_its_units_cases(
    tmp_path: Path, data: bytes | None, message: str
) -> None:
    """The error names the file and counts as 0; the other unit is scored."""
    documents = {"Good": GOOD} | ({"Bad": data} if data is not None else {})
    report = run(fin(tmp_path, documents, ["Bad", "Good"]), ANSWERING, tmp_path)
    bad, good = report.cases
    assert (bad.status, good.status) == ("errored", "finished")
    assert bad.error is not None
    assert message in bad.error.message
    assert report.score_summary["bm25.uda_em"] == 0.5


def test_a_jsonl_set_with_run_units_is_scored_unit_by_unit(tmp_path: Path) -> None:
    """Each unit has its own KB and only its own documents; a case without gold labels is unscored."""
    report = run(resolve_benchmark("facts", root=HERE.parents[1] / "benchmarks"), ANSWERING, tmp_path)
    assert [kb.name for kb in report.knowledge_bases] == ["kb-harbour", "kb-observatory"]
    assert [kb.manifest["documents"] for kb in report.knowledge_bases] == [6, 6]
    found = {result.case_id: result for result in report.cases}
    assert set(values(found["coach-park"]).values()) == {None}
    assert values(found["salaries-rise"])["answer_exact_match"] == 1.0
    assert found["salaries-rise"].labels == {"kind": "computed"}
    assert report.score_summary["bm25.evidence_recall@3"] == 1.0


def test_multihop_rag_from_files_to_scores(tmp_path: Path) -> None:
    """Facts are found in the articles, null queries are judged by their answer only, and each case has its type."""
    report = run(multihop(), ANSWERING, tmp_path)
    assert [kb.name for kb in report.knowledge_bases] == ["kb"]
    assert [result.case_id for result in report.cases] == [f"multihop_rag_{index:04}" for index in range(5)]
    kinds = [result.labels["question_type"] for result in report.cases]
    assert kinds == ["inference_query", "inference_query", "comparison_query", "temporal_query", "null_query"]
    assert report.score_summary["bm25.multihop_hits@4"] == 1.0
    null = values(report.cases[-1])
    assert {name for name, value in null.items() if value is not None} == {"answer_contains", "multihop_answer_overlap"}


def test_the_adapter_of_multihop_rag_and_its_metrics_give_the_official_scores(tmp_path: Path) -> None:
    """Official rows as corpus and queries: the figures of every row equal those of the official script."""
    rows = [json.loads(line) for line in shared_data("multihop_rag/official_scores.jsonl").read_bytes().splitlines()]
    articles = [
        {"title": f"T{index}", "body": "\n".join(row["gold"]), "url": f"u{index}"} for index, row in enumerate(rows)
    ]
    queries = [
        {
            "query": "q",
            "answer": "a",
            "question_type": "inference_query",
            "evidence_list": [{**article, "fact": fact} for fact in row["gold"]],
        }
        for row, article in zip(rows, articles, strict=True)
    ]
    for name, content in (("corpus.json", articles), ("queries.json", queries)):
        (tmp_path / name).write_text(json.dumps(content), encoding="utf-8")
    benchmark = MultiHopRagBenchmark(tmp_path / "corpus.json", tmp_path / "queries.json", download=False)
    cases = gather(benchmark.cases(prepare(benchmark, tmp_path)))
    metrics: list[Any] = [
        metric for metric in benchmark.evaluators() if metric.name.split("_")[1][:3] in ("hit", "map", "mrr")
    ]
    assert len(metrics) == 4
    for case, row in zip(cases, rows, strict=True):
        results = tuple(QueryResult(id=str(rank), text=text) for rank, text in enumerate(row["retrieved"]))
        response = QueryResponse(mode="m", results=results)
        got = {metric.name: asyncio.run(metric.evaluate(case=case, response=response)).value for metric in metrics}
        assert got == pytest.approx(
            {f"multihop_{name.lower()}": value for name, value in row["official"].items()}, abs=1e-9
        )
