"""The same vectors in every engine give the same scores, on real data."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
import pytrec_eval
from numpy.typing import NDArray

from pytest_heta.knowledge import Recipe, Vectors, WordLlamaEmbedder
from pytest_heta.knowledge.backends import FullText, ServerRecipe
from pytest_heta.records import QueryResponse
from tests.knowledge import helpers
from tests.knowledge.backends import servers
from tests.knowledge.backends.conftest import Started
from tests.knowledge.backends.zoo import build
from tests.knowledge.helpers import raw
from tests.shared_data import shared_data


@dataclass(frozen=True)
class RememberingEmbedder:
    """WordLlama, which embeds each text once."""

    model: WordLlamaEmbedder = field(default_factory=WordLlamaEmbedder)
    known: dict[str, NDArray[np.float32]] = field(default_factory=dict, compare=False)

    @property
    def name(self) -> str:
        """The model's name."""
        return self.model.name

    @property
    def dimension(self) -> int:
        """The length of a vector."""
        return self.model.dimension

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the vectors, shape (len(texts), dimension)."""
        new = [text for text in texts if text not in self.known]
        self.known.update(zip(new, self.model.embed(new), strict=True))
        return np.array([self.known[text] for text in texts])

    def embed_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Treat queries as any text."""
        return self.embed(texts)

    def declaration(self) -> dict[str, Any]:
        """Return the model's configuration."""
        return self.model.declaration()

    def fingerprint(self) -> str:
        """Return the model's."""
        return self.model.fingerprint()


@dataclass(frozen=True)
class SciFact:
    """The documents by raw key, the judged queries, and their relevant documents."""

    texts: dict[str, str]
    queries: dict[str, str]
    judged: dict[str, dict[str, int]]

    def part(self, of: int) -> SciFact:
        """Return one in ``of`` queries, with one in ``of`` documents and those that are relevant to them."""
        queries = dict(list(self.queries.items())[::of])
        judged = {query: self.judged[query] for query in queries}
        keys = {*list(self.texts)[::of], *(raw(document) for grades in judged.values() for document in grades)}
        return SciFact({key: text for key, text in self.texts.items() if key in keys}, queries, judged)

    def ndcg(self, responses: Sequence[QueryResponse]) -> float:
        """Return trec_eval's mean nDCG@10."""
        run: dict[str, dict[str, float]] = {}
        for query, response in zip(self.queries, responses, strict=True):
            found = dict.fromkeys(str(hit.source["document_id"]) for hit in response.results)
            run[query] = {document: -float(rank) for rank, document in enumerate(found)}
        scores = pytrec_eval.RelevanceEvaluator(self.judged, {"ndcg_cut.10"}).evaluate(run)
        return sum(each["ndcg_cut_10"] for each in scores.values()) / len(self.judged)


@pytest.fixture(scope="module")
def scifact() -> SciFact:
    """Return the real SciFact."""
    with zipfile.ZipFile(shared_data("beir/scifact.zip")) as archive:
        names = ("corpus", "queries")
        corpus, queries = ([json.loads(row) for row in archive.open(f"scifact/{name}.jsonl")] for name in names)
        lines = archive.read("scifact/qrels/test.tsv").decode().splitlines()[1:]
    judged: dict[str, dict[str, int]] = {}
    for query, document, grade in map(str.split, lines):
        judged.setdefault(query, {})[document] = int(grade)
    return SciFact(
        {raw(row["_id"]): f"{row['title']}\n\n{row['text']}" for row in corpus},
        {row["_id"]: row["text"] for row in queries if row["_id"] in judged},
        judged,
    )


@pytest.fixture(scope="module")
def exact(scifact: SciFact) -> tuple[RememberingEmbedder, list[QueryResponse]]:
    """Return an embedder and what numpy finds with it."""
    servers.need("wordllama")
    embedder = RememberingEmbedder()
    kb = helpers.build(Recipe("numpy", modes={"vector_search": Vectors(embedder)}), scifact.texts)
    responses = kb.query_many(list(scifact.queries.values()), mode="vector_search", top_k=20)
    kb.close()
    return embedder, responses


@pytest.mark.parametrize("kind", ["pgvector", "lancedb", "milvus"])
def test_vectors_score_the_same_in_every_engine(
    started: Started, kind: str, scifact: SciFact, exact: tuple[RememberingEmbedder, list[QueryResponse]]
) -> None:
    """All 300 rankings of 20 equal numpy's, scores to 1e-6, and nDCG@10 to the last digit."""
    server = started(kind)
    embedder, expected = exact
    kb = build(ServerRecipe(kind, server=server, modes={"vector_search": Vectors(embedder)}), scifact.texts)
    found = kb.query_many(list(scifact.queries.values()), mode="vector_search", top_k=20)
    for response, right in zip(found, expected, strict=True):
        assert [hit.id for hit in response.results] == [hit.id for hit in right.results]
        assert [hit.score for hit in response.results] == pytest.approx([hit.score for hit in right.results], abs=1e-6)
    assert scifact.ndcg(found) == scifact.ndcg(expected) == pytest.approx(0.5113, abs=0.005)
    kb.close()


@pytest.mark.parametrize(("kind", "lowest"), [("pgvector", 0.62), ("lancedb", 0.71), ("opensearch", 0.69)])
def test_full_text_finds_what_it_should(started: Started, kind: str, lowest: float, scifact: SciFact) -> None:
    """Full-text search reaches the nDCG@10 that was measured for the engine on a fifth of SciFact."""
    server = started(kind)
    scifact = scifact.part(5)
    kb = build(ServerRecipe(kind, server=server, modes={"full_text_search": FullText()}), scifact.texts)
    found = kb.query_many(list(scifact.queries.values()), mode="full_text_search", top_k=20)
    assert lowest <= scifact.ndcg(found) <= lowest + 0.04
    kb.close()
