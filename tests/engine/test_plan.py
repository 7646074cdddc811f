"""A plan holds what a benchmark says, or says what is wrong with it."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from pytest_heta.engine.plan import Plan, make_plan, name_some
from pytest_heta.engine.selection import Selection
from pytest_heta.errors import DataError
from pytest_heta.records import BenchmarkRunUnit, BenchmarkWorkspace
from tests.engine.toys import ToyBenchmark, case, cases, ids


def plan(limit: int | None = None, **parts: Any) -> Plan:
    """Plan a toy benchmark."""
    return asyncio.run(make_plan(ToyBenchmark(**parts), BenchmarkWorkspace.under(Path("toys")), Selection(limit=limit)))


def unit(unit_id: str, *case_ids: str) -> BenchmarkRunUnit:
    """A unit with these cases."""
    return BenchmarkRunUnit(unit_id=unit_id, case_ids=case_ids)


def test_a_unit_without_case_ids_has_all_cases() -> None:
    """In the order of the benchmark, while named ones come in the order of the unit; documents are not read."""
    benchmark = ToyBenchmark(cases=cases(3), units=(unit("all"), unit("two", "c2", "c0")))
    found = asyncio.run(make_plan(benchmark, BenchmarkWorkspace.under(Path("toys"))))
    assert [ids(one.cases) for one in found.units] == [["c0", "c1", "c2"], ["c2", "c0"]]
    assert found.case_count == 5
    assert benchmark.documents_read == 0


def test_a_limit_takes_the_first_cases() -> None:
    """Over all units; a unit that is left without cases is not planned, and the count is that of all."""
    found = plan(limit=3, cases=cases(5), units=(unit("a", "c0", "c1"), unit("b", "c2", "c3"), unit("c", "c4")))
    assert [(one.unit.unit_id, ids(one.cases)) for one in found.units] == [("a", ["c0", "c1"]), ("b", ["c2"])]
    assert (found.case_count, ids(found.all_cases)) == (5, ["c0", "c1", "c2", "c3", "c4"])


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"cases": ()}, "benchmark toy has no cases"),
        ({"cases": (case("a"), case("b"), case("a"))}, "benchmark toy has duplicate case ids: 'a'"),
        ({"units": (unit("u"), unit("u"))}, "benchmark toy has duplicate run unit ids: 'u'"),
        ({"units": (unit("u", "c0", "x"),)}, "benchmark toy: run unit 'u' names unknown cases: 'x'"),
        ({"units": (unit("u", "c0", "c0"),)}, "benchmark toy, run unit 'u', has duplicate case ids: 'c0'"),
        ({"cases": cases(2), "units": (unit("u", "c0"),)}, "benchmark toy has cases in no run unit: 'c1'"),
        ({"units": ()}, "benchmark toy has cases in no run unit: 'c0'"),
    ],
)
def test_a_benchmark_that_contradicts_itself_is_refused(parts: dict[str, Any], message: str) -> None:
    """One message that names benchmark and ids."""
    with pytest.raises(DataError) as error:
        plan(**parts)
    assert str(error.value) == message


def test_many_ids_are_counted_not_listed() -> None:
    """Five are named."""
    assert name_some("abcde") == "'a', 'b', 'c', 'd', 'e'"
    assert name_some("abcdefg") == "'a', 'b', 'c', 'd', 'e' and 2 more"
