"""What will be asked: the checked cases and run units of a benchmark, read without touching a document."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass
from typing import TypeVar

from pytest_heta.engine.scoring import check_gold
from pytest_heta.engine.selection import ALL_CASES, Selection
from pytest_heta.errors import DataError
from pytest_heta.integrations import as_benchmark
from pytest_heta.protocols import BenchmarkProtocol
from pytest_heta.records import (
    BenchmarkCase,
    BenchmarkManifest,
    BenchmarkRunUnit,
    BenchmarkWorkspace,
    PreparedBenchmark,
)

T = TypeVar("T")
_NAMED = 5


@dataclass(frozen=True)
class PlannedUnit:
    """One run unit with its cases in order."""

    unit: BenchmarkRunUnit
    cases: tuple[BenchmarkCase, ...]


@dataclass(frozen=True)
class Plan:
    """A prepared benchmark and everything that will be asked of it.

    ``case_count``, ``unit_count`` and ``all_cases``, each case once and in the benchmark's order, are before any
    selection.
    """

    benchmark: BenchmarkProtocol
    prepared: PreparedBenchmark
    units: tuple[PlannedUnit, ...]
    case_count: int
    unit_count: int
    all_cases: tuple[BenchmarkCase, ...]

    @property
    def manifest(self) -> BenchmarkManifest:
        """What the benchmark is."""
        return self.benchmark.manifest


async def make_plan(
    benchmark: BenchmarkProtocol, workspace: BenchmarkWorkspace, selection: Selection = ALL_CASES
) -> Plan:
    """Prepare the benchmark, read its cases and run units, and take what ``selection`` says.

    Raises:
        DataError: for no cases, duplicate case or unit ids, ids in a unit that no case has, cases in no unit.
        UsageError: for a selection that fits no case.

    """
    benchmark = as_benchmark(benchmark)
    prepared = await benchmark.prepare(workspace)
    name = benchmark.manifest.name
    cases = await _gather(benchmark.cases(prepared))
    units = await _gather(benchmark.run_units(prepared))
    if not cases:
        raise DataError(f"benchmark {name} has no cases")
    refuse_duplicates(name, "case", (case.case_id for case in cases))
    refuse_duplicates(name, "run unit", (unit.unit_id for unit in units))
    for case in cases:
        check_gold(case)
    planned = _assign(name, cases, units)
    case_count = sum(len(unit.cases) for unit in planned)
    return Plan(benchmark, prepared, selection.apply(planned), case_count, len(planned), tuple(cases))


async def _gather(items: AsyncIterator[T]) -> list[T]:
    return [item async for item in items]


def refuse_duplicates(benchmark: str, kind: str, ids: Iterable[str]) -> None:
    """Raise DataError where an id occurs twice."""
    twice = [key for key, count in Counter(ids).items() if count > 1]
    if twice:
        raise DataError(f"benchmark {benchmark} has duplicate {kind} ids: {name_some(twice)}")


def name_some(ids: Iterable[str]) -> str:
    """Name the first few ids and count the rest."""
    names = list(ids)
    rest = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(repr(name) for name in names[:_NAMED]) + rest


def _assign(name: str, cases: list[BenchmarkCase], units: list[BenchmarkRunUnit]) -> list[PlannedUnit]:
    by_id = {case.case_id: case for case in cases}
    planned = []
    for unit in units:
        unknown = [case_id for case_id in unit.case_ids if case_id not in by_id]
        if unknown:
            raise DataError(f"benchmark {name}: run unit {unit.unit_id!r} names unknown cases: {name_some(unknown)}")
        refuse_duplicates(f"{name}, run unit {unit.unit_id!r},", "case", unit.case_ids)
        planned.append(PlannedUnit(unit, tuple(by_id[case_id] for case_id in unit.case_ids or by_id)))
    homeless = by_id.keys() - {case.case_id for unit in planned for case in unit.cases}
    if homeless:
        raise DataError(f"benchmark {name} has cases in no run unit: {name_some(sorted(homeless))}")
    return planned
