"""BEIR: document retrieval data sets of one layout (Thakur et al. 2021, https://arxiv.org/abs/2104.08663)."""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

from pytest_heta.benchmarks.beir_files import (
    DATASETS,
    archive_url,
    cached_folder,
    check_layout,
    corpus_file,
    local_archive,
    qrels_file,
    queries_file,
)
from pytest_heta.benchmarks.spec_options import below, check_spec
from pytest_heta.datasets.jsonl import read_jsonl, required_id, required_text
from pytest_heta.datasets.qrels import first_line, read_qrels
from pytest_heta.errors import DataError, UnknownNameError, UsageError
from pytest_heta.keys import document_folder, safe_document_id
from pytest_heta.protocols import BenchmarkEvaluatorProtocol, BenchmarkProtocol, ProgressCallback
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

CUTOFFS = (1, 3, 5, 10, 100)
OPTIONS = ("data_root", "dataset_url")

_HOMEPAGE = "https://github.com/beir-cellar/beir"
_CITATION = (
    "Thakur, Reimers, Rücklé, Srivastava, Gurevych: BEIR: A Heterogeneous Benchmark for Zero-shot Evaluation of "
    "Information Retrieval Models. NeurIPS 2021 Datasets and Benchmarks. https://arxiv.org/abs/2104.08663"
)
_LICENSE = "that of the data set's own source; BEIR's edition is published under CC BY-SA 4.0"
_DOCUMENT_FORMAT = "beir-text-1"
_PART = re.compile(r"[A-Za-z0-9_=~-][A-Za-z0-9._=~-]*")
_DATASET = re.compile(f"{_PART.pattern}(/{_PART.pattern})?")


class BeirBenchmark:
    """One split of one data set in BEIR layout: ``corpus.jsonl``, ``queries.jsonl``, ``qrels/{split}.tsv``.

    ``dataset`` names the data set (``scifact``; ``cqadupstack/android`` for a part of an archive) and the manifest
    (``beir_scifact``). The files are those in ``data_root``; without it those in ``{cache_dir}/beir/{dataset}``, which
    comes from ``{cache_dir}/beir/{dataset}.zip``, or from ``dataset_url`` (http, https, file, or the path of a zip;
    default: where the BEIR project publishes it). The cache goes by the name alone, so other data needs another name.
    With ``download`` False nothing is fetched over the network. ``progress`` may be set until ``prepare`` is called.
    """

    def __init__(
        self,
        dataset: str,
        split: str = "test",
        data_root: Path | str | None = None,
        download: bool = True,
        dataset_url: str | None = None,
        *,
        version: str = "official",
        progress: ProgressCallback | None = None,
    ) -> None:
        """Take the names; nothing is read before ``prepare``."""
        if not _DATASET.fullmatch(dataset) or not _PART.fullmatch(split):
            raise UsageError(
                f"{dataset!r} and {split!r} must be the names of a data set and a split: letters, digits and ._- only"
            )
        if dataset_url is not None:
            local_archive(dataset_url)
        self.dataset, self.split, self.download, self.dataset_url = dataset, split, download, dataset_url
        self.data_root = None if data_root is None else Path(data_root)
        self.progress = progress
        self._manifest = self._describe(version)

    def _describe(self, version: str) -> BenchmarkManifest:
        published = self.dataset in DATASETS
        return BenchmarkManifest(
            name=f"beir_{self.dataset.replace('/', '-')}",
            version=version,
            split=self.split,
            task_type="retrieval",
            build_scope="corpus",
            homepage=_HOMEPAGE if published else None,
            license=_LICENSE if published else None,
            citation=_CITATION if published else None,
            metadata={"dataset": self.dataset},
        )

    @property
    def manifest(self) -> BenchmarkManifest:
        """What this benchmark is."""
        return self._manifest

    def resources(self) -> tuple[BenchmarkResource, ...]:
        """Return the folder that is read, or the archive that is fetched where the cache does not hold it."""
        if self.data_root is not None:
            uri, description = self.data_root.absolute().as_uri(), "folder in BEIR layout"
        else:
            uri, description = self.dataset_url or archive_url(self.dataset), "zip of the data set in BEIR layout"
        return (BenchmarkResource(name=self.dataset, uri=uri, description=description),)

    async def prepare(self, workspace: BenchmarkWorkspace) -> PreparedBenchmark:
        """Find the data, or fetch and unpack it into ``workspace.cache_dir``.

        Raises:
            DataError: a file is missing or the archive is broken.
            DownloadError: the archive cannot be fetched.
            UnknownNameError: BEIR publishes no data set of this name and none lies in the cache.
        """
        folder = self.data_root
        if folder is None:
            folder = await asyncio.to_thread(
                cached_folder,
                self.dataset,
                workspace.cache_dir / "beir",
                url=self.dataset_url,
                offline=not self.download,
                progress=self.progress,
            )
        check_layout(folder, self.split)
        return PreparedBenchmark(root_dir=folder, metadata={"dataset": self.dataset, "split": self.split})

    async def documents(self, prepared: PreparedBenchmark) -> AsyncIterator[BenchmarkDocument]:
        """Stream the corpus, in its order, as text documents: title, blank line, text. None is left out.

        Raises:
            DataError: a line is malformed, or an ``_id`` occurs twice.
        """
        path = corpus_file(prepared.root_dir)
        seen: set[str] = set()
        for line, row in read_jsonl(path):
            original = required_id(row, "_id", path, line)
            if original in seen:
                raise DataError.at(path, line, f"_id {original!r} is already on line {_line_of(path, original)}")
            seen.add(original)
            yield _document(original, row, path, line)

    async def cases(self, prepared: PreparedBenchmark) -> AsyncIterator[BenchmarkCase]:
        """Yield the judged queries in the order of ``queries.jsonl``. The corpus is not opened.

        A query without a relevant document is a case without evidence. ``expected.metadata`` counts what was judged.

        Raises:
            DataError: a line is malformed, there is no judgement, or a judged query is not in ``queries.jsonl``.
        """
        path, qrels_path = queries_file(prepared.root_dir), qrels_file(prepared.root_dir, self.split)
        qrels = read_qrels(qrels_path)
        rows: dict[str, tuple[int, dict[str, Any]]] = {}
        for line, row in read_jsonl(path):
            original = required_id(row, "_id", path, line)
            if original in rows:
                raise DataError.at(path, line, f"_id {original!r} is already on line {rows[original][0]}")
            if original in qrels:
                rows[original] = line, row
        for query_id in qrels:
            if query_id not in rows:
                message = f"query {query_id!r} is not in {path.name} ({len(qrels) - len(rows)} such queries)"
                raise DataError.at(qrels_path, first_line(qrels_path, query_id), message)
        for original, (line, row) in rows.items():
            yield self._case(original, required_text(row, "text", path, line), qrels[original], row.get("metadata"))

    def _case(self, original: str, text: str, grades: Mapping[str, int], metadata: Any) -> BenchmarkCase:
        evidence = tuple(self._evidence(original, grade) for original, grade in grades.items() if grade > 0)
        counts = {"judged_documents": len(grades), "relevant_documents": len(evidence)}
        return BenchmarkCase(
            case_id=original,
            query=text,
            expected=BenchmarkExpected(evidence=evidence, metadata=counts),
            labels={key: value for key, value in (metadata or {}).items() if isinstance(value, str | int | bool)},
            metadata={"query_metadata": metadata} if metadata else {},
        )

    def _evidence(self, original: str, grade: int) -> BenchmarkEvidence:
        document_id = safe_document_id(original)
        return BenchmarkEvidence(
            reference_id=document_id,
            locator={"source_key_prefix": document_folder(self.manifest, document_id)},
            metadata={"beir_doc_id": original, "beir_document_id": document_id, "relevance": grade},
        )

    async def run_units(self, prepared: PreparedBenchmark) -> AsyncIterator[BenchmarkRunUnit]:
        """Yield the one unit: all documents, all cases."""
        yield BenchmarkRunUnit(unit_id="corpus")

    async def documents_digest(self, prepared: PreparedBenchmark, unit: BenchmarkRunUnit) -> str:
        """Return the sha256 of the corpus file and of all else that decides the documents and their raw keys.

        Raises:
            DataError: the corpus cannot be read.
        """
        layout = f"{_DOCUMENT_FORMAT} {document_folder(self.manifest, '')}\n"
        return await asyncio.to_thread(_sha256, layout.encode(), corpus_file(prepared.root_dir))

    async def missing_documents(self, prepared: PreparedBenchmark) -> tuple[str, ...]:
        """Return the original ids that are judged relevant but not in the corpus, sorted. Reads the whole corpus.

        Such judgements are part of some published data sets; no recipe can find these documents.
        """
        qrels = read_qrels(qrels_file(prepared.root_dir, self.split))
        wanted = {original for grades in qrels.values() for original, grade in grades.items() if grade > 0}
        path = corpus_file(prepared.root_dir)
        for line, row in read_jsonl(path):
            wanted.discard(required_id(row, "_id", path, line))
        return tuple(sorted(wanted))

    def evaluators(self) -> tuple[BenchmarkEvaluatorProtocol, ...]:
        """Return nDCG, MAP, recall, precision and MRR, each at 1, 3, 5, 10 and 100."""
        from pytest_heta.evaluators.ranking import RANKING_MEASURES, BeirRetrievalMetric

        return tuple(BeirRetrievalMetric(metric=metric, k=k) for metric in RANKING_MEASURES for k in CUTOFFS)


def from_spec(
    variant: str | None, *, split: str | None, options: Mapping[str, str], root: Path, download: bool
) -> BenchmarkProtocol:
    """Make the benchmark of a spec ``beir:DATASET[@SPLIT][?data_root=DIR&dataset_url=URL]``; paths are below ``root``.

    Raises:
        UnknownNameError: no data set is named, or an option does not exist.
        UsageError: a name or an address cannot be used.
    """
    if not variant:
        raise UnknownNameError("BEIR data set", "", DATASETS)
    check_spec("beir", split=None, options=options, known=OPTIONS)  # every data set has splits of its own
    url, folder = options.get("dataset_url"), below(root, options.get("data_root"))
    if url is not None and "://" not in url:
        url = str(below(root, url))
    return BeirBenchmark(variant, split or "test", data_root=folder, download=download, dataset_url=url)


def from_folder(folder: Path, *, split: str | None = None) -> BeirBenchmark:
    """Make the benchmark of a folder in BEIR layout; it is named after the folder."""
    name = safe_document_id(folder.resolve().name)
    return BeirBenchmark(name, split or "test", data_root=folder, download=False, version="local")


def _document(original: str, row: dict[str, Any], path: Path, line: int) -> BenchmarkDocument:
    title, text = (_optional_text(row, field, path, line) for field in ("title", "text"))
    title = title.strip()
    if "text" not in row:
        raise DataError.at(path, line, f"field 'text' is missing (there are: {', '.join(row)})")
    document_id = safe_document_id(original)
    body = f"{title}\n\n{text}" if title and text else title or text
    return BenchmarkDocument(
        document_id=document_id,
        name=f"{document_id}.txt",
        media_type="text/plain",
        data=body.encode(),
        metadata={"beir_doc_id": original},
    )


def _optional_text(row: dict[str, Any], field: str, path: Path, line: int) -> str:
    value = row.get(field)
    if value is not None and not isinstance(value, str):
        raise DataError.at(path, line, f"field {field!r} must be a text")
    return value or ""


def _line_of(path: Path, original: str) -> int:
    return next(line for line, row in read_jsonl(path) if required_id(row, "_id", path, line) == original)


def _sha256(prefix: bytes, path: Path) -> str:
    digest = hashlib.sha256(prefix)
    try:
        with path.open("rb") as file:
            while block := file.read(1 << 20):
                digest.update(block)
    except OSError as error:
        raise DataError.at(path, None, f"cannot be read: {error.strerror or error}") from error
    return digest.hexdigest()
