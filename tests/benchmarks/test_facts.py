"""The hand-written set in benchmarks/facts keeps the promises of its README."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

from pytest_heta.benchmarks.registry import resolve_benchmark
from pytest_heta.records import BenchmarkCase
from tests.benchmarks.reading import gather, prepare

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


def test_sizes_and_kinds_are_those_of_the_readme(tmp_path: Path) -> None:
    """The README states how many documents, questions, kinds and units there are."""
    benchmark = resolve_benchmark("facts", root=BENCHMARKS)
    prepared = prepare(benchmark, tmp_path)
    readme = (BENCHMARKS / "facts" / "README.md").read_text("utf-8")
    stated = {kind: int(count) for kind, count in re.findall(r"`(\w+)` \((\d+)", readme)}
    kinds = Counter(case.labels["kind"] for case in gather(benchmark.cases(prepared)))
    units = {unit.unit_id: len(unit.case_ids) for unit in gather(benchmark.run_units(prepared))}
    assert {**kinds, **units} == stated
    assert len(gather(benchmark.documents(prepared))) == 12
    assert (sum(kinds.values()), benchmark.manifest.license) == (24, "MIT")


def test_gold_labels_are_in_the_documents_of_their_unit(tmp_path: Path) -> None:
    """Evidence is a passage of a document of the case's unit, and what is not computed is an answer that it states."""
    benchmark = resolve_benchmark("facts", root=BENCHMARKS)
    prepared = prepare(benchmark, tmp_path)
    texts = {
        document.document_id: (document.data or b"").decode() for document in gather(benchmark.documents(prepared))
    }
    units = {case_id: unit for unit in gather(benchmark.run_units(prepared)) for case_id in unit.case_ids}
    for case in gather(benchmark.cases(prepared)):
        found = evidence_texts(case, texts)
        assert {evidence.reference_id for evidence in case.expected.evidence} <= set(units[case.case_id].document_ids)
        assert bool(found) == bool(case.expected.answers) == (case.labels["kind"] != "unanswerable")
        if case.labels["kind"] not in ("computed", "unanswerable"):
            assert any(answer.lower() in text.lower() for answer in case.expected.answers for text in found)


def evidence_texts(case: BenchmarkCase, texts: dict[str, str]) -> list[str]:
    """Return the documents of the case's evidence, after seeing that each holds the passage."""
    documents = [texts[str(evidence.reference_id)] for evidence in case.expected.evidence]
    for evidence, text in zip(case.expected.evidence, documents, strict=True):
        assert (evidence.text or "") in text
        assert evidence.locator == {"source_key_prefix": f"raw/benchmarks/facts/all/{evidence.reference_id}/"}
    return documents
