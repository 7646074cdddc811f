"""Small files in the formats of UDA-Benchmark, and how its adapter is driven in tests."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from pytest_heta.benchmarks.uda import UdaBenchmark
from pytest_heta.benchmarks.uda_subsets import SUBSETS
from pytest_heta.records import BenchmarkCase
from tests.benchmarks.reading import gather, prepare

HEADERS = {
    "fin": "doc_name|q_uid|question|answer_1|answer_2",
    "tat": "doc_name|q_uid|question|answer|answer_scale|answer_type",
    "paper_tab": "doc_name|q_uid|question|answer_1|answer_2|answer_3",
    "paper_text": "doc_name|q_uid|question|answer_1|answer_2|answer_3",
    "feta": "doc_name|q_uid|question|answer|doc_url",
    "nq": "doc_name|q_uid|question|short_answer|long_answer|doc_url",
}


def write_official(
    root: Path,
    subset: str,
    rows: Iterable[str],
    *,
    extended: Mapping[str, Any] | None = None,
    documents: Iterable[str] = (),
) -> Path:
    """Write one subset in the layout of the official repository and return its ``src_doc_files``.

    ``documents`` are file names below the subset's folder; each file holds its own name.
    """
    qa = root / "qa" / f"{subset}_qa.csv"
    qa.parent.mkdir(parents=True, exist_ok=True)
    qa.write_text("\n".join([HEADERS[subset], *rows, ""]), encoding="utf-8", newline="")
    if extended is not None:
        info = root / "extended_qa_info_bench" / f"bench_{subset}_qa.json"
        info.parent.mkdir(exist_ok=True)
        info.write_text(json.dumps(extended), encoding="utf-8")
    source_root = root / "src_doc_files"
    folder = source_root / SUBSETS[subset].folder
    folder.mkdir(parents=True, exist_ok=True)
    for name in documents:
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(name, encoding="utf-8")
    return source_root


def read_cases(
    root: Path, subset: str, rows: Iterable[str], extended: Mapping[str, Any] | None = None
) -> list[BenchmarkCase]:
    """Write a subset and return its cases."""
    benchmark = UdaBenchmark(subset, write_official(root, subset, rows, extended=extended), download=False)
    return gather(benchmark.cases(prepare(benchmark, root)))
