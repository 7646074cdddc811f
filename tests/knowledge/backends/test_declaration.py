"""What recipes of real engines say before any server is asked."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib import import_module
from typing import Any

import numpy as np
import pytest

from pytest_heta.errors import BuildError, RecipeError
from pytest_heta.knowledge import Bm25, Fusion, Vectors
from pytest_heta.knowledge.backends import FullText, Hnsw, LanceDb, Milvus, OpenSearch, PgVector, ServerRecipe
from pytest_heta.knowledge.backends.opensearch import OpenSearchTable
from pytest_heta.knowledge.backends.probe import RecallProbe, probe_text
from pytest_heta.knowledge.backends.table import Columns, Server, StoredChunk, without_secrets
from tests.knowledge.backends import servers
from tests.knowledge.backends.conftest import Started
from tests.knowledge.backends.zoo import WordEmbedder, build, hybrid, vectors, words
from tests.shared_data import ROOT

CLIENTS = {"numpy", "psycopg", "psycopg_pool", "pgvector", "lancedb", "pyarrow", "pymilvus", "opensearchpy"}


@pytest.mark.parametrize(
    ("name", "modes"),
    [
        ("pgvector", ("vector_search", "full_text_search", "hybrid_search")),
        ("lancedb", ("vector_search", "full_text_search", "hybrid_search")),
        ("milvus", ("vector_search",)),
        ("opensearch", ("full_text_search",)),
    ],
)
def test_a_recipe_file_is_cheap_to_import(name: str, modes: tuple[str, ...]) -> None:
    """Importing a recipe loads no client library, and it has the documented modes."""
    script = (
        f"import runpy, sys; recipe = runpy.run_path('recipes/{name}.py')['recipe']\n"
        f"assert recipe.name == {name!r} and recipe.available_queries == {modes!r}\n"
        f"assert not {CLIENTS} & set(sys.modules), {CLIENTS} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", script], cwd=ROOT, check=True)


@pytest.mark.parametrize(
    ("name", "variable"),
    [
        ("pgvector", "HETA_PGVECTOR_URI"),
        ("lancedb", "HETA_LANCEDB_URI"),
        ("milvus", "HETA_MILVUS_URI"),
        ("opensearch", "HETA_OPENSEARCH_URI"),
    ],
)
def test_a_recipe_file_takes_its_address_from_the_environment(
    started: Started, name: str, variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The recipe files, unchanged, find the right document in the server that a variable names."""
    server: Any = started(name)
    servers.need("wordllama")
    monkeypatch.setenv(variable, server.uri)
    monkeypatch.delitem(sys.modules, f"recipes.{name}", raising=False)
    kb = build(import_module(f"recipes.{name}").recipe)
    for mode in kb.available_queries:
        best = kb.query("the otter near the river", mode=mode, top_k=1).results[0]
        assert best.source["document_id"] == "otter_river"
    kb.close()


def test_modes_are_checked() -> None:
    """Modes that an engine or a table does not have are refused when the recipe is made."""
    lance, embedder = LanceDb("db"), WordEmbedder()
    wrong: list[tuple[Server, dict[str, Any], str]] = [
        (lance, {}, "has no query modes"),
        (lance, {"a": Bm25()}, "mode 'a' is a Bm25, no way to search"),
        (lance, {"a": FullText(), "b": Fusion("a", "c")}, r"'b' cannot fuse 'c' \(it can fuse: a\)"),
        (lance, {"a": Vectors(embedder), "b": Hnsw(embedder)}, "one vector mode and one full-text mode at most"),
        (Milvus("db"), {"a": FullText()}, "Milvus is used for vectors only"),
        (OpenSearch("http://host"), {"a": Hnsw(embedder)}, "OpenSearch is used for full text and exact vectors"),
    ]
    for server, modes, message in wrong:
        with pytest.raises(RecipeError, match=message):
            ServerRecipe("r", server=server, modes=modes)
    with pytest.raises(RecipeError, match="Hnsw needs"):
        Hnsw(embedder, m=1)


def test_a_server_without_vectors_is_refused_at_the_build(started: Started) -> None:
    """An OpenSearch server that cannot compare vectors fails the build with a reason, and no index is left."""
    before = started("opensearch").tables()
    with pytest.raises(BuildError, match=r"cannot search vectors \(is the k-NN plugin there\?\)"):
        build(hybrid(started("opensearch")))
    assert started("opensearch").tables() == before


def test_secrets_are_in_nothing_that_is_kept() -> None:
    """No manifest, location or representation holds a password or token."""
    stores: list[Server] = [
        LanceDb("s3://key:secret@bucket/path?token=secret", {"aws_secret_access_key": "secret"}),
        Milvus("https://user:secret@host:19530", token="secret"),
        OpenSearch("https://user:secret@host:9200/?x=secret", password="secret"),
    ]
    assert [store.location for store in stores] == ["s3://bucket/path", "https://host:19530", "https://host:9200/"]
    for store in stores:
        recipe = words(store) if isinstance(store, OpenSearch) else vectors(store)
        assert "secret" not in json.dumps(recipe.manifest)
    assert "secret" not in repr(Milvus("db", token="secret")) + repr(OpenSearch("http://host", password="secret"))
    assert without_secrets("http://me:secret@host:1/a?b=secret#c") == "http://host:1/a"


def test_a_database_is_known_by_host_port_and_name() -> None:
    """Either form of a PostgreSQL address gives the same location, without user and password."""
    servers.need("psycopg")
    for uri in ("postgresql://me:secret@db:6543/heta", "host=db port=6543 dbname=heta user=me password=secret"):
        assert PgVector(uri).location == "db:6543/heta"


@pytest.mark.parametrize(
    ("server", "module", "extra"),
    [
        (LanceDb("db"), "lancedb", "lancedb"),
        (Milvus("db"), "pymilvus", "milvus"),
        (OpenSearch("http://host"), "opensearchpy", "opensearch"),
        (PgVector("postgresql://host/db"), "psycopg", "pgvector"),
    ],
)
def test_what_is_not_installed_is_said(
    server: Server, module: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A build without the client library names the extra that brings it."""
    for loaded in [name for name in sys.modules if name.partition(".")[0] == module]:
        monkeypatch.delitem(sys.modules, loaded)
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(RecipeError, match=rf"pip install 'pytest-heta\[{extra}\]'"):
        build(words(server) if isinstance(server, OpenSearch) else vectors(server))


def test_recall_counts_the_exact_ten_over_all_batches() -> None:
    """A search that finds every second of the exact ten nearest has a recall of 0.5."""
    embedder = WordEmbedder()
    probe = RecallProbe(embedder, ["otter river", "?!", "wolf"])
    stored = np.random.default_rng(1).normal(size=(50, embedder.dimension)).astype(np.float32)
    stored[7] = 0
    probe.observe(0, stored[:20])
    probe.observe(20, stored[20:])
    vectors_of = embedder.embed(["otter river", "wolf"])
    cosines = vectors_of @ stored.T
    cosines[:, 7] = -np.inf
    exact = np.argsort(-cosines, axis=1)[:, :10]
    assert probe.measure(lambda queries, k: list(exact)) == {"recall@10": 1.0, "queries": 2}
    assert probe.measure(lambda queries, k: list(exact[:, ::2])) == {"recall@10": 0.5, "queries": 2}
    assert RecallProbe(embedder, ["?!"]).measure(lambda queries, k: []) == {"recall@10": None, "queries": 0}
    assert probe_text("a b  c " * 10) == " ".join("abc" * 5 + "a")


def test_vectors_in_opensearch_are_asked_for_as_documented() -> None:
    """Exact search is a script over all chunks with a vector; its score less 1 is the cosine, and errors are raised."""
    servers.need("opensearchpy")
    chunk = StoredChunk(3, "raw/key", 0, 1, 2, 9, "an otter")
    asked: list[dict[str, Any]] = []

    answers: list[dict[str, Any]] = [
        {"hits": {"hits": [{"_score": 1.75, "_source": chunk._asdict()}]}},
        {"status": 429, "error": {"type": "rejected"}},
    ]

    class Client:
        def msearch(self, index: str, body: list[dict[str, Any]]) -> dict[str, Any]:
            asked.extend(body)
            return {"responses": [answers.pop(0)]}

    table = OpenSearchTable(OpenSearch("http://host"), Client(), "heta_x", Columns(embedder=WordEmbedder()))
    assert table.nearest(np.array([[0.5, 0.25]], dtype=np.float32), 7) == [[(chunk, 0.75)]]
    assert asked[1]["size"] == 7
    assert asked[1]["query"]["script_score"] == {
        "query": {"exists": {"field": "vector"}},
        "script": {
            "source": "1.0 + cosineSimilarity(params.query_value, doc[params.field])",
            "params": {"field": "vector", "query_value": [0.5, 0.25]},
        },
    }
    with pytest.raises(Exception, match="rejected") as caught:
        table.nearest(np.array([[0.5, 0.25]], dtype=np.float32), 7)
    assert table.is_transient(caught.value)
