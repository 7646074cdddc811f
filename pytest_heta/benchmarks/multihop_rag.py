"""MultiHop-RAG: questions whose evidence is spread over two to four news articles (Tang and Yang 2024)."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping
from hashlib import file_digest, sha256
from pathlib import Path
from typing import Any

from pytest_heta.benchmarks.spec_options import below, check_spec
from pytest_heta.datasets.hub import fetch_hub_file
from pytest_heta.datasets.json_file import read_json
from pytest_heta.errors import DataError, UnknownNameError
from pytest_heta.keys import document_folder
from pytest_heta.protocols import BenchmarkEvaluatorProtocol
from pytest_heta.records import (
    BenchmarkCase,
    BenchmarkDocument,
    BenchmarkEvidence,
    BenchmarkExpected,
    BenchmarkManifest,
    BenchmarkResource,
    BenchmarkRunUnit,
    BenchmarkWorkspace,
    PreparedBenchmark,
)

HUB_DATASET = "yixuantt/MultiHopRAG"
CORPUS, QUERIES = "corpus.json", "MultiHopRAG.json"

_OPTIONS = ("corpus_path", "queries_path")
_MANIFEST = BenchmarkManifest(
    name="multihop_rag",
    version="official",
    split="all",
    task_type="multi_hop_qa",
    build_scope="corpus",
    homepage="https://github.com/yixuantt/MultiHop-RAG",
    license="ODC-BY",
    citation="Tang, Yang: MultiHop-RAG: Benchmarking Retrieval-Augmented Generation for Multi-Hop Queries, COLM 2024",
)


class MultiHopRagBenchmark:
    """MultiHop-RAG: one document an article, one case a query, one run unit.

    ``corpus_path`` is ``corpus.json``, ``queries_path`` is ``MultiHopRAG.json``; what is not given comes from the
    Hugging Face data set ``yixuantt/MultiHopRAG``, with ``download`` False only from the hub's cache.

    An article is the document ``article_{first 16 hex digits of sha256(url, or the title without one)}``. A query is
    the case ``multihop_rag_{index:04d}``, counted from 0. Evidence names its article by url, else by title; null
    queries have none. ``labels["question_type"]`` is inference, comparison, temporal or null ``_query``.
    """

    def __init__(
        self, corpus_path: Path | str | None = None, queries_path: Path | str | None = None, download: bool = True
    ) -> None:
        self.corpus_path = None if corpus_path is None else Path(corpus_path)
        self.queries_path = None if queries_path is None else Path(queries_path)
        self.download = download

    @property
    def manifest(self) -> BenchmarkManifest:
        """What this benchmark is."""
        return _MANIFEST

    def resources(self) -> tuple[BenchmarkResource, ...]:
        """Return the two official files."""
        return tuple(
            BenchmarkResource(name=name, uri=f"hf://datasets/{HUB_DATASET}/{name}") for name in (CORPUS, QUERIES)
        )

    async def prepare(self, workspace: BenchmarkWorkspace) -> PreparedBenchmark:
        """Find or download the files, check the articles and note which there are.

        Raises:
            DataError: the corpus is missing or malformed.
            DownloadError: a file is not given and cannot be downloaded.

        """
        return await asyncio.to_thread(self._prepare)

    def _prepare(self) -> PreparedBenchmark:
        corpus = self.corpus_path or fetch_hub_file(HUB_DATASET, CORPUS, download=self.download)
        queries = self.queries_path or fetch_hub_file(HUB_DATASET, QUERIES, download=self.download)
        articles = _read_articles(corpus)
        titles = Counter(article["title"] for article in articles.values())
        return PreparedBenchmark(
            root_dir=corpus.parent,
            metadata={
                "corpus_path": str(corpus),
                "queries_path": str(queries),
                "by_url": {article["url"]: key for key, article in articles.items() if article["url"]},
                "by_title": {a["title"]: key for key, a in articles.items() if titles[a["title"]] == 1},
            },
        )

    async def documents(self, prepared: PreparedBenchmark) -> AsyncIterator[BenchmarkDocument]:
        """Yield the articles as texts: title, source, date, URL, blank line, body.

        Raises:
            DataError: the corpus is malformed.

        """
        for document_id, article in _read_articles(Path(prepared.metadata["corpus_path"])).items():
            yield BenchmarkDocument(
                document_id=document_id,
                name=f"{document_id}.txt",
                media_type="text/plain",
                data=_article_text(article).encode(),
                metadata={key: article.get(key) for key in ("title", "url", "source", "category", "published_at")},
            )

    async def cases(self, prepared: PreparedBenchmark) -> AsyncIterator[BenchmarkCase]:
        """Yield the queries in order.

        Raises:
            DataError: the queries are missing or malformed, or evidence is of an article that the corpus lacks.

        """
        path = Path(prepared.metadata["queries_path"])
        for index, row in enumerate(_read_objects(path)):
            case_id = f"multihop_rag_{index:04d}"
            where = f"{path}: {case_id}"
            kind = _text(row, "question_type", where)
            yield BenchmarkCase(
                case_id=case_id,
                query=_text(row, "query", where),
                expected=BenchmarkExpected(
                    answers=(_text(row, "answer", where),),
                    evidence=tuple(_evidence(prepared, row, where)),
                ),
                labels={"question_type": kind},
            )

    async def run_units(self, prepared: PreparedBenchmark) -> AsyncIterator[BenchmarkRunUnit]:
        """Yield the one unit: all documents, all cases."""
        yield BenchmarkRunUnit(unit_id="corpus")

    async def documents_digest(self, prepared: PreparedBenchmark, unit: BenchmarkRunUnit) -> str:
        """Return the sha256 of the corpus file and of the layout of the documents made from it."""
        return await asyncio.to_thread(_digest, Path(prepared.metadata["corpus_path"]))

    def evaluators(self) -> tuple[BenchmarkEvaluatorProtocol, ...]:
        """Return evidence recall at 5, the official retrieval figures, and how well the answer fits."""
        from pytest_heta.evaluators import (
            AnswerContains,
            EvidenceRecallAtK,
            MultiHopRetrievalMetric,
            WordOverlapAnswer,
        )

        return (
            EvidenceRecallAtK(5),
            MultiHopRetrievalMetric("hits", 10),
            MultiHopRetrievalMetric("hits", 4),
            MultiHopRetrievalMetric("map", 10),
            MultiHopRetrievalMetric("mrr", 10),
            AnswerContains(),
            WordOverlapAnswer(),
        )


def from_spec(
    variant: str | None, *, split: str | None, options: Mapping[str, str], root: Path, download: bool
) -> MultiHopRagBenchmark:
    """Make the benchmark of a spec ``multihop-rag[?corpus_path=FILE&queries_path=FILE]``; paths are below ``root``.

    Raises:
        UnknownNameError: a variant, another split than ``all``, or an unknown option.

    """
    if variant:
        raise UnknownNameError("variant of multihop-rag", variant, ())
    check_spec("multihop-rag", split=split, options=options, known=_OPTIONS)
    return MultiHopRagBenchmark(
        corpus_path=below(root, options.get("corpus_path")),
        queries_path=below(root, options.get("queries_path")),
        download=download,
    )


def _read_objects(path: Path) -> list[dict[str, Any]]:
    rows = read_json(path)
    if not isinstance(rows, list) or not rows or not all(isinstance(row, dict) for row in rows):
        raise DataError(f"{path}: must be a list of at least one object")
    return rows


def _read_articles(path: Path) -> dict[str, dict[str, Any]]:
    """Return the articles by document id; the same article twice counts once."""
    found: dict[str, dict[str, Any]] = {}
    for index, row in enumerate(_read_objects(path)):
        where = f"{path}: article {index}"
        row["title"] = _text(row, "title", where)
        row["body"] = _text(row, "body", where)
        row["url"] = _text(row, "url", where).strip() if row.get("url") else ""
        document_id = f"article_{sha256((row['url'] or row['title']).encode()).hexdigest()[:16]}"
        if found.setdefault(document_id, row) != row:
            raise DataError(f"{where}: another article has the same address {row['url'] or row['title']!r}")
    return found


def _article_text(article: Mapping[str, Any]) -> str:
    head = [article["title"]]
    for label, key in (("Source", "source"), ("Published", "published_at"), ("URL", "url")):
        if article.get(key):
            head.append(f"{label}: {article[key]}")
    return "\n".join([*head, "", article["body"]])


def _evidence(prepared: PreparedBenchmark, row: Mapping[str, Any], where: str) -> Iterator[BenchmarkEvidence]:
    items = row.get("evidence_list")
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise DataError(f"{where}: evidence_list must be a list of objects")
    for item in items:
        url, title = str(item.get("url")).strip(), str(item.get("title"))
        article = prepared.metadata["by_url"].get(url) or prepared.metadata["by_title"].get(title)
        if article is None:
            raise DataError(
                f"{where}: the corpus has no article with the url {url!r} and no single one titled {title!r}"
            )
        yield BenchmarkEvidence(
            reference_id=article,
            locator={"source_key": f"{document_folder(_MANIFEST, article)}{article}.txt"},
            text=_text(item, "fact", f"{where}: evidence of {url!r}"),
            metadata={key: item[key] for key in ("title", "url", "source", "category", "published_at") if key in item},
        )


def _text(row: Mapping[str, Any], field: str, where: str) -> str:
    value = row.get(field)
    if not isinstance(value, str) or not value.strip():
        raise DataError(f"{where}: {field} must be a text that is not blank, not {value!r}")
    return value


def _digest(corpus: Path) -> str:
    with corpus.open("rb") as file:
        content = file_digest(file, "sha256").hexdigest()
    return sha256(f"multihop-text-1 {document_folder(_MANIFEST, '')} {content}".encode()).hexdigest()
