"""The life of a table: who makes it, who finds it again, and who removes it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_heta.errors import BuildError, QueryError
from pytest_heta.knowledge.backends import LanceDb, Milvus, OpenSearch, PgVector
from pytest_heta.knowledge.backends.base import POINTER
from pytest_heta.knowledge.backends.recipe import ServerRecipe
from tests.knowledge.backends import servers
from tests.knowledge.backends.conftest import Started
from tests.knowledge.backends.zoo import TEXTS, build, vectors, words
from tests.knowledge.helpers import raw

KINDS = ("pgvector", "lancedb", "milvus-file", "milvus", "opensearch")


def recipe_of(started: Started, kind: str, **options: bool) -> ServerRecipe:
    """Return the recipe that suits a kind of server."""
    return words(started(kind)) if kind == "opensearch" else vectors(started(kind), **options)


@pytest.mark.parametrize("kind", KINDS)
def test_a_closed_knowledge_base_leaves_no_table(started: Started, kind: str) -> None:
    """The table is there while the knowledge base is open, under a name with the digest of its content."""
    kb = build(recipe_of(started, kind))
    table = kb.manifest["server"]["table"]
    assert table.startswith(f"heta_{kb.manifest['content'][:16]}_")
    assert table in started(kind).tables()
    kb.close()
    kb.close()
    assert table not in started(kind).tables()


def test_a_milvus_file_is_for_one_process(tmp_path: Path) -> None:
    """While another process has it, the error says what milvus-lite does not: that it is so, and the way out."""
    servers.need("pymilvus", "milvus_lite")
    file = tmp_path / "vectors.db"
    holder = f"import pymilvus; pymilvus.MilvusClient({str(file)!r}); print('open', flush=True); input()"
    command = [sys.executable, "-c", holder]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.readline() == "open\n"
        with pytest.raises(BuildError, match=r"lets one process open a file.* name a server"):
            build(vectors(Milvus(str(file))))
        process.stdin.close()


@pytest.mark.parametrize("kind", KINDS)
def test_a_saved_knowledge_base_is_opened_again_and_dropped_on_demand(
    started: Started, kind: str, tmp_path: Path
) -> None:
    """Saving keeps the table; load finds the same hits in it; drop removes it, and then load says that it is gone."""
    recipe = recipe_of(started, kind)
    built = build(recipe)
    (mode,) = built.available_queries
    expected = built.query("otter near the river", mode=mode, top_k=5)
    built.save(tmp_path)
    built.close()
    assert [path.name for path in tmp_path.iterdir()] == [POINTER]

    loaded = recipe.load(tmp_path, name="zoo")
    assert loaded.query("otter near the river", mode=mode, top_k=5) == expected
    assert loaded.document_count == len(TEXTS)
    loaded.close()

    recipe.drop(tmp_path)
    recipe.drop(tmp_path)
    with pytest.raises(BuildError, match=r"table heta_\w+ of .* is gone: build it anew"):
        recipe.load(tmp_path, name="zoo")


@pytest.mark.parametrize("kind", KINDS)
def test_an_incomplete_table_is_not_opened(started: Started, kind: str, tmp_path: Path) -> None:
    """A table with other than the recorded number of chunks is not trusted."""
    recipe = recipe_of(started, kind)
    kb = build(recipe)
    kb.save(tmp_path)
    kb.close()
    pointer = json.loads((tmp_path / POINTER).read_text("utf-8"))
    count = pointer["chunks"]
    (tmp_path / POINTER).write_text(json.dumps({**pointer, "chunks": count + 1}), "utf-8")
    with pytest.raises(BuildError, match=f"has {count} chunks instead of {count + 1}: build it anew"):
        recipe.load(tmp_path, name="zoo")
    recipe.drop(tmp_path)


@pytest.mark.parametrize("kind", KINDS)
def test_a_failed_build_leaves_no_table(started: Started, kind: str) -> None:
    """Where a document cannot be read, the error names it and the table is dropped."""
    before = started(kind).tables()
    with pytest.raises(BuildError, match=r"broken\.pdf"):
        build(recipe_of(started, kind), {raw("a"): "the otter", raw("b", "broken.pdf"): b"%PDF-1.7 nothing"})
    with pytest.raises(BuildError, match="nothing to search: none of the 1 documents"):
        build(recipe_of(started, kind), {raw("a"): "  "})
    assert started(kind).tables() == before


@pytest.mark.parametrize("kind", KINDS)
def test_two_builds_of_the_same_do_not_collide(started: Started, kind: str) -> None:
    """The same recipe and documents give the same digest but two tables; closing one leaves the other alone."""
    first, second = build(recipe_of(started, kind)), build(recipe_of(started, kind))
    assert first.manifest["content"] == second.manifest["content"]
    assert first.manifest["server"]["table"] != second.manifest["server"]["table"]
    first.close()
    (mode,) = second.available_queries
    assert len(second.query("the otter hunts", mode=mode, top_k=5).results) == 5
    second.close()


def test_a_table_can_be_kept(started: Started) -> None:
    """With keep, the table outlives a knowledge base that was never saved."""
    kb = build(recipe_of(started, "lancedb", keep=True))
    kb.close()
    table = kb.manifest["server"]["table"]
    assert table in started("lancedb").tables()
    started("lancedb").table(table, vectors(started("lancedb"))._columns).drop()


def test_the_content_digest_depends_on_documents_recipe_and_address(started: Started, tmp_path: Path) -> None:
    """Other texts, another chunker or another address give another digest."""
    servers.need("lancedb")
    recipe = vectors(LanceDb(str(tmp_path / "a")))
    digests = []
    for each, texts in (
        (recipe, TEXTS),
        (recipe, {**TEXTS, raw("silent"): "???"}),
        (vectors(LanceDb(str(tmp_path / "b"))), TEXTS),
    ):
        kb = build(each, texts)
        digests.append(kb.manifest["content"])
        kb.close()
    assert len(set(digests)) == 3
    assert recipe.manifest == vectors(LanceDb(str(tmp_path / "b"))).manifest


def test_a_pointer_to_another_server_is_not_followed(tmp_path: Path) -> None:
    """Neither load nor drop touches a table of a server that is not the recipe's."""
    servers.need("lancedb")
    here, there = vectors(LanceDb(str(tmp_path / "here"))), vectors(LanceDb(str(tmp_path / "there")))
    kb = build(here)
    kb.save(tmp_path / "kb")
    kb.close()
    for use in (lambda: there.load(tmp_path / "kb", name="zoo"), lambda: there.drop(tmp_path / "kb")):
        with pytest.raises(BuildError, match=r"but the recipe's server is LanceDB at .*there: build it anew"):
            use()
    assert len(LanceDb(str(tmp_path / "here")).tables()) == 1


def test_what_is_no_pointer_is_not_loaded(tmp_path: Path) -> None:
    """An empty folder, a damaged pointer and one of another recipe are errors that say so."""
    servers.need("lancedb")
    recipe = vectors(LanceDb(str(tmp_path / "db")))
    with pytest.raises(BuildError, match="no saved knowledge base in"):
        recipe.load(tmp_path, name="zoo")
    (tmp_path / POINTER).write_text('{"chunks": 1}', "utf-8")
    with pytest.raises(BuildError, match="no saved knowledge base in"):
        recipe.load(tmp_path, name="zoo")
    (tmp_path / POINTER).write_text('{"chunks": 1, "server": {}, "recipe": {}}', "utf-8")
    with pytest.raises(BuildError, match="built by another recipe or version"):
        recipe.load(tmp_path, name="zoo")


def test_a_server_that_is_not_there_fails_the_build() -> None:
    """The error names the engine and its address, and no password."""
    servers.need("psycopg", "psycopg_pool", "pgvector")
    with pytest.raises(BuildError, match=r"PostgreSQL at 127\.0\.0\.1:1/db: OperationalError") as caught:
        build(vectors(PgVector("postgresql://me:secret@127.0.0.1:1/db")))
    assert "secret" not in str(caught.value)


def test_a_server_that_goes_away_fails_the_query_for_now(tmp_path: Path) -> None:
    """A query without a connection is an error that is worth another try."""
    with servers.opensearch(tmp_path) as address:
        kb = build(words(OpenSearch(address)))
    with pytest.raises(QueryError, match="OpenSearch: ConnectionError") as caught:
        kb.query("otter", mode="full_text_search", top_k=1)
    assert caught.value.retryable
