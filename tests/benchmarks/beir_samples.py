"""Small data sets in BEIR layout for the tests."""

from __future__ import annotations

import asyncio
import json
import zipfile
from collections.abc import AsyncIterator, Iterable
from pathlib import Path
from typing import Any, TypeVar

from pytest_heta.benchmarks.beir import BeirBenchmark
from pytest_heta.records import BenchmarkCase, BenchmarkDocument, BenchmarkWorkspace, PreparedBenchmark

T = TypeVar("T")

CORPUS = (
    {"_id": "d1", "title": " Rain ", "text": "It rains.\nA lot."},
    {"_id": "a/b c", "title": "", "text": "No title\u2028two lines?"},
    {"_id": "d3", "title": "Only a title", "text": ""},
    {"_id": "d4", "title": "", "text": ""},
)
QUERIES = (
    {"_id": "q1", "text": " does it rain? "},
    {"_id": "q2", "text": "not judged"},
    {"_id": "q3", "text": "nothing is good enough", "metadata": {"level": "hard"}},
)
QRELS = "query-id\tcorpus-id\tscore\nq3\td1\t0\nq1\ta/b c\t2\nq1\td1\t1\nq1\td3\t-1\nq1\tgone\t1\n"


def jsonl(rows: Iterable[dict[str, Any]]) -> str:
    """Return the rows as JSON Lines, not escaped."""
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def write_beir(
    folder: Path, *, corpus: str = jsonl(CORPUS), queries: str = jsonl(QUERIES), qrels: str = QRELS, split: str = "test"
) -> Path:
    """Write a data set and return its folder."""
    files = {"corpus.jsonl": corpus, "queries.jsonl": queries, f"qrels/{split}.tsv": qrels}
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(text.encode())
    return folder


def zip_folder(folder: Path, archive: Path, top: str) -> Path:
    """Pack the files of a folder under the folder ``top`` of a new archive and return its path."""
    archive.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(archive, "w") as target:
        for path in sorted(folder.rglob("*")):
            target.write(path, Path(top) / path.relative_to(folder))
    return archive


def prepare(benchmark: BeirBenchmark, workspace: Path) -> PreparedBenchmark:
    """Prepare a benchmark in a workspace below a folder."""
    return asyncio.run(benchmark.prepare(BenchmarkWorkspace.under(workspace)))


def everything(items: AsyncIterator[T]) -> list[T]:
    """Return all that an asynchronous iterator yields."""

    async def collect() -> list[T]:
        return [item async for item in items]

    return asyncio.run(collect())


def documents(benchmark: BeirBenchmark, workspace: Path) -> list[BenchmarkDocument]:
    """Return the documents of a benchmark."""
    return everything(benchmark.documents(prepare(benchmark, workspace)))


def cases(benchmark: BeirBenchmark, workspace: Path) -> list[BenchmarkCase]:
    """Return the cases of a benchmark."""
    return everything(benchmark.cases(prepare(benchmark, workspace)))
