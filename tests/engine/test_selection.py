"""Which cases are asked: stable samples, the first ones, or those of given ids."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_heta.engine.plan import PlannedUnit
from pytest_heta.engine.selection import Selection
from pytest_heta.errors import UnknownNameError, UsageError
from pytest_heta.records import BenchmarkCase, BenchmarkRunUnit


def _units(*sizes: int) -> tuple[PlannedUnit, ...]:
    """Units u0, u1, … of such many cases, of which every third is of the kind ``rare``."""
    return tuple(
        _unit(f"u{number}", [f"u{number}-{place}" for place in range(size)]) for number, size in enumerate(sizes)
    )


def _unit(name: str, ids: Iterable[str]) -> PlannedUnit:
    cases = (
        BenchmarkCase(case_id=case_id, query="q", labels={"kind": "common" if place % 3 else "rare"})
        for place, case_id in enumerate(ids)
    )
    return PlannedUnit(BenchmarkRunUnit(unit_id=name), tuple(cases))


def _ids(units: Iterable[PlannedUnit]) -> list[str]:
    return [case.case_id for unit in units for case in unit.cases]


def test_by_default_all_is_taken() -> None:
    """And a report has nothing to record."""
    units = _units(3, 2)
    assert Selection().apply(units) == units
    assert Selection().manifest == {}


def test_the_first_cases_are_taken_over_units() -> None:
    """A unit without cases is left out."""
    chosen = Selection(limit=4).apply(_units(3, 2, 2))
    assert [(unit.unit.unit_id, len(unit.cases)) for unit in chosen] == [("u0", 3), ("u1", 1)]


def test_cases_are_taken_by_id() -> None:
    """In the order of the plan, whatever the order of the ids."""
    assert _ids(Selection(case_ids=("u1-1", "u0-2")).apply(_units(3, 2))) == ["u0-2", "u1-1"]
    with pytest.raises(UsageError, match="none of the 5 cases has the id 'u1-9'; there is u1-"):
        Selection(case_ids=("u1-9",)).apply(_units(3, 2))


def test_a_sample_is_pinned() -> None:
    """The same ids in every version and on every machine: those with the lowest sha256."""
    assert sorted(_ids(Selection(sample=3).apply(_units(10)))) == ["u0-1", "u0-6", "u0-7"]


@given(st.integers(1, 40), st.integers(1, 40), st.sampled_from([None, "unit", "kind"]), st.randoms())
def test_samples_nest_and_do_not_depend_on_the_order(
    one: int, two: int, by: str | None, shuffle: random.Random
) -> None:
    """A larger sample holds a smaller one; the plan's order gives the order of the cases and nothing else."""
    units = list(_units(20, 3, 9))
    small, large = (
        set(_ids(Selection(sample=size, stratify=by).apply(units))) for size in (min(one, two), max(one, two))
    )
    assert small <= large
    assert len(small) == min(one, two, 32)
    shuffled = [PlannedUnit(unit.unit, tuple(shuffle.sample(unit.cases, len(unit.cases)))) for unit in units]
    shuffle.shuffle(shuffled)
    assert set(_ids(Selection(sample=min(one, two), stratify=by).apply(shuffled))) == small


@pytest.mark.parametrize("size", [8, 16, 40, 80])
def test_a_stratified_sample_keeps_the_shares(size: int) -> None:
    """Each unit and each kind has its share of the sample, to within one case."""
    units = _units(80, 60, 20)
    by_unit = {unit.unit.unit_id: len(unit.cases) for unit in Selection(sample=size, stratify="unit").apply(units)}
    for name, share in (("u0", 80 / 160), ("u1", 60 / 160), ("u2", 20 / 160)):
        assert abs(by_unit[name] - size * share) <= 1
    chosen = Selection(sample=size, stratify="kind").apply(units)
    kinds = Counter(case.labels["kind"] for unit in chosen for case in unit.cases)
    rare = sum(case.labels["kind"] == "rare" for unit in units for case in unit.cases)
    assert abs(kinds["rare"] - size * rare / 160) <= 1


def test_a_case_of_several_units_is_one_case() -> None:
    """It is chosen in all of them, and counts once."""
    units = [_unit("u0", ["a", "b", "c"]), _unit("u1", ["c", "b", "a"])]
    first, second = Selection(sample=2, stratify="unit").apply(units)
    assert {case.case_id for case in first.cases} == {case.case_id for case in second.cases}
    assert len(first.cases) == 2


def test_rules_follow_each_other() -> None:
    """Ids, then the sample of these, then the first of that."""
    units = _units(10, 10)
    ids = tuple(f"u1-{place}" for place in range(5))
    sampled = _ids(Selection(sample=3, case_ids=ids).apply(units))
    assert len(sampled) == 3
    assert set(sampled) <= set(ids)
    assert _ids(Selection(sample=3, limit=2, case_ids=ids).apply(units)) == sampled[:2]


def test_a_report_can_record_a_selection() -> None:
    """What was chosen by, in JSON, and nothing that was not."""
    selection = Selection(sample=9, stratify="unit", case_ids=("a", "b"))
    assert selection.manifest == {"sample": 9, "stratify": "unit", "case_ids": ["a", "b"]}


def test_a_selection_that_makes_no_sense_is_refused() -> None:
    """Numbers begin at 1, a label must exist, and stratifying needs a sample."""
    with pytest.raises(UsageError, match="sample must be a number of cases from 1, not 0"):
        Selection(sample=0)
    with pytest.raises(UsageError, match="limit must be a number of cases from 1, not -1"):
        Selection(limit=-1)
    with pytest.raises(UsageError, match="stratifying by 'kind' needs a number of cases to sample"):
        Selection(stratify="kind")
    with pytest.raises(UnknownNameError, match=r"unknown label to stratify by 'kin'.*\(known: unit, kind\)"):
        Selection(sample=2, stratify="kin").apply(_units(3))
