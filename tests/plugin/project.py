"""A small project of a user, in which the plugin is run as the user would."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from pytest_heta.records import EvaluationReport
from pytest_heta.reports.json_file import read_report

ALONE = ("-p", "no:xdist")
N0 = ("-p", "xdist", "-n0")
N2 = ("-p", "xdist", "-n2")
SPREADS = {"no-xdist": ALONE, "n0": N0, "n2": N2}

DOCUMENTS = {"d1": "Apples grow on trees.", "d2": "Pears grow on trees too.", "d3": "Fish swim.", "d4": "Stones lie."}
QUERIES = {"q1": "apples", "q2": "pears", "GS/2016 x": "fish", "q4": "stones"}
GOLD = {"q1": "d1", "q2": "d2", "GS/2016 x": "d3", "q4": "d4"}
NAMES = {"q1": "q1", "q2": "q2", "GS/2016 x": "GS-2016-x-b6be838f", "q4": "q4"}

SEARCH = """
FOUND = {"apples": ["d1", "d2"], "pears": ["d1", "d2"], "fish": ["d3"], "stones": []}

def search(query, top_k):
    return [(name, 1.0 / place) for place, name in enumerate(FOUND[query][:top_k], start=1)]
"""
"""By case: ndcg@1 is 1, 0, 1, 0 (mean 0.5) and mrr@3 is 1, 0.5, 1, 0 (mean 0.625)."""

BUILT = """
from pathlib import Path
from pytest_heta import QueryResponse, QueryResult

BUILDS = Path(__file__).with_name("builds.txt")

class Base:
    available_queries = ("words",)

    def __init__(self, names):
        self.names = names

    def query_many(self, texts, *, mode, top_k):
        return [self.query(text, mode=mode, top_k=top_k) for text in texts]

    def query(self, text, *, mode, top_k, options=None, trace=False):
        hits = [name for name in self.names if text in name]
        return QueryResponse(mode=mode, results=tuple(QueryResult(id=name, kind="document") for name in hits[:top_k]))

    def save(self, directory):
        (directory / "names.txt").write_text(" ".join(self.names))

class Recipe:
    available_queries = ("words",)

    def build(self, *, name, objects, source_keys, progress=None):
        with BUILDS.open("a") as file:
            file.write("built\\n")
        return Base([key.rsplit("/", 2)[1] for key in source_keys])

    def load(self, directory, *, name):
        return Base((directory / "names.txt").read_text().split())

recipe = Recipe()
"""
"""A recipe whose knowledge bases are cached; ``builds.txt`` counts how many were built."""


@dataclass
class Project:
    """One folder with a benchmark ``data`` in BEIR layout and a recipe ``r.py``."""

    pytester: pytest.Pytester
    spread: Sequence[str] = ALONE

    @property
    def path(self) -> Path:
        """The folder."""
        return self.pytester.path

    def write(self, name: str, text: str) -> Path:
        """Write one file of the project."""
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def benchmark(self, folder: str = "data", queries: dict[str, str] = QUERIES, gold: dict[str, str] = GOLD) -> None:
        """Write a data set in BEIR layout."""
        import json

        self.write(f"{folder}/corpus.jsonl", _lines(json.dumps({"_id": k, "text": v}) for k, v in DOCUMENTS.items()))
        self.write(f"{folder}/queries.jsonl", _lines(json.dumps({"_id": k, "text": v}) for k, v in queries.items()))
        judged = (f"{query}\t{document}\t1" for query, document in gold.items())
        self.write(f"{folder}/qrels/test.tsv", _lines(["query-id\tcorpus-id\tscore", *judged]))

    def labelled(self) -> None:
        """Write a benchmark in JSONL whose cases have a label: two are about fruit, two about something other."""
        import json

        kinds = {"q1": "fruit", "q2": "fruit", "GS/2016 x": "other", "q4": "other"}
        documents = [{"document_id": key, "text": text} for key, text in DOCUMENTS.items()]
        cases = [
            {
                "case_id": key,
                "query": text,
                "expected": {"evidence": [{"reference_id": GOLD[key]}]},
                "labels": {"kind": kinds[key]},
            }
            for key, text in QUERIES.items()
        ]
        for file, rows in (("documents", documents), ("cases", cases)):
            self.write(f"labelled/{file}.jsonl", _lines(map(json.dumps, rows)))

    def run(self, *args: str) -> pytest.RunResult:
        """Run pytest with the plugin and nothing else that is installed."""
        return self.pytester.runpytest("-p", "heta", *self.spread, *args)

    def subprocess(self, *args: str) -> pytest.RunResult:
        """Do the same in a process of its own."""
        return self.pytester.runpytest_subprocess("-p", "heta", *self.spread, *args, timeout=100)

    def evaluate(self, *args: str) -> pytest.RunResult:
        """Evaluate ``r.py`` on ``data``; the report goes to ``out.json``."""
        return self.run(*EVALUATION, *args)

    def report(self, name: str = "out.json") -> EvaluationReport:
        """Read a report that a run wrote."""
        return read_report(self.path / name)

    def collected(self, *args: str) -> list[str]:
        """Return the node ids that a run with these arguments would run."""
        found = self.run("--collect-only", "-q", *args)
        return [line for line in found.outlines if "::" in line]


EVALUATION = ("--heta-benchmark=data", "--heta-recipe=r.py", "--heta-report=out.json")


LABELLED = ("--heta-benchmark=jsonl:labelled", "--heta-recipe=r.py", "--heta-report=out.json")


def node(case_id: str, mode: str = "search", anchor: str = "r.py") -> str:
    """Return the node id of a case of ``data``."""
    return f"{anchor}::beir_data@test::corpus::{NAMES.get(case_id, case_id)}[{mode}]"


def statuses(report: EvaluationReport) -> dict[str, str]:
    """Return the status of each case."""
    return {result.case_id: result.status for result in report.cases}


def clean(result: pytest.RunResult) -> str:
    """Return all output, which must show no sign of a crash of the plugin."""
    text = "\n".join([*result.outlines, *result.errlines])
    for sign in ("INTERNALERROR", "Traceback (most recent call last)", "site-packages"):
        assert sign not in text, text
    return text


def _lines(lines: Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in lines)
