"""UDA-Benchmark: manifest, evaluators, specs, and the real files."""

from __future__ import annotations

import asyncio
import json
import warnings
from pathlib import Path
from typing import Any

import pytest

from pytest_heta.benchmarks.uda import UdaBenchmark, from_spec
from pytest_heta.benchmarks.uda_questions import MendedDataWarning
from pytest_heta.errors import UnknownNameError, UsageError
from pytest_heta.records import QueryResponse
from tests.benchmarks.reading import gather, prepare
from tests.benchmarks.uda_files import write_official
from tests.shared_data import shared_data


def test_the_manifest_is_that_of_the_subset() -> None:
    """Name, split, task, scope and licence are fixed."""
    manifest = UdaBenchmark("paper_text").manifest
    assert (manifest.name, manifest.split, manifest.task_type) == ("uda_paper_text", "all", "document_qa")
    assert (manifest.build_scope, manifest.license) == ("case", "CC-BY-SA-4.0")


@pytest.mark.parametrize(
    ("subset", "names"),
    [
        ("fin", ["uda_em", "answer_contains"]),
        ("tat", ["uda_em", "uda_f1", "answer_contains"]),
        ("nq", ["uda_f1", "answer_contains"]),
    ],
)
def test_the_default_evaluators_are_the_official_ones_of_the_subset(subset: str, names: list[str]) -> None:
    """Beside them stands whether the answer contains a gold answer."""
    assert [evaluator.name for evaluator in UdaBenchmark(subset).evaluators()] == names


def spec(variant: str | None, root: Path = Path("/nowhere"), split: str | None = None, **options: str) -> UdaBenchmark:
    """Return the benchmark of a spec."""
    return from_spec(variant, split=split, options=options, root=root, download=False)


def test_a_spec_gives_paths_below_the_root_and_documents_by_comma(tmp_path: Path) -> None:
    """The benchmark that it makes works."""
    write_official(tmp_path / "uda", "fin", ["A|1|a?|1|1", "B|2|b?|1|1", "C|3|c?|1|1"], documents=["A.pdf"])
    benchmark = spec("fin", tmp_path, "all", source_root="uda/src_doc_files", docs="A,B", missing_documents="skip")
    prepared = prepare(benchmark, tmp_path)
    assert [unit.unit_id for unit in gather(benchmark.run_units(prepared))] == ["A"]
    assert prepared.metadata["skipped_documents"] == ["B"]


@pytest.mark.parametrize("variant", [None, "fins"])
def test_an_unknown_subset_lists_the_known(variant: str | None) -> None:
    """Also where none is named."""
    with pytest.raises(UnknownNameError, match="fin, tat, paper_tab, paper_text, feta, nq"):
        spec(variant)


def test_an_unknown_option_split_or_policy_is_a_usage_error() -> None:
    """The message lists what there is."""
    with pytest.raises(UsageError, match="source_root, qa_path, extended_info_path, docs, missing_documents"):
        spec("fin", source="x")
    with pytest.raises(UsageError, match=r"split of uda 'test' \(known: all\)"):
        spec("fin", split="test")
    with pytest.raises(UsageError, match="missing_documents must be error or skip, not 'ignore'"):
        spec("fin", missing_documents="ignore")


PUBLISHED = {
    "fin": (8190, 788, 451, {"ADI_2009.pdf", "ABMD_2012.pdf", "GS_2016.pdf"}),
    "tat": (14703, 170, 450, {"inpixon_2019.pdf", "lifeway-foods-inc_2019.pdf", "viavi-solutions-inc_2019.pdf"}),
    "paper_tab": (393, 307, 393, {"1909.00754.pdf", "1801.05147.pdf", "1912.01214.pdf", "1809.01202.pdf"}),
    "paper_text": (2804, 1087, 480, {f"{name}.pdf" for name in (
        "1705.07830", "1801.05147", "1809.01202", "1810.08699", "1909.00754", "1912.01214", "2001.03131"
    )}),
    "feta": (1023, 878, 350, {f"{name}.pdf" for name in (
        "Smallville", "List of French monarchs", "Ben Platt (actor)", "Jennifer Jones"
    )}),
    "nq": (2477, 645, 379, {f"{name}.pdf" for name in (
        "Oklahoma", "Hannah John-Kamen", "Supreme Court of the United States"
    )}),
}  # fmt: skip
"""Cases, documents, cases with an extended item, and the documents that lie in the example folder."""


@pytest.mark.parametrize("subset", PUBLISHED)
def test_the_published_files_give_the_published_numbers(subset: str, tmp_path: Path) -> None:
    """29,590 cases over all subsets, each in one unit, with unique ids; the documents that exist are found."""
    benchmark = UdaBenchmark(subset, shared_data("uda/src_doc_files_example"), download=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MendedDataWarning)
        prepared = prepare(benchmark, tmp_path)
    cases, units = gather(benchmark.cases(prepared)), gather(benchmark.run_units(prepared))
    extended = sum(case.metadata["extended"] for case in cases)
    documents = {document.name for document in gather(benchmark.documents(prepared))}
    assert (len(cases), len(units), extended, documents) == PUBLISHED[subset]
    assert len({case.case_id for case in cases}) == len(cases)
    assert len({unit.unit_id.casefold() for unit in units}) == len(units)
    assert sorted(case_id for unit in units for case_id in unit.case_ids) == sorted(case.case_id for case in cases)
    assert all(case.expected.answers for case in cases)


@pytest.mark.parametrize("subset", PUBLISHED)
def test_rows_and_extended_items_give_equal_gold_answers(subset: str, tmp_path: Path) -> None:
    """In the published files both say the same, so a case without an item is scored as one with it."""
    source_root = shared_data("uda/src_doc_files_example")
    qa = shared_data(f"uda/qa/{subset}_qa.csv")

    def golds(benchmark: UdaBenchmark) -> dict[str, Any]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", MendedDataWarning)
            prepared = prepare(benchmark, tmp_path)
        found = gather(benchmark.cases(prepared))
        return {case.case_id: (case.metadata["extended"], case.expected.metadata["uda"]["answers"]) for case in found}

    with_items = golds(UdaBenchmark(subset, source_root, download=False))
    empty = tmp_path / "none.json"
    empty.write_text("{}", encoding="utf-8")
    rows_only = golds(UdaBenchmark(subset, source_root, qa, empty, download=False))
    compared = [key for key, (extended, _) in with_items.items() if extended]
    assert compared
    for key in compared:
        assert untyped(rows_only[key][1]) == untyped(with_items[key][1]), key


def untyped(gold: Any) -> Any:
    """Return the gold answers without the answer type, which the rows of the papers do not have."""
    return [item["answer"] for item in gold] if isinstance(gold, list) else gold


@pytest.mark.parametrize("subset", PUBLISHED)
def test_the_adapter_and_the_default_metrics_give_the_official_scores(subset: str, tmp_path: Path) -> None:
    """Each prediction with a known official score gets it, from the case that the adapter makes."""
    rows = [json.loads(line) for line in shared_data("uda/official_scores.jsonl").read_bytes().splitlines()]
    benchmark = UdaBenchmark(subset, shared_data("uda/src_doc_files_example"), download=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MendedDataWarning)
        prepared = prepare(benchmark, tmp_path)
    cases = {case.case_id: case for case in gather(benchmark.cases(prepared))}
    metrics = {metric.name.removeprefix("uda_"): metric for metric in benchmark.evaluators()}
    compared = 0
    for row in rows:
        if row["subset"] == subset:
            response = QueryResponse(mode="m", answer=row["prediction"])
            for measure, official in row["official"].items():
                score = asyncio.run(metrics[measure].evaluate(case=cases[str(row["q_uid"])], response=response))
                assert score.value == pytest.approx(official, abs=1e-9), row
                compared += 1
    assert compared >= 150
