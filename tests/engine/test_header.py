"""The header of a journal changes with everything that changes its results."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from pytest_heta.engine.config import RunnerConfig
from pytest_heta.engine.header import journal_header
from pytest_heta.engine.journal import JournalHeader, explain_difference
from pytest_heta.evaluators.ranking import BeirRetrievalMetric
from tests.engine.toys import MODE, SavingRecipe, case, evaluation_of, plan_of


def header(parts: dict[str, Any] | None = None, recipe: Any = None, **fields: Any) -> JournalHeader:
    """Return the header of a toy evaluation."""

    async def make() -> JournalHeader:
        plan = await plan_of(**(parts or {}))
        return journal_header(evaluation_of(plan, recipe or SavingRecipe(), **fields), {"limit": 3})

    return asyncio.run(make())


def test_the_header_says_what_is_evaluated() -> None:
    """And is the same for the same evaluation, in any process."""
    found = header()
    told = found.model_dump(exclude={"benchmark_digest", "recipe_fingerprint"})
    assert told == {
        "journal": 1,
        "benchmark": "toy@test",
        "recipe": "toy",
        "modes": (MODE,),
        "evaluators": {"beir_recall@2": BeirRetrievalMetric("recall", 2).definition},
        "top_k": None,
        "depth": 2,
        "selection": {"limit": 3},
    }
    assert header() == found


class Other(SavingRecipe):
    """Builds something else."""

    def fingerprint(self) -> str:
        """Differ."""
        return "saving 2"


@pytest.mark.parametrize(
    ("change", "difference"),
    [
        ({"parts": {"cases": (case("c0", query="other?"),)}}, "benchmark digest"),
        ({"parts": {"cases": (case("c0", "d2"),)}}, "benchmark digest"),
        ({"recipe": Other()}, "recipe fingerprint"),
        ({"evaluators": (BeirRetrievalMetric("recall", 2, drop_query_id=False),)}, "evaluators: beir_recall@2 differ"),
        ({"config": RunnerConfig(top_k=2)}, "top k: None before, 2 now"),
    ],
)
def test_whatever_changes_results_changes_the_header(change: dict[str, Any], difference: str) -> None:
    """A query, a gold label, the recipe, a metric's definition, the depth."""
    differences = explain_difference(header(), header(**change))
    assert len(differences) == 1
    assert differences[0].startswith(difference)


def test_how_a_run_is_carried_out_does_not_matter() -> None:
    """A resumed run may be faster."""
    assert header(config=RunnerConfig(concurrency=1, timeout=5, attempts=1, keep_texts=True)) == header()
