"""Every mode of heta-framework, with a language model of a few rules; what they find are the benchmark's documents."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Coroutine
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip(
    "heta_framework", reason="heta_framework is not installed: pip install 'pytest-heta[heta]' (Python 3.11 or 3.12)"
)
pytest.importorskip("sqlalchemy", reason="SQLAlchemy is not installed: pip install 'heta-framework[sql]'")

from heta_framework import kb as heta
from heta_framework.common.stores import (
    ClusterableInMemoryGraphStore,
    InMemoryTextIndexStore,
    InMemoryVectorStore,
    LocalObjectStore,
    SQLStore,
)

from pytest_heta.errors import BuildError
from pytest_heta.integrations.heta_framework import HetaRecipe
from pytest_heta.keys import document_id_of
from pytest_heta.records import QueryResponse
from tests.integrations.helpers import ask, build
from tests.integrations.heta_zoo import BagOfWords
from tests.integrations.language_rules import OpenAIStandIn, RuleModel
from tests.integrations.server import serving
from tests.shared_data import ROOT

DOCUMENTS = {
    "brandt": "Amelia Brandt founded Lumen Labs in Zurich.",
    "lumen": "Lumen Labs makes the Halo Lamp.",
    "otter": "The otter cracks shells with a stone.",
    "zurich": "Zurich lies on a lake, with Lumen Labs at its shore.",
}
LAMP = "Which lamp does the company that Amelia Brandt founded make?"
GRAPH_MODES = {
    *("vector_search", "full_text_search", "heta_graph_search", "hybrid_search"),
    *("heta_rerank_search", "heta_rewrite_search", "heta_multihop_search"),
}
CHUNKS = (
    heta.ParseDocuments(),
    heta.SplitDocuments(heta.SplitDocumentsConfig(encoding_name="unicode", chunk_size=512, overlap=0)),
    heta.EmbedChunks(),
    heta.IndexVectors(),
    heta.IndexFullText(),
)
needs_clustering = pytest.mark.skipif(
    find_spec("graspologic") is None or find_spec("umap") is None,
    reason="graspologic or umap is not installed: pip install 'heta-framework[graph]'",
)


def run(coroutine: Coroutine[Any, Any, None]) -> None:
    """Run a test's coroutine."""
    asyncio.run(coroutine)


def recipe_of(folder: Path, *steps: Any, sql: str = "sqlite://", language: Any = None) -> Any:
    """Return a KnowledgeRecipe with every store and model; nothing in it outlives the process but the objects."""
    return heta.KnowledgeRecipe(
        parsers=heta.KnowledgeParsers(documents=heta.DocumentParserRegistry([heta.TextParser()])),
        models=heta.KnowledgeModels(embedding=BagOfWords(), language=language or RuleModel()),
        stores=heta.KnowledgeStores(
            objects=LocalObjectStore(folder),
            vector=InMemoryVectorStore(),
            text_index=InMemoryTextIndexStore(),
            sql=SQLStore(sql),
            graph=ClusterableInMemoryGraphStore(),
        ),
        steps=steps,
    )


def documents(response: QueryResponse) -> list[str | None]:
    """Return the document of each hit."""
    return [document_id_of(hit) for hit in response.results]


async def answers(recipe: HetaRecipe, **options: Any) -> dict[str, QueryResponse]:
    """Build, ask in every mode, close, and return the responses by mode."""
    kb = await build(recipe, DOCUMENTS)
    assert recipe.available_queries == kb.available_queries
    found = {mode: await kb.query(LAMP, mode=mode, top_k=10, options=options) for mode in kb.available_queries}
    await kb.aclose()
    return found


def test_the_modes_of_a_graph_are_known_before_it_is_built(tmp_path: Path) -> None:
    """Modes that need several assets or a language model are offered as the built knowledge base offers them."""
    recipe = HetaRecipe(recipe_of(tmp_path, *CHUNKS, heta.HetaGraphProcedure()))
    assert set(recipe.available_queries) == GRAPH_MODES
    without = HetaRecipe(recipe_of(tmp_path, *CHUNKS))
    assert set(without.available_queries) == {"vector_search", "full_text_search"}


def test_a_graph_is_asked_in_every_mode(tmp_path: Path) -> None:
    """Each mode of a knowledge graph finds the founder and the lamp; multi-hop search answers after two rounds."""

    async def work() -> None:
        found = await answers(HetaRecipe(recipe_of(tmp_path, *CHUNKS, heta.HetaGraphProcedure())))
        assert len(found) == 7
        for response in found.values():
            assert {"brandt", "lumen"} <= set(documents(response))
            assert set(documents(response)) <= set(DOCUMENTS)
        assert found["heta_multihop_search"].answer == "Halo Lamp"
        assert found["heta_multihop_search"].metadata["rounds"] == 2
        assert {hit.kind for hit in found["hybrid_search"].results} == {"chunk", "entity", "relation"}

    run(work())


def test_a_fact_counts_for_each_of_its_documents(tmp_path: Path) -> None:
    """An entity whose evidence lies in three documents is a hit in each of them, at the same place of the ranking."""

    async def work() -> None:
        kb = await build(HetaRecipe(recipe_of(tmp_path, *CHUNKS, heta.HetaGraphProcedure())), DOCUMENTS)
        response = await ask(kb, "Entity: Lumen Labs", mode="heta_graph_search", top_k=20)
        facts = [hit for hit in response.results if hit.metadata.get("entity_name") == "Lumen Labs"]
        assert {document_id_of(hit) for hit in facts} == {"brandt", "lumen", "zurich"}
        assert len({hit.score for hit in facts}) == 1
        assert len({hit.id for hit in response.results}) == len(response.results)
        assert len((await ask(kb, "Entity: Lumen Labs", mode="heta_graph_search", top_k=2)).results) == 2
        await kb.aclose()

    run(work())


def test_a_graph_that_lacks_chunks_is_refused(tmp_path: Path) -> None:
    """heta-framework goes on without the chunks for which its language model fails, and says so only in its records."""

    class Exhausted(RuleModel):
        async def invoke(self, request: Any) -> Any:
            if "otter" in request.prompt:
                raise RuntimeError("no quota left")
            return await super().invoke(request)

    async def work() -> None:
        made = recipe_of(tmp_path, *CHUNKS, heta.HetaGraphProcedure(), language=Exhausted())
        with pytest.raises(BuildError, match=r"not whole.*failed_entity_chunk_ids 1.*max_failed=1"):
            await build(HetaRecipe(made), DOCUMENTS)
        kb = await build(HetaRecipe(made, max_failed=1), DOCUMENTS)
        assert list(kb.manifest["failed_parts"].values()) == [1]
        await kb.aclose()

    run(work())


def test_the_context_of_lightrag_is_no_hit(tmp_path: Path) -> None:
    """LightRAG puts its prompt's context before the chunks; it takes no place in the ranking, and is kept aside."""

    async def work() -> None:
        recipe = HetaRecipe(recipe_of(tmp_path, *CHUNKS, heta.LightRAGProcedure()))
        found = await answers(recipe)
        modes = [mode for mode in found if mode.startswith("light_rag")]
        assert sorted(modes) == [f"light_rag_{kind}_query" for kind in ("global", "hybrid", "local", "mix")]
        for mode in modes:
            assert {hit.kind for hit in found[mode].results} == {"chunk"}
            assert {"brandt", "lumen"} <= set(documents(found[mode])) <= set(DOCUMENTS)
            (context,) = found[mode].metadata["context"]
            assert "Halo Lamp" in context
            assert found[mode].answer

    run(work())


def test_pages_of_a_wiki_are_their_documents(tmp_path: Path) -> None:
    """A chunk of a wiki names its page; it counts for the document that the page was made of."""

    async def work() -> None:
        found = await answers(HetaRecipe(recipe_of(tmp_path, heta.ParseDocuments(), heta.HetaWikiProcedure())))
        assert set(found) == {"wiki_vector_search", "wiki_full_text_search"}
        assert documents(found["wiki_full_text_search"])[0] == "brandt"
        assert set(documents(found["wiki_vector_search"])) == set(DOCUMENTS)

    run(work())


@needs_clustering
@pytest.mark.filterwarnings("ignore")  # umap and graspologic warn of much
@pytest.mark.parametrize("procedure", ["GraphRAGProcedure", "HiRAGProcedure", "LeanRAGProcedure"])
def test_a_context_of_many_documents_is_a_hit_in_each(tmp_path: Path, procedure: str) -> None:
    """GraphRAG, HiRAG and LeanRAG find one context; the documents in it are ranked in the order that it has them in."""

    async def work() -> None:
        alone = procedure != "GraphRAGProcedure"  # the others parse and split by themselves
        steps = (getattr(heta, procedure)(),) if alone else (*CHUNKS, heta.GraphRAGProcedure())
        found = await answers(HetaRecipe(recipe_of(tmp_path, *steps)))
        modes = {mode for mode in found if "_rag_" in mode}
        assert len(modes) == {"GraphRAGProcedure": 2, "HiRAGProcedure": 5, "LeanRAGProcedure": 1}[procedure]
        for mode in modes - {"graph_rag_global_query"}:
            assert documents(found[mode])[0] == "brandt"
            assert {"brandt", "lumen"} <= set(documents(found[mode])) <= set(DOCUMENTS)
            assert len(documents(found[mode])) == len(set(documents(found[mode])))
        if not alone:  # what it says of communities stands on no document
            assert found["graph_rag_global_query"].results == ()
            assert found["graph_rag_global_query"].metadata["context"]

    run(work())


def test_sql_in_memory_is_made_anew(tmp_path: Path) -> None:
    """SQLite without a file holds one knowledge base and cannot be opened again: each has one of its own."""

    async def work() -> None:
        persist = heta.PersistChunks(heta.PersistChunksConfig(chunk_keys_artifact="chunk_keys"))
        recipe = HetaRecipe(recipe_of(tmp_path, *CHUNKS[:3], persist))
        first = await build(recipe, {"lumen": DOCUMENTS["lumen"]}, name="a")
        second = await build(recipe, {"otter": DOCUMENTS["otter"]}, name="b")
        assert documents(await ask(first, "the", mode="sql_text_search")) == ["lumen"]
        assert documents(await ask(second, "the", mode="sql_text_search")) == ["otter"]
        await first.aclose()
        await second.aclose()

    run(work())


def test_an_agent_over_http_reads_the_wiki(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its own client asks a server that follows OpenAI's API, with tools; the evidence it cites is a document."""
    monkeypatch.setenv("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    from heta_framework.common.models import ToolCallingLanguageModel

    server = OpenAIStandIn()
    with serving(server) as url:
        model = ToolCallingLanguageModel(model_name="openai/gpt-4o-mini", api_key="sk-zoo", api_base=f"{url}/v1")
        recipe = HetaRecipe(recipe_of(tmp_path, heta.ParseDocuments(), heta.HetaWikiProcedure(), language=model))

        async def work() -> None:
            kb = await build(recipe, DOCUMENTS)
            assert "wiki_agent_search" in kb.available_queries
            response = await ask(kb, LAMP, mode="wiki_agent_search", top_k=3)
            assert response.answer == "Lumen Labs"
            assert documents(response)[0] == "brandt"
            assert [insight["text"] for insight in response.metadata["insights"]] == ["The wiki says so."]
            await kb.aclose()

        run(work())
    assert set(server.paths) == {"/v1/chat/completions"}


@pytest.mark.parametrize("name", ["heta_framework_vectors", "heta_framework_graph"])
def test_the_example_runs(tmp_path: Path, name: str) -> None:
    """The example recipes run as they are from the command line, with a server in the place of OpenAI's."""
    bench = tmp_path / "lamps"
    (bench / "qrels").mkdir(parents=True)
    rows = [{"_id": key, "title": "", "text": text} for key, text in DOCUMENTS.items()]
    (bench / "corpus.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    (bench / "queries.jsonl").write_text(json.dumps({"_id": "q", "text": LAMP}) + "\n")
    (bench / "qrels/test.tsv").write_text("query-id\tcorpus-id\tscore\nq\tlumen\t1\nq\tbrandt\t1\n")
    command = [
        *(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--heta-benchmark=lamps"),
        f"--heta-recipe={shutil.copy(ROOT / 'recipes' / f'{name}.py', tmp_path)}",
        *("--heta-report=report.json", "--heta-min=recall@10=1"),
    ]
    server = OpenAIStandIn()
    with serving(server) as url:
        service = {"OPENAI_BASE_URL": f"{url}/v1", "OPENAI_API_KEY": "sk-zoo", "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
        done = subprocess.run(
            command, cwd=tmp_path, env={**os.environ, **service}, capture_output=True, text=True, timeout=120
        )
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads((tmp_path / "report.json").read_text())
    modes = {key.partition(".")[0] for key in report["score_summary"]}
    assert modes == ({"vector_search", "full_text_search"} if name.endswith("vectors") else GRAPH_MODES)
    assert all(report["score_summary"][f"{mode}.beir_recall@10"] == 1 for mode in modes)
    assert "sk-zoo" not in (tmp_path / "report.json").read_text() + done.stdout
