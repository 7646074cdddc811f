"""Stores of heta-framework that last, that several knowledge bases share, or that a recipe names itself."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterator
from dataclasses import replace
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip(
    "heta_framework", reason="heta_framework is not installed: pip install 'pytest-heta[heta]' (Python 3.11 or 3.12)"
)

from heta_framework import kb as heta
from heta_framework.common.stores import InMemoryGraphStore, InMemoryVectorStore, LocalObjectStore, S3ObjectStore

from pytest_heta.errors import BuildError, RecipeError
from pytest_heta.integrations.heta_framework import HetaRecipe
from pytest_heta.keys import document_id_of
from pytest_heta.loading import load_object
from tests.integrations.helpers import ZOO, ask, build, raw
from tests.integrations.heta_zoo import BagOfWords, heta_recipe
from tests.knowledge.backends import servers

LION = "where does the lion sleep in the shade"
MODE = "vector_search"
LION_ONLY = {"lion": ZOO["lion"]}
OTTER_ONLY = {"otter": ZOO["otter"]}
needs_sql = pytest.mark.skipif(
    find_spec("sqlalchemy") is None, reason="SQLAlchemy is not installed: pip install 'heta-framework[sql]'"
)


def run(coroutine: Coroutine[Any, Any, None]) -> None:
    """Run a test's coroutine."""
    asyncio.run(coroutine)


async def found(kb: Any, text: str = "the lion and the otter", mode: str = MODE) -> list[str | None]:
    """Return the document of each hit."""
    return [document_id_of(hit) for hit in (await ask(kb, text, mode=mode, top_k=9)).results]


def vectors_only(folder: Path, *, model: BagOfWords | None = None, **stores: Any) -> Any:
    """Return a recipe that has vectors and nothing else."""
    full = heta_recipe(folder, model=model)
    parse, split, embed, index, *_ = full.steps
    return replace(
        full,
        stores=heta.KnowledgeStores(**{"objects": full.stores.objects, **stores}),
        steps=(parse, split, embed, index),
    )


def rows_first(folder: Path, model: BagOfWords, database: Path | None = None) -> Any:
    """Return a recipe that fills a table of a database that lasts, and then embeds."""
    full = heta_recipe(folder / "objects", model=model, sql=_sql(database or folder))
    parse, split, embed, _, _, persist = full.steps
    stores = heta.KnowledgeStores(objects=full.stores.objects, sql=full.stores.sql)
    return replace(full, stores=stores, steps=(parse, split, persist, embed))


@pytest.fixture(params=["file", "server"])
def milvus(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Any]:
    """Return its client of Milvus, for a file and for a server."""
    servers.need("pymilvus", "milvus_lite")
    if request.param == "file":
        yield _milvus(str(tmp_path / "vectors.db"))
        return
    (tmp_path / "milvus").mkdir()
    with servers.milvus(tmp_path / "milvus") as address:
        yield _milvus(address)


def test_vectors_in_milvus_are_opened_again(tmp_path: Path, milvus: Any) -> None:
    """What lies in Milvus is embedded once for the same documents, and replaced for others."""

    async def work() -> None:
        model = BagOfWords()
        recipe = HetaRecipe(vectors_only(tmp_path / "objects", model=model, vector=milvus))
        for texts, embedded in ((ZOO, 3), (ZOO, 0), (OTTER_ONLY, 1)):
            model.embedded = 0
            kb = await build(recipe, texts)
            assert model.embedded == embedded
            assert set(await found(kb)) == set(texts)
            await kb.aclose()

    run(work())


def test_documents_in_s3(tmp_path: Path) -> None:
    """Its client of S3 keeps the documents at their raw keys in a bucket, and nothing else after closing."""
    pytest.importorskip("boto3", reason="boto3 is not installed: pip install 'heta-framework[s3]'")
    (tmp_path / "weed").mkdir()
    with servers.s3(tmp_path / "weed") as address:
        objects = S3ObjectStore(
            "heta", endpoint_url=address, region="us-east-1", access_key_id="any", secret_access_key="any"
        )

        async def work() -> None:
            kb = await build(HetaRecipe(vectors_only(tmp_path, objects=objects, vector=InMemoryVectorStore())))
            assert await found(kb, LION) == ["lion", "owl=20barn", "otter"]
            await kb.aclose()
            assert {info.key for info in await objects.list()} == {raw(name) for name in ZOO}
            assert await objects.get(raw("lion")) == ZOO["lion"].encode()

        run(work())


@needs_sql
def test_what_lies_half_in_memory_is_built_anew(tmp_path: Path) -> None:
    """Where a mode's index lies in memory, a knowledge base is not opened again, though its tables last."""

    async def work() -> None:
        recipe = HetaRecipe(heta_recipe(tmp_path / "objects", sql=_sql(tmp_path)))
        for _ in range(2):
            kb = await build(recipe)
            assert (await found(kb, LION))[0] == "lion"
            assert set(await found(kb, "the", "sql_text_search")) == set(ZOO)
            await kb.aclose()

    run(work())


@needs_sql
def test_a_store_that_only_the_build_needs_may_be_in_memory(tmp_path: Path) -> None:
    """A store in memory that no mode asks does not keep a knowledge base from being opened again."""

    async def work() -> None:
        model = BagOfWords()
        full = heta_recipe(tmp_path / "objects", model=model, sql=_sql(tmp_path))
        parse, split, embed, _, _, persist = full.steps
        stores = heta.KnowledgeStores(objects=full.stores.objects, sql=full.stores.sql, graph=InMemoryGraphStore())
        recipe = HetaRecipe(replace(full, stores=stores, steps=(parse, split, embed, persist)))
        for _ in range(2):
            await (await build(recipe)).aclose()
            assert model.embedded == 3

    run(work())


@needs_sql
def test_what_a_killed_build_left_is_removed(tmp_path: Path) -> None:
    """A build that ends half-way leaves rows and no word of them; the next one, of other documents, finds none."""

    class Killed(BagOfWords):
        async def embed(self, request: Any) -> Any:
            raise asyncio.CancelledError

    async def work() -> None:
        with pytest.raises(RecipeError, match="was cancelled"):
            await build(HetaRecipe(rows_first(tmp_path, Killed())), LION_ONLY)
        kb = await build(HetaRecipe(rows_first(tmp_path, BagOfWords())), OTTER_ONLY)
        assert await found(kb, "the", "sql_text_search") == ["otter"]
        await kb.aclose()

    run(work())


@needs_sql
def test_what_lasts_is_built_anew_on_demand(tmp_path: Path) -> None:
    """``rebuild`` opens nothing of before; whether something was opened is told."""

    async def work() -> None:
        for rebuild, reopened, embedded in ((False, False, 3), (False, True, 0), (True, False, 3)):
            model = BagOfWords()
            kb = await build(HetaRecipe(rows_first(tmp_path, model)), rebuild=rebuild)
            assert (kb.reopened, model.embedded) == (reopened, embedded)
            assert set(await found(kb, "the", "sql_text_search")) == set(ZOO)
            await kb.aclose()

    run(work())


@needs_sql
def test_changed_code_is_another_recipe(tmp_path: Path) -> None:
    """A parser of the user's own that was changed is not passed over for what the old one has built."""
    code = (
        "from heta_framework import kb\n"
        "class Parser(kb.TextParser):\n"
        "    async def parse(self, *args, **options):\n"
        "        if {broken}: raise ValueError('changed')\n"
        "        return await super().parse(*args, **options)\n"
    )

    async def with_parser(broken: bool) -> Any:
        (tmp_path / f"parser_{broken}.py").write_text(code.format(broken=broken))
        parser = load_object(tmp_path / f"parser_{broken}.py", "Parser", RecipeError)()
        recipe = rows_first(tmp_path, BagOfWords())
        parsers = heta.KnowledgeParsers(documents=heta.DocumentParserRegistry([parser]))
        return await build(HetaRecipe(replace(recipe, parsers=parsers)))

    async def work() -> None:
        await (await with_parser(False)).aclose()
        with pytest.raises(BuildError, match="parse_documents"):
            await with_parser(True)

    run(work())


@needs_sql
def test_what_others_have_filled_is_left_alone(tmp_path: Path) -> None:
    """A table that was not made for this evaluation is neither mixed with it nor dropped: the build says which."""

    async def work() -> None:
        sql = _sql(tmp_path)
        await sql.execute("CREATE TABLE chunks (note TEXT)")
        await sql.execute("INSERT INTO chunks VALUES ('production')")
        with pytest.raises(BuildError, match=r"sql table 'chunks' of the recipe's stores holds something that was not"):
            await build(HetaRecipe(rows_first(tmp_path, BagOfWords())))
        assert await sql.fetch_one("SELECT note FROM chunks") == {"note": "production"}

    run(work())


@needs_sql
def test_a_function_that_gives_all_the_same_stores_is_refused(tmp_path: Path) -> None:
    """Two knowledge bases of different names would be mixed in them, whether the first is open or closed."""

    async def work() -> None:
        recipe = HetaRecipe(lambda name: rows_first(tmp_path, BagOfWords()))
        first = await build(recipe, LION_ONLY, name="a")
        with pytest.raises(BuildError, match=r"another one is open in sql table 'chunks'"):
            await build(recipe, OTTER_ONLY, name="b")
        await first.aclose()
        with pytest.raises(BuildError, match=r"sql table 'chunks' .* was not made for this evaluation"):
            await build(recipe, OTTER_ONLY, name="b")
        again = await build(recipe, LION_ONLY, name="a")
        assert await found(again, "the", "sql_text_search") == ["lion"]
        await again.aclose()

    run(work())


@needs_sql
def test_another_address_is_another_store(tmp_path: Path) -> None:
    """A recipe that is pointed to another database builds there, and does not take the old one for its own."""

    async def work() -> None:
        for place, embedded in (("one", 3), ("two", 3), ("one", 0)):
            (tmp_path / place).mkdir(exist_ok=True)
            model = BagOfWords()
            kb = await build(HetaRecipe(rows_first(tmp_path, model, tmp_path / place)))
            assert set(await found(kb, "the", "sql_text_search")) == set(ZOO)
            assert model.embedded == embedded
            await kb.aclose()

    run(work())


def test_a_store_in_memory_of_the_users_own_is_one(tmp_path: Path) -> None:
    """A class made from one of heta-framework's is in memory like it, and is not opened again."""

    class Own(InMemoryVectorStore):
        pass

    async def work() -> None:
        recipe = HetaRecipe(vectors_only(tmp_path, vector=Own()))
        for _ in range(2):
            kb = await build(recipe)
            assert (await found(kb, LION))[0] == "lion"
            await kb.aclose()

    run(work())


def test_stores_with_names_are_kept_apart(tmp_path: Path) -> None:
    """Stores that the recipe names itself are made anew or seen through a view, as the nameless ones are."""

    async def work() -> None:
        objects = LocalObjectStore(tmp_path)
        named = {"vector.mine": InMemoryVectorStore(), "objects.same": objects}
        full = heta_recipe(tmp_path)
        steps = (
            heta.ParseDocuments(heta.ParseDocumentsConfig(object_store="same")),
            heta.SplitDocuments(replace(full.steps[1].config, object_store="same")),
            heta.EmbedChunks(heta.EmbedChunksConfig(object_store="same")),
            heta.IndexVectors(heta.IndexVectorsConfig(object_store="same", vector_store="mine")),
        )
        recipe = HetaRecipe(replace(full, stores=heta.KnowledgeStores(objects=objects, named=named), steps=steps))
        assert recipe.available_queries == (MODE,)
        first, second = await build(recipe, LION_ONLY, name="a"), await build(recipe, OTTER_ONLY, name="b")
        assert await found(first) == ["lion"]
        assert await found(second) == ["otter"]
        await first.aclose()
        await second.aclose()
        assert {path.name for path in tmp_path.rglob("*") if path.is_file()} == {"lion.txt", "otter.txt"}

    run(work())


def _milvus(uri: str) -> Any:
    return import_module("heta_framework.common.stores").MilvusVectorStore(uri=uri)


def _sql(folder: Path) -> Any:
    return import_module("heta_framework.common.stores").SQLStore(f"sqlite:///{folder}/chunks.db")
