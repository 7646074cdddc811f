"""Code written for heta-framework's evaluation runs with another import: its four documented examples."""

from __future__ import annotations

import asyncio
import csv
import json
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip(
    "heta_framework", reason="heta_framework is not installed: pip install 'pytest-heta[heta]' (Python 3.11 or 3.12)"
)

from pytest_heta import BeirBenchmark, BeirRetrievalMetric, BenchmarkRunner, EvidenceRecallAtK, UdaBenchmark
from tests.integrations.heta_zoo import heta_recipe
from tests.integrations.language_rules import RuleModel
from tests.shared_data import shared_data

DOCUMENTS = ("ABMD_2012", "ADI_2009", "GS_2016")


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work in an empty folder, with a SciFact of three documents in the cache in the place of the download."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HETA_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "cache/beir").mkdir(parents=True)
    texts = {"1": "Zinc shortens colds.", "2": "Statins lower cholesterol.", "3": "Coffee keeps people awake."}
    corpus = "\n".join(json.dumps({"_id": name, "title": "", "text": text}) for name, text in texts.items())
    queries = json.dumps({"_id": "7", "text": "statins lower cholesterol"})
    with zipfile.ZipFile(tmp_path / "cache/beir/scifact.zip", "w") as archive:
        archive.writestr("scifact/corpus.jsonl", corpus)
        archive.writestr("scifact/queries.jsonl", queries)
        archive.writestr("scifact/qrels/test.tsv", "query-id\tcorpus-id\tscore\n7\t2\t1\n")


@pytest.fixture
def recipe(tmp_path: Path) -> Any:
    """Return an ordinary KnowledgeRecipe that reads text and PDF files."""
    return heta_recipe(tmp_path / "objects", chunk_size=2048)


def test_beir(recipe: Any) -> None:
    """The example of BEIR: the data set by name, with the default metrics."""

    async def example() -> Any:
        benchmark = BeirBenchmark(
            dataset="scifact",
        )

        return await BenchmarkRunner().run(
            benchmark=benchmark,
            recipe=recipe,
            knowledge_base_name="beir_scifact_vector_v1",
            query_modes=("vector_search",),
        )

    result = asyncio.run(example())
    assert len(result.score_summary) == 25
    assert result.score_summary["vector_search.beir_ndcg@10"] == 1.0


def test_beir_with_two_metrics(recipe: Any) -> None:
    """The example of BEIR with metrics of the user's choice."""

    async def example() -> Any:
        benchmark = BeirBenchmark(dataset="scifact")
        return await BenchmarkRunner().run(
            benchmark=benchmark,
            recipe=recipe,
            knowledge_base_name="beir_scifact_vector_v1",
            query_modes=("vector_search",),
            evaluators=(
                BeirRetrievalMetric(metric="ndcg", k=10),
                BeirRetrievalMetric(metric="recall", k=10),
            ),
        )

    result = asyncio.run(example())
    assert result.score_summary == {"vector_search.beir_ndcg@10": 1.0, "vector_search.beir_recall@10": 1.0}


def test_uda_with_local_files(recipe: Any, tmp_path: Path) -> None:
    """The example of UDA with local files, on three real annual reports: a run unit and a KB each, kept apart."""
    qa_path, extended_info_path, source_root = uda_files(tmp_path)

    async def example() -> Any:
        benchmark = UdaBenchmark(
            subset="fin",
            source_root=source_root,
            qa_path=qa_path,
            extended_info_path=extended_info_path,
        )

        return await BenchmarkRunner().run(
            benchmark=benchmark,
            recipe=recipe,
            knowledge_base_name="uda_fin_vector_v1",
            query_modes=("vector_search",),
        )

    result = asyncio.run(example())
    assert {kb.name for kb in result.knowledge_bases} == {f"uda_fin_vector_v1-{name}" for name in DOCUMENTS}
    assert [case.error for case in result.cases if case.error] == []
    for case in result.cases:
        assert {hit.document_id for hit in case.hits} == {case.unit_id}


def test_uda_with_evidence_recall(tmp_path: Path) -> None:
    """The example of UDA with evidence recall beside the benchmark's own evaluators, in multi-hop search of a graph."""
    qa_path, extended_info_path, source_root = uda_files(tmp_path, ["GS_2016"])
    recipe = heta_recipe(tmp_path / "objects", chunk_size=16_384, graph=RuleModel())

    async def example() -> Any:
        benchmark = UdaBenchmark(
            subset="fin", source_root=source_root, qa_path=qa_path, extended_info_path=extended_info_path
        )
        return await BenchmarkRunner().run(
            benchmark=benchmark,
            recipe=recipe,
            knowledge_base_name="uda_fin_graph_v1",
            query_modes=("heta_multihop_search",),
            evaluators=(
                EvidenceRecallAtK(k=5),
                *benchmark.evaluators(),
            ),
        )

    result = asyncio.run(example())
    assert [case.error for case in result.cases if case.error] == []
    (name,) = [key for key in result.counts if "recall" in key]
    assert result.counts[name].scored > 0


def uda_files(folder: Path, names: Sequence[str] = DOCUMENTS) -> tuple[Path, Path, Path]:
    """Return the question file of the real documents, cut to two rows each, the extended file, the source folder."""
    with shared_data("uda/qa/fin_qa.csv").open(newline="", encoding="utf-8") as file:
        header, *rows = csv.reader(file, delimiter="|")
    extended = shared_data("uda/extended_qa_info_bench/bench_fin_qa.json")
    labelled = {str(item["q_uid"]) for items in json.loads(extended.read_text()).values() for item in items}
    rows.sort(key=lambda row: row[header.index("q_uid")] not in labelled)
    chosen = [[row for row in rows if row[header.index("doc_name")] == name][:2] for name in names]
    with (folder / "fin_qa.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, delimiter="|").writerows([header, *(row for some in chosen for row in some)])
    return folder / "fin_qa.csv", extended, shared_data("uda/src_doc_files_example")
