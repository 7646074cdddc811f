"""Queries of a process run ahead of their items, so many at once, each within its time."""

from __future__ import annotations

import pytest

from tests.plugin.noting import EVALUATION, SYNCHRONOUS, at_once, noted, ran, write_noting
from tests.plugin.project import Project, statuses


def run(project: Project, *args: str) -> pytest.RunResult:
    """Run the evaluation."""
    result = project.run(*EVALUATION, *args)
    ran(result)
    return result


@pytest.mark.parametrize("kind", ["", SYNCHRONOUS], ids=["async", "sync"])
@pytest.mark.parametrize(("args", "most"), [((), 8), (("--heta-concurrency=3",), 3), (("--heta-concurrency=1",), 1)])
def test_so_many_queries_are_under_way_at_once(project: Project, kind: str, args: tuple[str, ...], most: int) -> None:
    """Eight, or as many as the option says: of a synchronous recipe, which runs in threads, as of another."""
    write_noting(project, cases=24, recipe=f"{kind}SECONDS = 0.02\n")
    run(project, *args).assert_outcomes(passed=24)
    assert at_once(project) == most
    assert project.report().metadata["concurrency"] == most


@pytest.mark.parametrize("kind", ["", SYNCHRONOUS], ids=["async", "sync"])
def test_a_recipe_can_say_that_it_bears_one_query_at_once(project: Project, kind: str) -> None:
    """Whatever the option says."""
    write_noting(project, cases=10, recipe=f"{kind}SECONDS = 0.005\nrecipe.max_concurrency = 1\n")
    run(project, "--heta-concurrency=8").assert_outcomes(passed=10)
    assert at_once(project) == 1
    assert project.report().metadata["concurrency"] == 1


HANGING = """
import time
ask = Base.query

async def query(self, text, **options):
    if text.endswith("-c3"):
        note("ask", text)
        await asyncio.sleep(100)
    return await ask(self, text, **options)

Base.query = query
"""


def test_a_query_that_takes_too_long_is_an_error_of_its_case(spread: Project) -> None:
    """The others are not held up, and it is tried again as often as any error that may pass."""
    write_noting(spread, cases=10, recipe=HANGING)
    result = run(spread, "--heta-timeout=0.1")
    result.assert_outcomes(passed=9, errors=1)
    found = statuses(spread.report())
    assert [case_id for case_id, status in found.items() if status == "errored"] == ["u0-c3"]
    (error,) = [case.error for case in spread.report().cases if case.error]
    assert (error.message, error.retryable, error.attempts) == ("no answer within 0.1 s", True, 4)
    assert noted(spread, "ask").count("u0-c3") == 4
    assert "no answer within 0.1 s (after 4 tries)" in ran(result)
