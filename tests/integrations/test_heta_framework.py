"""Recipes of heta-framework, run by the real one; a test for each way of its own that must be handled."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip(
    "heta_framework", reason="heta_framework is not installed: pip install 'pytest-heta[heta]' (Python 3.11 or 3.12)"
)

from heta_framework import kb as heta
from heta_framework.common.stores import SQLStore

from pytest_heta.benchmarks.beir import BeirBenchmark
from pytest_heta.checking import check_recipe
from pytest_heta.errors import BuildError, RecipeError
from pytest_heta.evaluators import BeirRetrievalMetric
from pytest_heta.integrations import as_recipe
from pytest_heta.integrations.heta_framework import HetaRecipe
from pytest_heta.keys import document_id_of
from pytest_heta.records import BenchmarkWorkspace, QueryResponse
from pytest_heta.runner import BenchmarkRunner
from tests.integrations.helpers import ZOO, ask, build, raw
from tests.integrations.heta_zoo import BagOfWords, heta_recipe
from tests.shared_data import ROOT

LION = "where does the lion sleep in the shade"
MODE = "vector_search"


def run(coroutine: Coroutine[Any, Any, None]) -> None:
    """Run a test's coroutine."""
    asyncio.run(coroutine)


def documents(response: QueryResponse) -> list[str | None]:
    """Return the document of each hit."""
    return [document_id_of(hit) for hit in response.results]


def test_an_ordinary_recipe_runs_in_every_mode(tmp_path: Path) -> None:
    """A KnowledgeRecipe is taken as it is; its modes are known before and after the build, and each finds the lion."""

    async def work() -> None:
        recipe = as_recipe(heta_recipe(tmp_path), "here")
        assert isinstance(recipe, HetaRecipe)
        assert recipe.available_queries == ("full_text_search", "vector_search")
        kb = await build(recipe)
        assert kb.available_queries == recipe.available_queries
        for mode in recipe.available_queries:
            response = await ask(kb, LION, mode=mode)
            assert documents(response)[0] == "lion"
            assert response.results[0].text == ZOO["lion"]
            assert response.results[0].score is not None
        await kb.aclose()

    run(work())


def test_documents_are_stored_at_their_raw_keys(tmp_path: Path) -> None:
    """The documents lie in the recipe's own store under their raw keys; what was derived is gone after closing."""

    async def work() -> None:
        kb = await build(HetaRecipe(heta_recipe(tmp_path)))
        assert (tmp_path / raw("lion")).read_text() == ZOO["lion"]
        await kb.aclose()

    run(work())
    left = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file()}
    assert left == {raw(document_id) for document_id in ZOO}


def test_the_checker_finds_nothing_wrong(tmp_path: Path) -> None:
    """An ordinary recipe passes every check: ids, leaks between knowledge bases, equal documents, concurrency."""

    async def work() -> list[str]:
        recipes = HetaRecipe(heta_recipe(tmp_path)), HetaRecipe(lambda name: heta_recipe(tmp_path / name))
        return [str(each) for recipe in recipes async for each in check_recipe(recipe) if each.verdict == "wrong"]

    assert asyncio.run(work()) == []


def test_a_failed_step_is_an_error_of_the_unit(tmp_path: Path) -> None:
    """heta-framework returns a failed knowledge base without raising; its failed step becomes a BuildError."""

    class Broken(BagOfWords):
        async def embed(self, request: Any) -> Any:
            raise RuntimeError("the model is on fire")

    with pytest.raises(BuildError, match=r"build failed: step embed_chunks: .*the model is on fire"):
        run(build(HetaRecipe(heta_recipe(tmp_path, model=Broken()))))


def test_answers_without_a_language_model_are_an_error(tmp_path: Path) -> None:
    """heta-framework answers nothing then and says so in metadata only: scores would be about the hits' texts."""

    async def work() -> None:
        kb = await build(HetaRecipe(heta_recipe(tmp_path), options={"generate_answer": True}))
        with pytest.raises(RecipeError, match=r"'vector_search' is to generate answers, but .* no language model"):
            await ask(kb, LION, mode=MODE)
        await kb.aclose()

    run(work())


def test_the_same_name_can_be_built_again(tmp_path: Path) -> None:
    """heta-framework refuses to create a name twice; with in-memory stores each build is new, even side by side."""

    async def work() -> None:
        recipe = HetaRecipe(heta_recipe(tmp_path))
        first, second = await build(recipe), await build(recipe)
        assert documents(await ask(first, LION, mode=MODE)) == documents(await ask(second, LION, mode=MODE))
        await first.aclose()
        assert documents(await ask(second, LION, mode=MODE))[0] == "lion"
        await second.aclose()

    run(work())


def test_units_do_not_see_each_others_documents(tmp_path: Path) -> None:
    """ParseDocuments reads all that lies under raw/; each unit gets only its own, whatever else is there."""

    async def work() -> None:
        recipe = HetaRecipe(heta_recipe(tmp_path))
        (tmp_path / "raw").mkdir()
        (tmp_path / "raw/stray.txt").write_text("A stray lion sleeps in the shade.")
        first = await build(recipe, {"lion": ZOO["lion"]}, name="a")
        second = await build(recipe, {"otter": ZOO["otter"]}, name="b")
        for mode in recipe.available_queries:
            assert set(documents(await ask(first, "the lion and the otter", mode=mode, top_k=9))) == {"lion"}
            assert set(documents(await ask(second, "the lion and the otter", mode=mode, top_k=9))) == {"otter"}
        await first.aclose()
        assert documents(await ask(second, "otter", mode=MODE)) == ["otter"]
        await second.aclose()

    run(work())


def test_recipes_on_one_store_do_not_share_vectors(tmp_path: Path) -> None:
    """Of two recipes with different models on one object store, the second embeds with its own model."""
    first, second = BagOfWords("one"), BagOfWords("two")

    async def work() -> None:
        for model in (first, second):
            kb = await build(HetaRecipe(heta_recipe(tmp_path, model=model)))
            assert documents(await ask(kb, LION, mode=MODE))[0] == "lion"

    run(work())
    assert (first.embedded, second.embedded) == (4, 4)


def test_equal_documents_are_each_found(tmp_path: Path) -> None:
    """Equal texts break heta-framework's index; one of them is built in, and a hit in it counts for all."""

    async def work() -> None:
        texts = {"lion": ZOO["lion"], "lion-copy": ZOO["lion"], "otter": ZOO["otter"], "cub": ZOO["lion"]}
        kb = await build(HetaRecipe(heta_recipe(tmp_path)), texts)
        response = await ask(kb, LION, mode=MODE, top_k=9)
        assert documents(response) == ["lion", "lion-copy", "cub", "otter"]
        assert len({hit.id for hit in response.results}) == 4
        assert documents(await ask(kb, LION, mode=MODE, top_k=2)) == ["lion", "lion-copy"]
        assert kb.manifest["equal_documents"] == 2
        await kb.aclose()

    run(work())


def test_the_default_tokenizer_needs_no_network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The encoding that heta-framework would download is found in what litellm brings along."""
    monkeypatch.delenv("TIKTOKEN_CACHE_DIR", raising=False)

    async def work() -> None:
        kb = await build(HetaRecipe(heta_recipe(tmp_path, encoding="cl100k_base")))
        assert documents(await ask(kb, LION, mode=MODE))[0] == "lion"
        await kb.aclose()

    run(work())


def test_chunks_that_hide_documents_are_asked_for_deeper(tmp_path: Path) -> None:
    """top_k counts chunks: where one document fills it, a run asks deeper, so that recall@10 sees ten documents."""
    data = tmp_path / "bench"
    (data / "qrels").mkdir(parents=True)
    long = " ".join(f"lion number {number} sleeps in the shade." for number in range(400))
    rows = [("long", long), *((f"d{number}", f"Animal {number} is no cat.") for number in range(20))]
    lines = [f'{{"_id": "{name}", "title": "", "text": "{text}"}}' for name, text in rows]
    (data / "corpus.jsonl").write_text("\n".join(lines))
    (data / "queries.jsonl").write_text('{"_id": "q", "text": "lion shade sleeps"}')
    (data / "qrels/test.tsv").write_text("query-id\tcorpus-id\tscore\nq\td7\t1\n")
    report = _report(
        HetaRecipe(heta_recipe(tmp_path / "objects", chunk_size=16)), BeirBenchmark("deep", data_root=data), tmp_path
    )
    assert {case.mode for case in report.cases} == {"full_text_search", "vector_search"}
    for case in report.cases:
        assert len({hit.document_id for hit in case.hits}) == {"vector_search": 21, "full_text_search": 1}[case.mode]
        assert not case.shallow


def test_a_persistent_knowledge_base_is_opened_again(tmp_path: Path) -> None:
    """With stores that last, the same documents and recipe are built once; other documents replace them."""

    async def work() -> None:
        model = BagOfWords()
        recipe = HetaRecipe(_sql_recipe(tmp_path, model))
        for texts, embedded in ((ZOO, 3), (ZOO, 3), ({"otter": ZOO["otter"]}, 4)):
            kb = await build(recipe, texts)
            assert kb.available_queries == ("sql_text_search",)
            assert set(documents(await ask(kb, "the", mode="sql_text_search", top_k=9))) == set(texts)
            assert model.embedded == embedded
            await kb.aclose()

    run(work())


def test_persistent_stores_hold_one_knowledge_base_at_a_time(tmp_path: Path) -> None:
    """A second knowledge base in the same stores would mix with the first: it is refused, with the way out."""

    async def work() -> None:
        recipe = HetaRecipe(_sql_recipe(tmp_path, BagOfWords()))
        first = await build(recipe, name="a")
        with pytest.raises(BuildError, match=r"one knowledge base at a time.*HetaRecipe\(make\)"):
            await build(recipe, name="b")
        await first.aclose()
        await (await build(recipe, name="b")).aclose()

    run(work())


def test_a_function_of_the_name_gives_each_its_own_stores(tmp_path: Path) -> None:
    """A function from the KB name to a recipe may give each unit stores of its own, which are all open at once."""

    async def work() -> None:
        recipe = HetaRecipe(lambda name: _sql_recipe(tmp_path / name, BagOfWords()))
        first = await build(recipe, {"lion": ZOO["lion"]}, name="a")
        second = await build(recipe, {"otter": ZOO["otter"]}, name="b")
        assert documents(await ask(first, "the", mode="sql_text_search")) == ["lion"]
        assert documents(await ask(second, "the", mode="sql_text_search")) == ["otter"]
        await first.aclose()
        await second.aclose()

    run(work())


def test_what_else_heta_framework_makes_is_refused(tmp_path: Path) -> None:
    """An object of heta-framework that is no recipe, and a recipe without object store, are errors in words."""
    with pytest.raises(RecipeError, match="heta-framework's TextParser; expected its KnowledgeRecipe"):
        as_recipe(heta.TextParser(), "here")
    with pytest.raises(RecipeError, match=r"no stores\.objects"):
        run(build(HetaRecipe(heta.KnowledgeRecipe())))


def test_a_whole_benchmark_runs(tmp_path: Path) -> None:
    """The handbook runs through heta-framework's full-text and vector search, with better than chance scores."""
    benchmark = BeirBenchmark("handbook", data_root=ROOT / "benchmarks/handbook", download=False)
    recipe = HetaRecipe(heta_recipe(tmp_path / "objects", chunk_size=512))
    report = _report(recipe, benchmark, tmp_path, (BeirRetrievalMetric("ndcg", 10),))
    assert [case.error for case in report.cases if case.error] == []
    assert len(report.cases) == 88
    assert report.score_summary["full_text_search.beir_ndcg@10"] > 0.5
    assert report.score_summary["vector_search.beir_ndcg@10"] > 0.08


def _sql_recipe(folder: Path, model: BagOfWords) -> Any:
    folder.mkdir(parents=True, exist_ok=True)
    full = heta_recipe(folder / "objects", model=model, sql=SQLStore(f"sqlite:///{folder}/chunks.db"))
    stores = heta.KnowledgeStores(objects=full.stores.objects, sql=full.stores.sql)
    parse, split, embed, _, _, persist = full.steps
    return heta.KnowledgeRecipe(
        parsers=full.parsers, models=full.models, stores=stores, steps=(parse, split, embed, persist)
    )


def _report(recipe: Any, benchmark: Any, folder: Path, evaluators: Any = None) -> Any:
    runner = BenchmarkRunner().run(
        benchmark=benchmark,
        recipe=recipe,
        knowledge_base_name="zoo",
        workspace=BenchmarkWorkspace.under(folder / "ws"),
        evaluators=evaluators,
    )
    return asyncio.run(runner)
