"""Benchmarks in JSON Lines: the format for sets of one's own."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any, cast

from pytest_heta.benchmarks.jsonl_rows import document_of_row, make_record, read_rows
from pytest_heta.benchmarks.spec_options import check_spec
from pytest_heta.datasets.json_file import read_json
from pytest_heta.errors import DataError, UnknownNameError, UsageError
from pytest_heta.keys import document_folder, safe_document_id
from pytest_heta.protocols import BenchmarkEvaluatorProtocol
from pytest_heta.records import (
    BenchmarkCase,
    BenchmarkDocument,
    BenchmarkManifest,
    BenchmarkResource,
    BenchmarkRunUnit,
    BenchmarkWorkspace,
    PreparedBenchmark,
)

_DOCUMENTS, _CASES, _UNITS, _DESCRIPTION = "documents.jsonl", "cases.jsonl", "run_units.jsonl", "benchmark.json"
_EVALUATORS = (
    "evidence_recall@K",
    "answer_contains",
    "answer_exact_match",
    *(f"beir_{metric}@K" for metric in ("ndcg", "map", "recall", "precision", "mrr")),
)


class JsonlBenchmark:
    """A benchmark whose documents, cases and run units are lines of JSON Lines files. Nothing is downloaded.

    A document has ``document_id``, one of ``text``, ``data_base64``, ``path`` (below the folder of ``documents_jsonl``)
    and ``source_uri``, and may have ``name``, ``media_type`` and ``metadata``. A case has ``case_id`` and ``query`` and
    may have ``expected`` (``answers``, ``evidence``, ``value``, ``metadata``), ``labels`` and ``metadata``. A run unit
    has ``unit_id`` and may have ``document_ids``, ``case_ids`` (none = all) and ``metadata``; without the file there
    is one unit, ``corpus``.

    Example: a document, and a case whose evidence is that document, graded as in BEIR, and a passage in it::

        {"document_id": "leave", "text": "Staff have 28 days of paid leave a year."}
        {"case_id": "1", "query": "How much leave is there?", "expected": {"answers": ["28 days"], "evidence": [
            {"locator": {"document_id": "leave"}, "metadata": {"relevance": 2}},
            {"locator": {"source_key_prefix": "raw/benchmarks/NAME/SPLIT/leave/"}, "text": "28 days of paid leave"}]}}

    (each on one line). ``document_id`` matches the hits that name their document so; ``source_key_prefix``, with name
    and split of the manifest, matches those of any knowledge base that keeps the raw keys.

    ``evaluators`` are names: ``evidence_recall@K``, ``answer_contains``, ``answer_exact_match``,
    ``beir_ndcg@K`` (``map``, ``recall``, ``precision``, ``mrr``). The default, found out by looking through the cases,
    is evidence recall at 1, 5 and 10 if any case has evidence and ``answer_contains`` if any has answers.
    """

    def __init__(
        self,
        manifest: BenchmarkManifest,
        documents_jsonl: Path | str,
        cases_jsonl: Path | str,
        run_units_jsonl: Path | str | None = None,
        evaluators: tuple[str, ...] | None = None,
    ) -> None:
        self._manifest = manifest
        self.documents_jsonl = Path(documents_jsonl)
        self.cases_jsonl = Path(cases_jsonl)
        self.run_units_jsonl = None if run_units_jsonl is None else Path(run_units_jsonl)
        self._evaluators = None if evaluators is None else tuple(_evaluator(name) for name in evaluators)

    @property
    def manifest(self) -> BenchmarkManifest:
        """What this benchmark is."""
        return self._manifest

    def resources(self) -> tuple[BenchmarkResource, ...]:
        """Return the files."""
        files = (self.documents_jsonl, self.cases_jsonl, self.run_units_jsonl)
        return tuple(BenchmarkResource(name=file.name, uri=file.absolute().as_uri()) for file in files if file)

    async def prepare(self, workspace: BenchmarkWorkspace) -> PreparedBenchmark:
        """See that the files are there.

        Raises:
            DataError: one is not.

        """
        for file in (self.documents_jsonl, self.cases_jsonl, self.run_units_jsonl):
            if file and not file.is_file():
                raise DataError(f"{file}: there is no such file")
        return PreparedBenchmark(root_dir=self.documents_jsonl.parent)

    async def documents(self, prepared: PreparedBenchmark) -> AsyncIterator[BenchmarkDocument]:
        """Yield all documents in order.

        Raises:
            DataError: a line is malformed, an id is there twice, or a path is missing or leads out of the folder.

        """
        for line, row in read_rows(self.documents_jsonl, "document_id"):
            yield document_of_row(self.documents_jsonl, line, row)

    async def documents_of(
        self, prepared: PreparedBenchmark, unit: BenchmarkRunUnit
    ) -> AsyncIterator[BenchmarkDocument]:
        """Yield the documents of one unit; what is wrong with those of other units does no harm.

        Raises:
            DataError: as ``documents``, and for an id of the unit that no document has.

        """
        for document in self._documents_of(unit):
            yield document

    def _documents_of(self, unit: BenchmarkRunUnit) -> Iterator[BenchmarkDocument]:
        missing = dict.fromkeys(unit.document_ids)
        for line, row in read_rows(self.documents_jsonl, "document_id"):
            if not unit.document_ids or row["document_id"] in missing:
                missing.pop(row["document_id"], None)
                yield document_of_row(self.documents_jsonl, line, row)
        if missing:
            unknown = ", ".join(map(repr, missing))
            raise DataError(f"{self.run_units_jsonl}: unit {unit.unit_id!r} names unknown documents: {unknown}")

    async def documents_digest(self, prepared: PreparedBenchmark, unit: BenchmarkRunUnit) -> str:
        """Return the sha256 over everything that makes the unit's documents, the content of files included.

        Raises:
            DataError: as ``documents_of``.

        """
        return await asyncio.to_thread(self._digest, unit)

    def _digest(self, unit: BenchmarkRunUnit) -> str:
        digest = sha256(document_folder(self.manifest, "").encode())
        for document in self._documents_of(unit):
            content = document.path.read_bytes() if document.path else document.data
            named = [document.document_id, document.name, document.media_type, document.source_uri]
            digest.update(f"\n{json.dumps(named)} {sha256(content or b'').hexdigest()}".encode())
        return digest.hexdigest()

    async def cases(self, prepared: PreparedBenchmark) -> AsyncIterator[BenchmarkCase]:
        """Yield the cases in order.

        Raises:
            DataError: a line is malformed, or an id is there twice.

        """
        for line, row in read_rows(self.cases_jsonl, "case_id"):
            yield make_record(BenchmarkCase, row, self.cases_jsonl, line)

    async def run_units(self, prepared: PreparedBenchmark) -> AsyncIterator[BenchmarkRunUnit]:
        """Yield the run units in order; without their file the one unit ``corpus`` of everything.

        Raises:
            DataError: a line is malformed, or an id is there twice.

        """
        if self.run_units_jsonl is None:
            yield BenchmarkRunUnit(unit_id="corpus")
            return
        for line, row in read_rows(self.run_units_jsonl, "unit_id"):
            yield make_record(BenchmarkRunUnit, row, self.run_units_jsonl, line)

    def evaluators(self) -> tuple[BenchmarkEvaluatorProtocol, ...]:
        """Return the chosen evaluators, by default those that some case has labels for.

        Raises:
            DataError: the cases have to be looked through and are malformed.

        """
        if self._evaluators is not None:
            return self._evaluators
        labels: set[str] = set()
        for line, row in read_rows(self.cases_jsonl, "case_id"):
            expected = make_record(BenchmarkCase, row, self.cases_jsonl, line).expected
            labels.update(kind for kind in ("evidence", "answers") if getattr(expected, kind))
        recall = [f"evidence_recall@{k}" for k in (1, 5, 10)] if "evidence" in labels else []
        answer = ["answer_contains"] if "answers" in labels else []
        return tuple(_evaluator(name) for name in (*recall, *answer))


def from_spec(
    variant: str | None, *, split: str | None, options: Mapping[str, str], root: Path, download: bool
) -> JsonlBenchmark:
    """Make the benchmark of a spec ``jsonl:DIR``, a folder below ``root``.

    It holds ``documents.jsonl``, ``cases.jsonl``, and where wanted ``run_units.jsonl`` and ``benchmark.json``: the
    fields of the manifest and ``evaluators``, a list of names. Without it the benchmark is named after the folder,
    version ``local``, split ``all``, task ``question_answering``.

    Raises:
        UsageError: no folder is named.
        UnknownNameError: another split than the benchmark's, an option, an unknown evaluator.
        DataError: ``benchmark.json`` is malformed.

    """
    if not variant:
        raise UsageError("jsonl needs a folder: jsonl:DIR")
    folder = root / Path(variant).expanduser()
    if not folder.is_dir():
        raise UsageError(f"{folder}: there is no such folder")
    units = folder / _UNITS if (folder / _UNITS).exists() else None
    manifest, evaluators = _description(folder, "group" if units else "corpus")
    check_spec("jsonl", split=split, options=options, splits=(manifest.split,))
    return JsonlBenchmark(manifest, folder / _DOCUMENTS, folder / _CASES, units, evaluators)


def _description(folder: Path, build_scope: str) -> tuple[BenchmarkManifest, tuple[str, ...] | None]:
    path = folder / _DESCRIPTION
    given = read_json(path) if path.exists() else {}
    if not isinstance(given, dict):
        raise DataError(f"{path}: must be an object")
    evaluators = given.pop("evaluators", None)
    if evaluators is not None and not (
        isinstance(evaluators, list) and evaluators and all(isinstance(name, str) for name in evaluators)
    ):
        raise DataError(f"{path}: evaluators must be a list of names ({', '.join(_EVALUATORS)})")
    default = {
        "name": safe_document_id(folder.resolve().name),
        "version": "local",
        "split": "all",
        "task_type": "question_answering",
        "build_scope": build_scope,
    }
    manifest = make_record(BenchmarkManifest, {**default, **given}, path, None)
    if "/" in manifest.name or "/" in manifest.split:
        raise DataError(f"{path}: name and split are parts of keys and cannot hold a slash")
    return manifest, None if evaluators is None else tuple(evaluators)


def _evaluator(name: str) -> BenchmarkEvaluatorProtocol:
    from pytest_heta.evaluators import AnswerContains, AnswerExactMatch, BeirRetrievalMetric, EvidenceRecallAtK

    if name == "answer_contains":
        return AnswerContains()
    if name == "answer_exact_match":
        return AnswerExactMatch()
    if match := re.fullmatch(r"evidence_recall@(\d+)", name):
        return EvidenceRecallAtK(int(match[1]))
    if match := re.fullmatch(r"beir_(ndcg|map|recall|precision|mrr)@(\d+)", name):
        return BeirRetrievalMetric(cast(Any, match[1]), int(match[2]))
    raise UnknownNameError("evaluator", name, _EVALUATORS)
