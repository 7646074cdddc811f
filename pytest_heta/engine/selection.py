"""Which of the planned cases are asked: chosen by id, a stable sample, or the first ones."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from hashlib import sha256
from itertools import groupby
from typing import TYPE_CHECKING, Any

from pytest_heta.errors import UnknownNameError, UsageError

if TYPE_CHECKING:
    from pytest_heta.engine.plan import PlannedUnit

UNIT = "unit"
"""What to stratify by to take from each run unit its share; every other name is that of a label."""


@dataclass(frozen=True)
class Selection:
    """What to take of a plan: the cases of these ids, of them a sample, of that the first ones; by default, all.

    Attributes:
        sample: how many cases; which ones depends on their ids alone, so that the order of the plan does not matter and
            a larger sample contains a smaller one of the same benchmark.
        stratify: the label, or ``unit``, of whose values the sample holds the same shares as the plan, to within one
            case each; a case without the label belongs to a group of such cases.
        limit: how many cases from the beginning of the plan.
        case_ids: the ids of cases as the benchmark has them; none stands for all.

    Raises:
        UsageError: A number is not positive, or there is something to stratify by and no sample.
    """

    sample: int | None = None
    stratify: str | None = None
    limit: int | None = None
    case_ids: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in ("sample", "limit"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise UsageError(f"{name} must be a number of cases from 1, not {value}")
        if self.stratify is not None and self.sample is None:
            raise UsageError(f"stratifying by {self.stratify!r} needs a number of cases to sample")

    @property
    def manifest(self) -> dict[str, Any]:
        """What a report records of it: nothing where all cases are taken."""
        values = {rule: getattr(self, rule) for rule in RULES}
        return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items() if value}

    def apply(self, units: Iterable[PlannedUnit]) -> tuple[PlannedUnit, ...]:
        """Return the units with the chosen cases, in the order of the plan, without those that have none left.

        A case that several units ask is one case, chosen or left in all of them.

        Raises:
            UsageError: No case has one of the ids.
            UnknownNameError: No case has the label to stratify by.
        """
        planned = tuple(units)
        if self.case_ids:
            planned = _with_cases(planned, self._known_ids(planned))
        if self.sample is not None:
            planned = _with_cases(planned, self._sampled_ids(planned, self.sample))
        return planned if self.limit is None else _first(planned, self.limit)

    def _known_ids(self, units: Sequence[PlannedUnit]) -> set[str]:
        known = {case.case_id for unit in units for case in unit.cases}
        for case_id in self.case_ids:
            if case_id not in known:
                near = difflib.get_close_matches(case_id, known, n=3) or sorted(known)[:3]
                raise UsageError(f"none of the {len(known)} cases has the id {case_id!r}; there is {', '.join(near)}")
        return set(self.case_ids)

    def _sampled_ids(self, units: Sequence[PlannedUnit], count: int) -> set[str]:
        strata = _strata(units, self.stratify)
        ordered = sorted(strata, key=lambda case_id: (strata[case_id], _draw(case_id)))
        ranks: dict[str, tuple[Fraction, bytes]] = {}
        for _, group in groupby(ordered, key=strata.__getitem__):
            members = list(group)
            # Webster's divisor method: the share of a group never falls as the sample grows, so that samples nest.
            for place, case_id in enumerate(members):
                ranks[case_id] = (Fraction(2 * place + 1, 2 * len(members)), _draw(case_id))
        return set(sorted(ranks, key=ranks.__getitem__)[:count])


RULES = tuple(field.name for field in fields(Selection))
"""The names under which a report records a selection."""

ALL_CASES = Selection()
"""The selection that leaves nothing out."""


def _draw(case_id: str) -> bytes:
    """Return the lot of a case: the lower, the sooner it is in a sample."""
    return sha256(case_id.encode("utf-8", "surrogatepass")).digest()


def _strata(units: Sequence[PlannedUnit], by: str | None) -> dict[str, str]:
    """Return the group of each case; that of its first unit where several ask it."""
    found: dict[str, str] = {}
    label_names: set[str] = set()
    for unit in units:
        for case in unit.cases:
            label_names |= case.labels.keys()
            found.setdefault(case.case_id, unit.unit.unit_id if by == UNIT else _group(case.labels, by))
    if by not in (None, UNIT) and by not in label_names:
        raise UnknownNameError("label to stratify by", str(by), (UNIT, *sorted(label_names)))
    return found


def _group(labels: Mapping[str, Any], by: str | None) -> str:
    return "" if by is None else repr(labels.get(by))


def _with_cases(units: Iterable[PlannedUnit], chosen: set[str]) -> tuple[PlannedUnit, ...]:
    kept = (replace(unit, cases=tuple(case for case in unit.cases if case.case_id in chosen)) for unit in units)
    return tuple(unit for unit in kept if unit.cases)


def _first(units: Iterable[PlannedUnit], limit: int) -> tuple[PlannedUnit, ...]:
    kept: list[PlannedUnit] = []
    for unit in units:
        if limit > 0:
            kept.append(replace(unit, cases=unit.cases[:limit]))
            limit -= len(unit.cases)
    return tuple(kept)
