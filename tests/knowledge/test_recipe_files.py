"""The recipes that users copy, as they are, on real data."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest
import pytrec_eval

from pytest_heta.knowledge import Recipe
from pytest_heta.knowledge.base import EmbeddedKnowledgeBase
from tests.knowledge.helpers import build, raw
from tests.shared_data import ROOT, shared_data

RECIPES = ("bm25", "vector", "hybrid", "minilm", "extractive_qa")


def recipe_of(name: str) -> Recipe:
    """Return the recipe of a file."""
    found = import_module(f"recipes.{name}").recipe
    assert isinstance(found, Recipe)
    return found


@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_file_is_cheap_to_import(name: str) -> None:
    """Importing a recipe loads no engine, no model, no parser, and not even numpy."""
    script = (
        f"import runpy, sys; runpy.run_path('recipes/{name}.py')\n"
        "heavy = {'numpy', 'bm25s', 'wordllama', 'onnxruntime', 'tokenizers', 'pypdfium2', 'selectolax'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", script], cwd=ROOT, check=True)


@pytest.mark.parametrize(
    ("name", "modes"),
    [
        ("bm25", ("full_text_search",)),
        ("vector", ("vector_search",)),
        ("hybrid", ("full_text_search", "vector_search", "hybrid_search")),
        ("minilm", ("full_text_search", "vector_search", "hybrid_search")),
        ("extractive_qa", ("full_text_search", "vector_search")),
    ],
)
def test_a_recipe_has_the_modes_that_it_is_known_for(name: str, modes: tuple[str, ...]) -> None:
    """Each file's recipe is named like the file and has the documented modes."""
    assert recipe_of(name).name == name
    assert recipe_of(name).available_queries == modes


@pytest.mark.parametrize("name", ["bm25", "vector", "hybrid", "extractive_qa"])
def test_a_recipe_finds_the_right_document(name: str) -> None:
    """Every mode of every recipe that needs no download finds the one document that is about the query."""
    kb = build(
        recipe_of(name),
        {
            raw("a"): "Annual leave is 28 days for every employee.",
            raw("b"): "The printer is on the second floor.",
            raw("c", "c.html"): "<h1>Coffee</h1><p>Coffee in the kitchen is free of charge.</p>",
        },
    )
    for mode in kb.available_queries:
        response = kb.query("How many days of annual leave do I have?", mode=mode, top_k=2)
        assert response.results[0].source["document_id"] == "a"
        assert response.answer == ("28" if name == "extractive_qa" else None)
    kb.close()


@pytest.fixture(scope="module")
def scifact() -> Iterator[zipfile.ZipFile]:
    """Open the real SciFact archive."""
    with zipfile.ZipFile(shared_data("beir/scifact.zip")) as archive:
        yield archive


def rows(archive: zipfile.ZipFile, name: str) -> list[dict[str, str]]:
    """Return the rows of a JSONL file."""
    return [json.loads(line) for line in archive.read(f"scifact/{name}.jsonl").split(b"\n") if line]


def mean_ndcg(archive: zipfile.ZipFile, kb: EmbeddedKnowledgeBase, mode: str) -> float:
    """Return trec_eval's mean nDCG@10 over the judged queries of the test split."""
    judged: dict[str, dict[str, int]] = {}
    for line in archive.read("scifact/qrels/test.tsv").decode().splitlines()[1:]:
        query, document, relevance = line.split("\t")
        judged.setdefault(query, {})[document] = int(relevance)
    queries = {row["_id"]: row["text"] for row in rows(archive, "queries") if row["_id"] in judged}
    responses = kb.query_many(list(queries.values()), mode=mode, top_k=20)
    run: dict[str, dict[str, float]] = {}
    for query, response in zip(queries, responses, strict=True):
        found = dict.fromkeys(str(result.source["document_id"]) for result in response.results)
        run[query] = {document: -float(rank) for rank, document in enumerate(found)}
    scores = pytrec_eval.RelevanceEvaluator(judged, {"ndcg_cut.10"}).evaluate(run)
    assert len(queries) == len(judged) == 300
    return sum(scores[query]["ndcg_cut_10"] if query in scores else 0.0 for query in judged) / len(judged)


@pytest.mark.parametrize(
    ("name", "mode", "lowest", "highest"),
    [("bm25", "full_text_search", 0.67, 0.70), ("vector", "vector_search", 0.501, 0.521)],
)
def test_scifact_scores_are_those_of_the_engines(
    scifact: zipfile.ZipFile, name: str, mode: str, lowest: float, highest: float, tmp_path: Path
) -> None:
    """On SciFact, nDCG@10 is what bm25s (0.687) and wordllama (0.511) reach when they are called directly."""
    recipe = recipe_of(name)
    texts = {raw(row["_id"]): f"{row['title']}\n\n{row['text']}" for row in rows(scifact, "corpus")}
    built = build(recipe, texts)
    built.save(tmp_path)
    built.close()
    kb = recipe.load(tmp_path, name="scifact")
    assert kb.document_count == 5183
    assert lowest <= mean_ndcg(scifact, kb, mode) <= highest
    kb.close()


def test_real_annual_reports_are_searched_by_page() -> None:
    """In a real annual report of 110 pages BM25 finds the page of the cash-flow statement."""
    path = shared_data("uda/src_doc_files_example/fin_docs/ADI_2009.pdf")
    kb = build(recipe_of("bm25"), {raw("ADI_2009", path.name): path.read_bytes()})
    best = kb.query("consolidated statements of cash flows operating activities", mode="full_text_search", top_k=3)
    assert any("CONSOLIDATED STATEMENTS OF CASH FLOWS" in result.text for result in best.results)
    assert all(0 <= result.source["page_index"] < 110 for result in best.results)
    kb.close()
