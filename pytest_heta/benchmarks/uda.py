"""UDA-Benchmark: questions about real reports, papers and encyclopedia pages, one knowledge base a document."""

from __future__ import annotations

import asyncio
import contextlib
import unicodedata
import warnings
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from hashlib import file_digest, sha256
from pathlib import Path
from typing import Any, Literal, cast, get_args

from pytest_heta.benchmarks.spec_options import below, check_spec
from pytest_heta.benchmarks.uda_cases import case_of
from pytest_heta.benchmarks.uda_questions import (
    MendedDataWarning,
    Question,
    read_extended,
    read_questions,
    select_documents,
)
from pytest_heta.benchmarks.uda_sources import (
    GITHUB,
    HUB_DATASET,
    MEDIA_TYPES,
    archive_file,
    extended_file,
    find_document,
    missing_document,
    qa_file,
    question_files,
    source_folder,
)
from pytest_heta.benchmarks.uda_subsets import subset_named
from pytest_heta.errors import UsageError
from pytest_heta.keys import document_folder
from pytest_heta.protocols import BenchmarkEvaluatorProtocol, ProgressCallback
from pytest_heta.records import (
    BenchmarkCase,
    BenchmarkDocument,
    BenchmarkManifest,
    BenchmarkResource,
    BenchmarkRunUnit,
    BenchmarkWorkspace,
    PreparedBenchmark,
)

MissingDocuments = Literal["error", "skip"]

_OPTIONS = ("source_root", "qa_path", "extended_info_path", "docs", "missing_documents")
_CITATION = (
    "Hui, Lu, Zhang: UDA: A Benchmark Suite for Retrieval Augmented Generation in Real-world Document Analysis, 2024"
)


class UdaBenchmark:
    """One subset of UDA-Benchmark: fin, tat, paper_tab, paper_text, feta or nq.

    Each doc_name is a document and a run unit; each row of the QA file is a case. ``source_root`` is the official
    folder ``src_doc_files`` or one like it, with the subset's folder (``fin_docs``, …) in it; with it, no documents are
    downloaded. ``qa_path`` and ``extended_info_path`` default to the official places around ``source_root``, else they
    are downloaded. A local QA file without a local extended file means that there are no extended items.
    ``docs`` keeps only the documents with these doc_names or document ids (none = all). A document without a file is
    an error of its unit, or, with ``missing_documents="skip"``, left out and counted in the prepared metadata
    (``skipped_documents``, ``skipped_cases``). With ``download`` False nothing is fetched. What the user should know
    of the data (a broken row that was joined, what was left out) stands in the prepared metadata as ``notices``.

    Gold answers lie in ``expected.metadata["uda"]["answers"]`` as the extended files have them, made from the row
    where a case has no extended item. ``expected.answers`` are the same as texts; the spans of a multi-span answer
    are each an answer. A paper's evidence is that of all its annotators, each text once.

    Source: https://github.com/qinchuanhui/UDA-Benchmark (CC BY-SA 4.0).

    Raises:
        UnknownNameError: for a subset that does not exist.
        UsageError: for another ``missing_documents``.

    """

    def __init__(
        self,
        subset: str,
        source_root: Path | str | None = None,
        qa_path: Path | str | None = None,
        extended_info_path: Path | str | None = None,
        docs: Sequence[str] = (),
        missing_documents: MissingDocuments = "error",
        download: bool = True,
        *,
        progress: ProgressCallback | None = None,
    ) -> None:
        self.subset = subset_named(subset)
        self.source_root = _path(source_root)
        self.qa_path = _path(qa_path)
        self.extended_info_path = _path(extended_info_path)
        self.docs = tuple(docs)
        self.missing_documents = missing_documents
        self.download = download
        self.progress = progress
        self._manifest = _describe(subset)
        if missing_documents not in get_args(MissingDocuments):
            raise UsageError(f"missing_documents must be error or skip, not {missing_documents!r}")

    @property
    def manifest(self) -> BenchmarkManifest:
        """What this benchmark is."""
        return self._manifest

    def resources(self) -> tuple[BenchmarkResource, ...]:
        """Return the official files of the subset, local or not."""
        archive = archive_file(self.subset)
        return (
            BenchmarkResource(name="qa", uri=f"{GITHUB}/{qa_file(self.subset)}"),
            BenchmarkResource(name="extended_qa_info", uri=f"{GITHUB}/{extended_file(self.subset)}"),
            BenchmarkResource(name="source_documents", uri=f"hf://datasets/{HUB_DATASET}/{archive}"),
        )

    async def prepare(self, workspace: BenchmarkWorkspace) -> PreparedBenchmark:
        """Find or download the files and check the questions.

        A broken row that was joined is told by MendedDataWarning, too, unless warnings are errors: nobody who turns
        them into errors can mend the published file.

        Raises:
            DataError: the QA file or the archive is malformed, or ``skip`` leaves nothing.
            DownloadError: something is not local and cannot be downloaded.
            UsageError: ``source_root`` lacks the subset's folder, or ``docs`` names an unknown document.

        """
        return await asyncio.to_thread(self._prepare, workspace.cache_dir / self.manifest.name)

    def _prepare(self, cache: Path) -> PreparedBenchmark:
        qa, extended = question_files(
            self.subset,
            cache,
            source_root=self.source_root,
            qa_path=self.qa_path,
            extended_info_path=self.extended_info_path,
            download=self.download,
            progress=self.progress,
        )
        notices: list[str] = []
        questions = read_questions(self.subset, qa, on_mended=notices.append)
        _warn_mended(notices)
        folder = source_folder(
            self.subset, cache, source_root=self.source_root, download=self.download, progress=self.progress
        )
        names = {question.document_id: question.doc_name for question in questions}
        if self.docs:
            chosen = select_documents(self.subset, names, self.docs)
            names = {document_id: name for document_id, name in names.items() if document_id in chosen}
        metadata: dict[str, Any] = {"qa_path": str(qa), "extended_info_path": str(extended) if extended else None}
        if self.missing_documents == "skip":
            metadata |= self._skip(folder, names, questions)
            notices += _left_out(self.manifest.name, metadata)
        return PreparedBenchmark(root_dir=folder, metadata={**metadata, "documents": names, "notices": notices})

    def _skip(self, folder: Path, names: dict[str, str], questions: list[Question]) -> dict[str, Any]:
        """Take the documents without a file out of ``names`` and return what was left out."""
        skipped = [key for key, name in names.items() if find_document(self.subset, folder, name) is None]
        if len(skipped) == len(names):
            raise missing_document(self.subset, folder, names[skipped[0]])
        gone = {document_id: names.pop(document_id) for document_id in skipped}
        cases = sum(question.document_id in gone for question in questions)
        return {"skipped_documents": skipped, "skipped_cases": cases}

    async def documents(self, prepared: PreparedBenchmark) -> AsyncIterator[BenchmarkDocument]:
        """Yield the documents that have a file. ``documents_of`` its unit raises what is missing."""
        for document_id, doc_name in prepared.metadata["documents"].items():
            path = find_document(self.subset, prepared.root_dir, doc_name)
            if path:
                yield self._document(document_id, doc_name, path)

    async def documents_of(
        self, prepared: PreparedBenchmark, unit: BenchmarkRunUnit
    ) -> AsyncIterator[BenchmarkDocument]:
        """Yield the documents of one unit.

        Raises:
            DataError: one has no file; names the document and the places looked at.

        """
        for document_id, doc_name, path in self._files(prepared, unit):
            yield self._document(document_id, doc_name, path)

    def _files(self, prepared: PreparedBenchmark, unit: BenchmarkRunUnit) -> Iterator[tuple[str, str, Path]]:
        for document_id in unit.document_ids:
            doc_name = prepared.metadata["documents"][document_id]
            path = find_document(self.subset, prepared.root_dir, doc_name)
            if path is None:
                raise missing_document(self.subset, prepared.root_dir, doc_name)
            yield document_id, doc_name, path

    def _document(self, document_id: str, doc_name: str, path: Path) -> BenchmarkDocument:
        return BenchmarkDocument(
            document_id=document_id,
            name=unicodedata.normalize("NFC", doc_name) + path.suffix,
            media_type=MEDIA_TYPES[path.suffix],
            path=path,
            metadata={"doc_name": doc_name, "subset": self.subset.name},
        )

    async def documents_digest(self, prepared: PreparedBenchmark, unit: BenchmarkRunUnit) -> str:
        """Return the sha256 (hex) over name and content of the unit's document.

        Raises:
            DataError: the document has no file.

        """
        digest = sha256(document_folder(self.manifest, "").encode())
        for document_id, doc_name, path in self._files(prepared, unit):
            content = await asyncio.to_thread(_sha256, path)
            digest.update(f"\n{document_id}/{doc_name}{path.suffix} {content}".encode())
        return digest.hexdigest()

    async def cases(self, prepared: PreparedBenchmark) -> AsyncIterator[BenchmarkCase]:
        """Yield the case of each question in the order of the QA file.

        Raises:
            DataError: the extended file is malformed, or a gold answer does not have the form of the subset.

        """
        extended = prepared.metadata["extended_info_path"]
        items = read_extended(Path(extended)) if extended else {}
        places = [Path(place) for place in (prepared.metadata["qa_path"], extended) if place]
        for question in self._questions(prepared):
            yield case_of(self.subset, self.manifest, question, items.get(question.q_uid), places)

    async def run_units(self, prepared: PreparedBenchmark) -> AsyncIterator[BenchmarkRunUnit]:
        """Yield one unit a document, in the order in which the QA file first names them."""
        case_ids: dict[str, list[str]] = {document_id: [] for document_id in prepared.metadata["documents"]}
        for question in self._questions(prepared):
            case_ids[question.document_id].append(question.q_uid)
        for document_id, doc_name in prepared.metadata["documents"].items():
            yield BenchmarkRunUnit(
                unit_id=document_id,
                document_ids=(document_id,),
                case_ids=tuple(case_ids[document_id]),
                metadata={"doc_name": doc_name, "subset": self.subset.name},
            )

    def _questions(self, prepared: PreparedBenchmark) -> Iterator[Question]:
        for question in read_questions(self.subset, Path(prepared.metadata["qa_path"])):
            if question.document_id in prepared.metadata["documents"]:
                yield question

    def evaluators(self) -> tuple[BenchmarkEvaluatorProtocol, ...]:
        """Return the official answer metrics of the subset, and whether the answer contains a gold answer."""
        from pytest_heta.evaluators import UDA_MEASURES, AnswerContains, UdaAnswerMetric

        name = self.subset.name
        return (*(UdaAnswerMetric(name, measure=measure) for measure in UDA_MEASURES[name]), AnswerContains())


def from_spec(
    variant: str | None, *, split: str | None, options: Mapping[str, str], root: Path, download: bool
) -> UdaBenchmark:
    """Make the benchmark of a spec ``uda:SUBSET[?source_root=DIR&docs=A,B&…]``; relative paths are below ``root``.

    A doc_name that holds a comma is given by its document id.

    Raises:
        UnknownNameError: for no or an unknown subset, another split than ``all``, an unknown option.
        UsageError: for another ``missing_documents`` than error and skip.

    """
    check_spec("uda", split=split, options=options, known=_OPTIONS)
    return UdaBenchmark(
        variant or "",
        source_root=below(root, options.get("source_root")),
        qa_path=below(root, options.get("qa_path")),
        extended_info_path=below(root, options.get("extended_info_path")),
        docs=options["docs"].split(",") if "docs" in options else (),
        missing_documents=cast(MissingDocuments, options.get("missing_documents", "error")),
        download=download,
    )


def _describe(subset: str) -> BenchmarkManifest:
    return BenchmarkManifest(
        name=f"uda_{subset}",
        version="official",
        split="all",
        task_type="document_qa",
        build_scope="case",
        homepage="https://github.com/qinchuanhui/UDA-Benchmark",
        license="CC-BY-SA-4.0",
        citation=_CITATION,
        metadata={"subset": subset},
    )


def _path(path: Path | str | None) -> Path | None:
    return None if path is None else Path(path)


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()


def _warn_mended(notices: Sequence[str]) -> None:
    for notice in notices:
        with contextlib.suppress(MendedDataWarning):
            warnings.warn(notice, MendedDataWarning, stacklevel=2)


def _left_out(name: str, metadata: Mapping[str, Any]) -> list[str]:
    documents, cases = len(metadata["skipped_documents"]), metadata["skipped_cases"]
    return [f"{name}: documents without a file left out: {documents}, their cases: {cases}"] if documents else []
