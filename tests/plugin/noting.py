"""A benchmark with several run units, and a recipe that notes whatever happens to it in ``notes.txt``."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable
from typing import Any

import pytest

from tests.plugin.project import Project

EVALUATION = ("--heta-benchmark=many", "--heta-recipe=r.py", "--heta-report=out.json")

NOTING = """
import asyncio
import os
from pathlib import Path
from pytest_heta import QueryResponse, QueryResult

NOTES = Path(__file__).with_name("notes.txt")
SECONDS = 0.0

def note(*words):
    with NOTES.open("a") as file:
        file.write(" ".join([*words, f"{os.getpid()}\\n"]))

def answer(text, mode, top_k):
    place = int(text.rpartition("-c")[2]) % 4
    names = ["d0", "d1", "d2", "d3"]
    ranked = (names[-place:] + names[:-place])[:min(top_k, 3)]
    return QueryResponse(mode=mode, results=tuple(QueryResult(id=name, kind="document") for name in ranked))

class Base:
    def __init__(self, name):
        self.name = name
        note("open", name)

    async def query(self, text, *, mode, top_k, options=None, trace=False):
        note("ask", text)
        await asyncio.sleep(SECONDS)
        note("answer", text)
        return answer(text, mode, top_k)

    def save(self, directory):
        (directory / "name.txt").write_text(self.name)

    def close(self):
        note("close", self.name)

class Recipe:
    available_queries = ("words",)

    def build(self, *, name, objects, source_keys, progress=None):
        note("build", name)
        return Base(name)

    def load(self, directory, *, name):
        return Base(name)

recipe = Recipe()
"""
"""Case ``…-cN`` finds its document ``d0`` in place N % 4 + 1 of three, so that ndcg@1 is 1, 0, 0, 0, 1, …"""

SYNCHRONOUS = """
def query(self, text, *, mode, top_k, options=None, trace=False):
    import time
    note("ask", text)
    time.sleep(SECONDS)
    note("answer", text)
    return answer(text, mode, top_k)

Base.query = query
"""
IN_BATCHES = """
def query_many(self, texts, *, mode, top_k):
    note("batch", str(len(texts)))
    return [answer(text, mode, top_k) for text in texts]

Base.query_many = query_many
"""
UNSAVEABLE = "del Base.save, Recipe.load\n"


def write_noting(project: Project, *, units: int = 1, cases: int = 30, recipe: str = "") -> list[str]:
    """Write the benchmark and the recipe, with ``recipe`` at the end of its file; return the case ids in order."""
    names = {f"u{unit}": [f"u{unit}-c{number}" for number in range(cases)] for unit in range(units)}
    ids = [name for group in names.values() for name in group]
    evidence = {"locator": {"document_id": "d0"}, "metadata": {"relevance": 1}}
    documents = ["d0", "d1", "d2", "d3", *names]
    _write_lines(project, "documents", ({"document_id": name, "text": f"text {name}"} for name in documents))
    _write_lines(
        project,
        "cases",
        ({"case_id": name, "query": f"query {name}", "expected": {"evidence": [evidence]}} for name in ids),
    )
    _write_lines(  # with a document of its own: units that have the same documents share a knowledge base
        project,
        "run_units",
        ({"unit_id": unit, "case_ids": group, "document_ids": [*documents[:4], unit]} for unit, group in names.items()),
    )
    project.write("many/benchmark.json", json.dumps({"evaluators": ["beir_ndcg@1", "beir_mrr@3"]}))
    project.write("r.py", NOTING + recipe)
    return ids


def _write_lines(project: Project, name: str, rows: Iterable[dict[str, Any]]) -> None:
    project.write(f"many/{name}.jsonl", "".join(f"{json.dumps(row)}\n" for row in rows))


def noted(project: Project, event: str) -> list[str]:
    """Return what was noted of one event, in order: names of knowledge bases, or queries."""
    return [name for kind, name, _ in notes(project) if kind == event]


def notes(project: Project) -> list[tuple[str, str, int]]:
    """Return all notes: event, name, process id."""
    path = project.path / "notes.txt"
    lines = path.read_text().splitlines() if path.exists() else []
    split = ((line.split(" ")[0], " ".join(line.split(" ")[1:-1]), int(line.rpartition(" ")[2])) for line in lines)
    return [(kind, name.removeprefix("query "), pid) for kind, name, pid in split]


def forget_notes(project: Project) -> None:
    """Begin with an empty page."""
    (project.path / "notes.txt").unlink(missing_ok=True)


def at_once(project: Project) -> int:
    """Return how many queries were under way at once at most, in all processes together."""
    most = now = 0
    for kind, _, _ in notes(project):
        now += (kind == "ask") - (kind == "answer")
        most = max(most, now)
    return most


def started(project: Project, *args: str) -> subprocess.Popen[bytes]:
    """Start a run in a process group of its own, which can be sent signals; it writes to ``output.txt``."""
    command = [sys.executable, "-m", "pytest", "-p", "heta", *project.spread, *EVALUATION, *args]
    with (project.path / "output.txt").open("wb") as output:
        return subprocess.Popen(
            command, cwd=project.path, stdout=output, stderr=subprocess.STDOUT, start_new_session=True
        )


def ran(result: pytest.RunResult) -> str:
    """Return the output of a run that did not crash."""
    text = "\n".join([*result.outlines, *result.errlines])
    assert "INTERNALERROR" not in text, text
    return text
