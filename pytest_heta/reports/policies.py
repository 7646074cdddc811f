"""Policies: how far a run may fall below its baseline, and the verdict on one comparison."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from pytest_heta.errors import UsageError
from pytest_heta.reports.paired import LEVEL, PairedResult
from pytest_heta.reports.slices import Slice
from pytest_heta.reports.text import number, tell_apart
from pytest_heta.reports.thresholds import finite, parse_clause, resolve_subject, short_name

PolicyKind = Literal["max_drop", "significant", "non_inferior"]

_DECIMALS = 9  # a baseline's values have six digits: what comes after these is the rounding of binary fractions

_WORDS: dict[PolicyKind, str] = {
    "max_drop": "drop <= {}",
    "significant": "no significant drop > {}",
    "non_inferior": "drop surely <= {}",
}


@dataclass(frozen=True)
class Policy:
    """How far a metric's mean may drop below that of the baseline, over the cases that both have.

    ``max_drop`` fails where it drops further than ``amount``; ``significant`` only where that drop is significant as
    well (at 5 %, Holm's correction over all such gates of the run); ``non_inferior`` unless the 95 % interval excludes
    a drop larger than ``amount``. ``relative`` amounts are shares of the baseline's mean. ``mode`` None means every
    mode of the run; ``where`` compares on a slice of the cases.
    """

    kind: PolicyKind
    metric: str
    amount: float
    relative: bool = False
    mode: str | None = None
    where: Slice | None = None

    @property
    def subject(self) -> str:
        """What must not drop, in short."""
        return short_name(self.metric) + (f" where {self.where.text}" if self.where else "")

    @property
    def text(self) -> str:
        """The policy in short: ``ndcg@10 drop <= 2%``."""
        amount = f"{number(round(self.amount * 100, 9))}%" if self.relative else number(self.amount)
        return f"{self.subject} {_WORDS[self.kind].format(amount)}"

    def allowed(self, before: float) -> float:
        """Return the largest drop that is allowed from a mean of ``before``."""
        return round(self.amount * abs(before), _DECIMALS) if self.relative else self.amount

    def measured(self, change: PairedResult) -> float:
        """Return the drop that is held against the allowed one; negative where the mean has risen."""
        return round(-(change.low if self.kind == "non_inferior" else change.difference), _DECIMALS)

    def holds(self, change: PairedResult, p: float) -> bool:
        """Judge a comparison, exactly; ``p`` is its p-value after the correction for several."""
        within = self.measured(change) <= self.allowed(change.before)
        return within or (self.kind == "significant" and p > LEVEL)

    def verdict(self, change: PairedResult, p: float) -> str:
        """Say how the comparison stands to the policy."""
        measured, limit = self.measured(change), self.allowed(change.before)
        drop, allowed = tell_apart(measured, limit)
        found = f"a drop of {'up to ' if self.kind == 'non_inferior' else ''}{drop}" if measured > 0 else "no drop"
        place = " is in the 95 % interval" if self.kind == "non_inferior" else ""
        bound = f", {'at most' if measured <= limit else 'more than'} the allowed {allowed}" if measured > 0 else ""
        test = f", {'' if p <= LEVEL else 'not '}significant (p = {p:.4f})" if self.kind == "significant" else ""
        return f"{self.subject} went from {change.before:.3f} to {change.after:.3f}: {found}{place}{bound}{test}"


def parse_policy(text: str, kind: PolicyKind) -> Policy:
    """Read ``METRIC=AMOUNT`` or ``METRIC=AMOUNT%``, with a mode and a slice as a threshold may have them.

    Raises:
        UsageError: The text has another form, or its amount is negative or no finite number.
    """
    clause = parse_clause(text)
    amount = finite(clause.amount.removesuffix("%")) if clause else None
    if clause is None or amount is None or amount < 0:
        raise UsageError(
            f"cannot read the allowed drop {text!r}: write METRIC=AMOUNT or METRIC=AMOUNT% with a number from 0, "
            f"such as ndcg@10=0.01 or vector_search.ndcg@10=2%, and for a slice METRIC where LABEL=MEMBER = AMOUNT"
        )
    relative = clause.amount.endswith("%")
    return Policy(kind, clause.metric, amount / 100 if relative else amount, relative, clause.mode, clause.where)


def resolve_policies(policies: Sequence[Policy], metrics: Sequence[str], modes: Sequence[str]) -> tuple[Policy, ...]:
    """Return the policies with full names, each once. To be called before the run.

    Raises:
        UnknownNameError: The metric or the mode does not exist.
        UsageError: The metric's name is ambiguous.
    """
    resolved = []
    for policy in policies:
        mode, metric = resolve_subject(policy.mode, policy.metric, metrics, modes)
        resolved.append(replace(policy, mode=mode, metric=metric))
    return tuple(dict.fromkeys(resolved))
