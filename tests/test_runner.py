"""A script gets the report that pytest would write, whatever recipe it evaluates."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from pytest_heta import BeirBenchmark, BeirRetrievalMetric, BenchmarkRunner
from pytest_heta.engine.config import RunnerConfig
from pytest_heta.engine.selection import Selection
from pytest_heta.errors import DataError, RecipeError, UnknownNameError
from pytest_heta.keys import report_key
from pytest_heta.knowledge.store import LocalObjectStore
from pytest_heta.records import BenchmarkRunUnit, BenchmarkWorkspace, EvaluationReport, QueryResponse, QueryResult
from tests.benchmarks.beir_samples import write_beir
from tests.engine.toys import MODE, SavingRecipe, ToyBenchmark, ToyKnowledgeBase, ToyRecipe, cases, response


def run(folder: Path, recipe: Any, benchmark: Any = None, **given: Any) -> EvaluationReport:
    """Evaluate a recipe on a toy benchmark, with all folders below one."""
    return asyncio.run(
        BenchmarkRunner().run(
            benchmark=benchmark or ToyBenchmark(cases=cases(3)),
            recipe=recipe,
            knowledge_base_name="toy_v1",
            workspace=BenchmarkWorkspace.under(folder),
            **given,
        )
    )


class WordRecipe:
    """Ranks documents by the words that they share with the query; everything in it is synchronous."""

    available_queries = ("vector_search",)
    manifest = {"name": "words"}  # noqa: RUF012 - as a user would write it

    async def build(self, *, name: str, objects: Any, source_keys: Sequence[str], progress: Any = None) -> Any:
        """Read the documents."""
        return WordKnowledgeBase({key: (await objects.get(key)).decode() for key in source_keys})


class WordKnowledgeBase:
    """The documents in memory."""

    available_queries = ("vector_search",)

    def __init__(self, texts: dict[str, str]) -> None:
        self._words = {key: set(text.lower().replace("?", "").replace(".", "").split()) for key, text in texts.items()}

    def query(self, text: str, *, mode: str, top_k: int) -> QueryResponse:
        """Rank."""
        wanted = set(text.lower().replace("?", "").split())
        ranked = sorted(self._words, key=lambda key: -len(wanted & self._words[key]))
        hits = (QueryResult(id=f"{key}#0", source={"source_key": key}) for key in ranked[:top_k])
        return QueryResponse(mode=mode, results=tuple(hits))


def test_the_usage_of_the_protocol(tmp_path: Path) -> None:
    """A BEIR folder, a recipe, a name and a mode give a report with all standard metrics, kept where it belongs."""
    benchmark = BeirBenchmark(dataset="scifact", data_root=write_beir(tmp_path / "data"), download=False)
    report = run(tmp_path, WordRecipe(), benchmark, query_modes=("vector_search",))
    assert report.query_modes == ("vector_search",)
    assert len(report.metrics) == 25
    result = report.cases[0]
    assert (result.case_id, result.status) == ("q1", "finished")
    # "does it rain?" shares one word with d1, none with the others: gold d1 (1) leads, "a/b c" (2) stands second of
    # equals, and the gold document "gone" is not in the corpus.
    assert result.hits[0].document_id == "d1"
    assert report.score_summary["vector_search.beir_mrr@10"] == 1.0
    assert report.score_summary["vector_search.beir_recall@1"] == pytest.approx(1 / 3)
    assert report.score_summary["vector_search.beir_recall@10"] == pytest.approx(2 / 3)

    async def kept() -> bytes:
        objects = LocalObjectStore(BenchmarkWorkspace.under(tmp_path).output_dir / "objects")
        try:
            return await objects.get(report_key("toy_v1", report.report_id))
        finally:
            await objects.aclose()

    assert EvaluationReport.model_validate_json(asyncio.run(kept())) == report


def test_given_evaluators_replace_those_of_the_benchmark(tmp_path: Path) -> None:
    """And the depth of the queries follows them."""
    recipe = ToyRecipe()
    report = run(tmp_path, recipe, evaluators=(BeirRetrievalMetric("mrr", 1),))
    assert report.metrics == ("beir_mrr@1",)
    assert set(recipe.bases[0].depths) == {1}


def test_results_come_in_plan_order_with_all_counts(tmp_path: Path) -> None:
    """Units, then modes, then cases; a failed query and a failed build are cases that errored."""

    def make(name: str) -> ToyKnowledgeBase:
        if name == "toy_v1-b":
            raise ValueError("no index")
        return ToyKnowledgeBase(lambda text, top_k: 1 / 0 if "c1" in text else response("d0"))

    units = [BenchmarkRunUnit(unit_id=name) for name in ("a", "b")]
    report = run(tmp_path, ToyRecipe(make), ToyBenchmark(cases=cases(3), units=units))
    assert [(one.unit_id, one.case_id, one.status) for one in report.cases] == [
        ("a", "c0", "finished"),
        ("a", "c1", "errored"),
        ("a", "c2", "finished"),
        *(("b", f"c{place}", "errored") for place in range(3)),
    ]
    assert report.cases[1].error is not None
    assert report.cases[1].error.error_type == "ZeroDivisionError"
    counts = report.counts[f"{MODE}.beir_recall@2"]
    assert (counts.planned, counts.scored, counts.errored) == (6, 2, 4)
    assert report.score_summary[f"{MODE}.beir_recall@2"] == pytest.approx(2 / 6)
    assert [base.error is None for base in report.knowledge_bases] == [True, False]


def test_a_recipe_that_calls_sys_exit_fails_its_cases(tmp_path: Path) -> None:
    """In a build or in a query, synchronous or not, the run goes on and ends with a report."""

    class Leaving(ToyRecipe):
        def build(self, **_: Any) -> Any:
            sys.exit(1)

    def leave(text: str, top_k: int) -> Any:
        if "c1" in text:
            sys.exit(1)
        return response("d0")

    built = run(tmp_path, Leaving())
    assert [one.status for one in built.cases] == ["errored"] * 3
    asked = run(tmp_path, ToyRecipe(lambda name: ToyKnowledgeBase(leave)))
    assert [one.status for one in asked.cases] == ["finished", "errored", "finished"]
    assert asked.cases[1].error is not None
    assert "sys.exit(1)" in asked.cases[1].error.message


def test_a_search_function_is_a_recipe(tmp_path: Path) -> None:
    """It may be synchronous, and need not look at the documents."""

    def search(query: str, top_k: int) -> list[tuple[str, float]]:
        time.sleep(0.001)
        return [("d0", 1.0)]

    report = run(tmp_path, search, ToyBenchmark(cases=cases(40)))
    assert report.score_summary["search.beir_recall@2"] == 1.0
    assert report.latency["search"]["count"] == 40


def test_a_limit_takes_the_first_cases(tmp_path: Path) -> None:
    """Only they are asked."""
    recipe = ToyRecipe()
    report = run(tmp_path, recipe, config=RunnerConfig(selection=Selection(limit=2)))
    assert [one.case_id for one in report.cases] == ["c0", "c1"]
    assert sorted(recipe.bases[0].asked) == ["query c0", "query c1"]


def test_a_second_run_builds_nothing(tmp_path: Path) -> None:
    """The knowledge base comes from the cache of the workspace, and the scores are the same."""
    recipe = SavingRecipe()
    first, second = run(tmp_path, recipe), run(tmp_path, recipe)
    assert recipe.builds == 1
    assert [base.cached for base in (*first.knowledge_bases, *second.knowledge_bases)] == [False, True]
    assert first.score_summary == second.score_summary
    assert first.report_id != second.report_id


def test_all_knowledge_bases_are_closed(tmp_path: Path) -> None:
    """At the end of the run."""
    recipe = ToyRecipe()
    run(tmp_path, recipe)
    assert [base.closed for base in recipe.bases] == [1]


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"recipe": 5}, RecipeError),
        ({"recipe": ToyRecipe(), "query_modes": ("x",)}, UnknownNameError),
        ({"recipe": ToyRecipe(), "benchmark": ToyBenchmark(cases=())}, DataError),
    ],
)
def test_what_cannot_be_run_at_all_is_an_exception(tmp_path: Path, given: dict[str, Any], error: type) -> None:
    """And leaves no report."""
    with pytest.raises(error):
        run(tmp_path, **given)
    assert not list(tmp_path.rglob("objects"))
