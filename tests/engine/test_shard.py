"""Shards divide the cases of a run by their ids alone."""

from __future__ import annotations

import random
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_heta.engine.plan import PlannedUnit
from pytest_heta.engine.shard import Shard, in_shard, plan_ids
from pytest_heta.errors import UsageError
from pytest_heta.records import BenchmarkRunUnit
from tests.engine.toys import cases, ids

UNIT = PlannedUnit(BenchmarkRunUnit(unit_id="u"), cases(40))


@given(st.text(), st.integers(1, 20))
def test_every_case_is_in_exactly_one_shard(case_id: str, count: int) -> None:
    """Whatever its id."""
    assert sum(in_shard(case_id, index, count) for index in range(1, count + 1)) == 1


def test_membership_is_written_in_stone() -> None:
    """sha256 of the UTF-8 id as a big-endian number, modulo the count: the same on every machine and in every version.

    The expected numbers come from ``printf '%s' ID | sha256sum``: …ba015ad, …c2c47c6 and …fb4b7f3 modulo 16.
    """
    assert [in_shard("abc", index, 16) for index in range(1, 17)].index(True) == 0xAD % 16
    found = subprocess.run(
        [sys.executable, "-c", "from pytest_heta.engine.shard import *; print(in_shard('Wärme', 2, 5))"],
        env={"PYTHONHASHSEED": "7"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert found.stdout.strip() == str(in_shard("Wärme", 2, 5))


def test_order_and_company_do_not_matter() -> None:
    """A case stays in its shard when others come, go or change places."""
    shuffled = list(UNIT.cases)
    random.Random(1).shuffle(shuffled)
    one = Shard(2, 3).apply([UNIT])[0]
    other = Shard(2, 3).apply([PlannedUnit(UNIT.unit, tuple(shuffled[:30]))])[0]
    assert set(ids(other.cases)) == set(ids(one.cases)) & set(ids(shuffled[:30]))
    assert ids(one.cases) == [case_id for case_id in ids(UNIT.cases) if case_id in set(ids(one.cases))]


def test_shards_are_of_about_the_same_size() -> None:
    """No machine has most of the work."""
    sizes = [sum(in_shard(f"case {n}", index, 5) for n in range(5000)) for index in range(1, 6)]
    assert sum(sizes) == 5000
    assert all(900 < size < 1100 for size in sizes)


def test_a_unit_that_has_no_case_in_the_shard_is_left_out() -> None:
    """Its knowledge base need not be built."""
    lonely = PlannedUnit(BenchmarkRunUnit(unit_id="lonely"), UNIT.cases[:1])
    homes = [Shard(index, 4) for index in range(1, 5) if Shard(index, 4).apply([lonely])]
    assert len(homes) == 1
    assert homes[0].holds("c0")


def test_the_plan_of_all_shards_is_noted_by_ids() -> None:
    """As JSON has it."""
    assert plan_ids([PlannedUnit(UNIT.unit, UNIT.cases[:2])]) == [["u", ["c0", "c1"]]]


@pytest.mark.parametrize("text", ["2/5", " 2 / 5 "])
def test_a_shard_is_written_as_index_and_count(text: str) -> None:
    """And tells itself so."""
    assert Shard.parse(text) == Shard(2, 5)
    assert str(Shard.parse(text)) == "2/5"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("2", "cannot read the shard '2': write INDEX/COUNT, such as 2/5"),
        ("-1/5", "cannot read the shard"),
        ("a/b", "cannot read the shard"),
        ("0/5", "there is no shard 0/5: the first number must be from 1 to the second"),
        ("6/5", "there is no shard 6/5"),
        ("0/0", "there is no shard 0/0"),
    ],
)
def test_another_shard_is_refused(text: str, message: str) -> None:
    """It says what to write."""
    with pytest.raises(UsageError, match=message):
        Shard.parse(text)
