"""What runs leave on a server: nothing, unless they are told to keep it."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from pytest_heta.engine.config import RunnerConfig
from pytest_heta.evaluators.ranking import BeirRetrievalMetric
from pytest_heta.knowledge import MemoryObjectStore, Vectors
from pytest_heta.knowledge.backends import FullText, LanceDb, ServerRecipe
from pytest_heta.knowledge.backends.table import Server
from pytest_heta.knowledge.chunking import Chunk
from pytest_heta.knowledge.parsing.page import Page
from pytest_heta.records import BenchmarkDocument, BenchmarkWorkspace, EvaluationReport
from pytest_heta.runner import BenchmarkRunner
from tests.engine.toys import ToyBenchmark, case
from tests.knowledge.backends import servers
from tests.knowledge.backends.conftest import Started
from tests.knowledge.backends.zoo import ANIMALS, CHUNKER, PLACES, TEXTS, WordEmbedder

KINDS = ("pgvector", "lancedb", "milvus-file", "opensearch")
DOCUMENTS = [
    BenchmarkDocument(document_id=f"{animal}_{place}", name="text.txt", media_type="text/plain", data=text.encode())
    for animal in ANIMALS
    for place in PLACES
    for text in [f"The {animal} sleeps near the {place}."]
]
CASES = [case(animal, f"{animal}_river", f"{animal} hunting by the river") for animal in ANIMALS]


def recipe_of(server: Server, **options: Any) -> ServerRecipe:
    """Return the recipe that suits a server."""
    modes: dict[str, Any] = {"search": FullText() if server.kind == "OpenSearch" else Vectors(WordEmbedder())}
    return ServerRecipe("zoo", server=server, modes=modes, **{"chunker": CHUNKER, **options})


def run(recipe: ServerRecipe, folder: Path, **config: Any) -> EvaluationReport:
    """Run the benchmark; no case may have an error."""
    benchmark = ToyBenchmark(cases=CASES, documents=DOCUMENTS, evaluators=[BeirRetrievalMetric("ndcg", 10)])
    report = asyncio.run(
        BenchmarkRunner().run(
            benchmark=benchmark,
            recipe=recipe,
            knowledge_base_name="kb",
            workspace=BenchmarkWorkspace.under(folder),
            config=RunnerConfig(kb_cache=folder / "knowledge_bases", **config),
        )
    )
    assert [result.error for result in report.cases] == [None] * len(CASES)
    return report


def scores(report: EvaluationReport) -> list[Any]:
    """Return the scores of all cases."""
    return [score.value for result in report.cases for score in result.scores]


@pytest.mark.parametrize("kind", KINDS)
def test_a_table_that_is_gone_is_built_anew(started: Started, kind: str, tmp_path: Path) -> None:
    """Dropped behind the cache's back, it is built again with the same scores; the last run leaves nothing."""
    server = started(kind)
    before = server.tables()
    keeping = recipe_of(server, keep=True)
    first = run(keeping, tmp_path)
    second = run(keeping, tmp_path)
    (table,) = set(server.tables()).difference(before)
    server.table(table, keeping._columns).drop()
    third = run(keeping, tmp_path)
    assert len(server.tables()) == len(before) + 1
    last = run(recipe_of(server), tmp_path)
    assert [report.knowledge_bases[0].cached for report in (first, second, third, last)] == [False, True, False, True]
    assert scores(first) == scores(second) == scores(third) == scores(last)
    assert sum(scores(first)) > 5
    assert server.tables() == before


@pytest.mark.parametrize("kind", KINDS)
def test_a_rebuild_leaves_one_table(started: Started, kind: str, tmp_path: Path) -> None:
    """The one that it replaces goes, even if tables are to be kept; and the one of a run that caches nothing."""
    server = started(kind)
    before = server.tables()
    keeping = recipe_of(server, keep=True)
    run(keeping, tmp_path)
    run(keeping, tmp_path, rebuild=True)
    assert len(server.tables()) == len(before) + 1
    run(recipe_of(server), tmp_path)
    assert server.tables() == before


@dataclass(frozen=True)
class GatedChunker:
    """Cuts as CHUNKER does, once it is let through."""

    waits: threading.Event = field(default_factory=threading.Event)
    may_pass: threading.Event = field(default_factory=threading.Event)

    def chunk(self, pages: Iterable[Page]) -> Iterator[Chunk]:
        """Wait, then cut."""
        self.waits.set()
        assert self.may_pass.wait(30)
        return CHUNKER.chunk(pages)

    def declaration(self) -> dict[str, Any]:
        """Return what is cut how."""
        return CHUNKER.declaration()


@pytest.mark.parametrize("kind", KINDS)
def test_a_cancelled_build_leaves_no_table(started: Started, kind: str) -> None:
    """Not even if the thread that fills it goes on afterwards."""
    server, gate = started(kind), GatedChunker()
    before = server.tables()

    async def story() -> None:
        objects = MemoryObjectStore()
        for key, text in TEXTS.items():
            await objects.put(key, text.encode())
        recipe = recipe_of(server, chunker=gate)
        building = asyncio.create_task(recipe.build(name="zoo", objects=objects, source_keys=list(TEXTS)))
        assert await asyncio.to_thread(gate.waits.wait, 30)
        assert len(server.tables()) == len(before) + 1
        building.cancel()
        with pytest.raises(asyncio.CancelledError):
            await building
        gate.may_pass.set()

    asyncio.run(story())  # which waits for the thread in its end
    assert server.tables() == before


BUILDER = """
import sys, time
from pathlib import Path
from pytest_heta.knowledge.backends import LanceDb
from tests.knowledge.backends.test_runs import WordEmbedder, recipe_of, run

def stop(self, texts):
    print("embedding", flush=True)
    time.sleep(60)

WordEmbedder.embed = stop
run(recipe_of(LanceDb(sys.argv[1])), Path(sys.argv[2]))
"""


def test_the_table_of_a_killed_builder_goes_with_the_next_build(tmp_path: Path) -> None:
    """It is left by kill -9, and dropped by the next run over the same documents."""
    servers.need("lancedb")
    server = LanceDb(str(tmp_path / "db"))
    command = [sys.executable, "-c", BUILDER, server.uri, str(tmp_path)]
    root = Path(__file__).parents[3]
    with subprocess.Popen(command, cwd=root, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "embedding\n"
        process.kill()
    assert len(server.tables()) == 1
    run(recipe_of(server), tmp_path)
    assert server.tables() == []
