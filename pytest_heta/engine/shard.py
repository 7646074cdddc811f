"""Shards: the cases of a run divided over several machines, by nothing but their ids."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any

from pytest_heta.engine.plan import PlannedUnit
from pytest_heta.errors import UsageError

_TEXT = re.compile(r"\s*([0-9]+)\s*/\s*([0-9]+)\s*")

SHARD, PLAN = "shard", "plan"
"""Where a run's selection names its shard, and its report's metadata the plan of all shards."""

PlanIds = list[tuple[str, list[str]]]
"""The ids of a plan: of each unit, and of its cases, in order."""


def in_shard(case_id: str, index: int, count: int) -> bool:
    """Tell whether a case belongs to shard ``index`` of ``count``, counted from 1.

    It depends on these three alone, so that order, selection and machine do not matter.
    """
    digest = sha256(case_id.encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest, "big") % count == index - 1


@dataclass(frozen=True)
class Shard:
    """Shard ``index`` of ``count``, written ``2/5``.

    Raises:
        UsageError: there is no such shard.
    """

    index: int
    count: int

    def __post_init__(self) -> None:
        if not 1 <= self.index <= self.count:
            raise UsageError(f"there is no shard {self}: the first number must be from 1 to the second")

    @classmethod
    def parse(cls, text: str) -> Shard:
        """Read ``2/5``.

        Raises:
            UsageError: the text has another form, or there is no such shard.
        """
        match = _TEXT.fullmatch(text)
        if match is None:
            raise UsageError(f"cannot read the shard {text!r}: write INDEX/COUNT, such as 2/5")
        return cls(int(match[1]), int(match[2]))

    def __str__(self) -> str:
        return f"{self.index}/{self.count}"

    def holds(self, case_id: str) -> bool:
        """Tell whether a case belongs to this shard."""
        return in_shard(case_id, self.index, self.count)

    def apply(self, units: Iterable[PlannedUnit]) -> tuple[PlannedUnit, ...]:
        """Return the units with the cases of this shard, in the order of the plan, without those that have none."""
        kept = (replace(unit, cases=tuple(case for case in unit.cases if self.holds(case.case_id))) for unit in units)
        return tuple(unit for unit in kept if unit.cases)


def plan_ids(units: Iterable[PlannedUnit]) -> list[list[Any]]:
    """Return what each shard's report notes of the whole plan: ``[[unit id, [case id, …]], …]``, as JSON has it.

    From it a merge knows the order of the cases and which ones are missing.
    """
    return [[unit.unit.unit_id, [case.case_id for case in unit.cases]] for unit in units]
