"""The same search through every integration gives the same scores: a table of figures and times.

    python -m benchmarks.speed.integrations FOLDER_IN_BEIR_LAYOUT

One BM25 index (bm25s, made by pytest-heta) is asked directly, as a function, over HTTP, and through LangChain,
LlamaIndex and Haystack. Then the same vectors, one for each document, are asked for in numpy, in each engine and in
heta-framework. What is not installed is left out, and servers that no ``HETA_…_URI`` names; HTTP needs uvicorn.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import socket
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from benchmarks.speed.engines import engines
from pytest_heta import BeirBenchmark, BenchmarkRunner, BenchmarkWorkspace, EvaluationReport, RunnerConfig
from pytest_heta.integrations.haystack import HaystackRecipe
from pytest_heta.integrations.http import HttpRecipe
from pytest_heta.integrations.langchain import LangChainRecipe
from pytest_heta.integrations.llama_index import LlamaIndexRecipe
from pytest_heta.keys import raw_key
from pytest_heta.knowledge import Bm25, MemoryObjectStore, Recipe, TokenChunker
from pytest_heta.records import QueryResponse

MODE = "full_text_search"
SHOWN = ("beir_ndcg@10", "beir_map@100", "beir_recall@100", "beir_mrr@10")
OURS = Recipe("bm25", chunker=TokenChunker(size=512, overlap=64), modes={MODE: Bm25()})

Search = Callable[[str, int], QueryResponse]


def as_function(search: Search) -> Any:
    """Return the search as a plain function."""
    return lambda query, top_k: [(hit.source["document_id"], hit.score) for hit in search(query, top_k).results]


def as_langchain(search: Search) -> Any:
    """Return it as a LangChain retriever."""
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever

    class Retriever(BaseRetriever):
        k: int = 10

        def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
            hits = search(query, self.k).results
            return [Document(id=hit.id, page_content=hit.text, metadata=hit.source) for hit in hits]

    return LangChainRecipe(Retriever, needs_documents=False)


def as_llama_index(search: Search) -> Any:
    """Return it as a LlamaIndex retriever, which has one depth."""
    from llama_index.core.retrievers import BaseRetriever
    from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

    class Retriever(BaseRetriever):
        def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
            hits = search(query_bundle.query_str, 400).results
            return [
                NodeWithScore(node=TextNode(id_=hit.id, text=hit.text, metadata=hit.source), score=hit.score)
                for hit in hits
            ]

    return LlamaIndexRecipe(Retriever, needs_documents=False)


def as_haystack(search: Search) -> Any:
    """Return it as a Haystack pipeline of one component."""
    from haystack import Document, Pipeline, component

    @component
    class Retriever:
        @component.output_types(documents=list[Document])
        def run(self, query: str, top_k: int = 10) -> dict[str, list[Document]]:
            hits = search(query, top_k).results
            return {
                "documents": [Document(id=hit.id, content=hit.text, score=hit.score, meta=hit.source) for hit in hits]
            }

    def pipeline() -> Pipeline:
        made = Pipeline()
        made.add_component("retriever", Retriever())
        return made

    return HaystackRecipe(pipeline, needs_documents=False)


@contextmanager
def served(search: Search) -> Iterator[Any]:
    """Serve it with uvicorn, and yield the recipe that asks there."""
    import uvicorn

    async def app(scope: Any, receive: Any, send: Any) -> None:
        asked = json.loads((await receive())["body"])
        found = await asyncio.to_thread(search, asked["query"], asked["top_k"])
        hits = [{"id": hit.source["document_id"], "score": hit.score} for hit in found.results]
        headers = [(b"content-type", b"application/json")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": json.dumps({"results": hits}).encode()})

    listening = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(app, log_level="error", lifespan="off", ws="none"))
    thread = threading.Thread(target=lambda: asyncio.run(server.serve([listening])))
    thread.start()
    try:
        url = f"http://127.0.0.1:{listening.getsockname()[1]}/search"
        yield HttpRecipe(url, request={"query": "{query}", "top_k": "{top_k}"})
    finally:
        server.should_exit = True
        thread.join()


def evaluate(recipe: Any, benchmark: BeirBenchmark, folder: Path) -> tuple[EvaluationReport, float]:
    """Return the report of a run, and the seconds that it took."""
    started = time.perf_counter()
    run = BenchmarkRunner().run(
        benchmark=benchmark,
        recipe=recipe,
        knowledge_base_name="integrations",
        workspace=BenchmarkWorkspace.under(folder),
        config=RunnerConfig(),
    )
    return asyncio.run(run), time.perf_counter() - started


def show(search: str, name: str, report: EvaluationReport, seconds: float) -> None:
    """Print one row."""
    mode = report.query_modes[0]
    figures = "  ".join(f"{report.score_summary[f'{mode}.{metric}']:>10.6f}" for metric in SHOWN)
    errors = sum(case.status != "finished" for case in report.cases)
    print(f"{search:<8} {name:<18} {figures}  {len(report.cases):>5} {errors:>6} {seconds:>7.1f}", flush=True)


async def open_search(benchmark: BeirBenchmark, folder: Path) -> Search:
    """Build one knowledge base of the whole corpus, and return its search."""
    prepared = await benchmark.prepare(BenchmarkWorkspace.under(folder))
    objects, keys = MemoryObjectStore(), []
    async for document in benchmark.documents(prepared):
        keys.append(raw_key(benchmark.manifest, document))
        await objects.put(keys[-1], document.data or b"")
    kb = await OURS.build(name="integrations", objects=objects, source_keys=keys)
    return lambda query, top_k: kb.query(query, mode=MODE, top_k=top_k)


def recipes(search: Search) -> Iterator[tuple[str, Any]]:
    """Yield each way to ask it, by name."""
    yield "pytest-heta", OURS
    yield "function", as_function(search)
    for name, module, adapt in (
        ("LangChain", "langchain_core", as_langchain),
        ("LlamaIndex", "llama_index", as_llama_index),
        ("Haystack", "haystack", as_haystack),
    ):
        if find_spec(module):
            yield name, adapt(search)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="corpus.jsonl, queries.jsonl and qrels/test.tsv")
    benchmark = BeirBenchmark("integrations", data_root=parser.parse_args().folder)
    print(f"{'search':<8} {'through':<18} {'  '.join(f'{metric[5:]:>10}' for metric in SHOWN)}  cases errors seconds")
    with tempfile.TemporaryDirectory() as name:
        search = asyncio.run(open_search(benchmark, Path(name)))
        for label, recipe in recipes(search):
            show("bm25s", label, *evaluate(recipe, benchmark, Path(name)))
        if find_spec("uvicorn"):
            with served(search) as recipe:
                show("bm25s", "HTTP", *evaluate(recipe, benchmark, Path(name)))
        for label, recipe in engines(Path(name)):
            show("vectors", label, *evaluate(recipe, benchmark, Path(name)))


if __name__ == "__main__":
    main()
