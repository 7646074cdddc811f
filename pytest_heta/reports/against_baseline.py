"""A run against its baseline: whether they can be compared, what has changed, and the verdict of the policies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pytest_heta.records import EvaluationReport, GateResult
from pytest_heta.reports.baseline import Baseline, CaseKey, snapshot
from pytest_heta.reports.case_pairs import PairedCases, case_values
from pytest_heta.reports.paired import PairedResult, holm
from pytest_heta.reports.policies import Policy, resolve_policies
from pytest_heta.reports.quantities import cases_of
from pytest_heta.reports.slices import Slice, sliced_report
from pytest_heta.reports.text import listed, plural, some
from pytest_heta.reports.thresholds import short_name


@dataclass(frozen=True)
class WorseCase:
    """A case that lost ``drop`` > 0 in a metric whose gate failed."""

    unit_id: str
    case_id: str
    mode: str
    metric: str
    drop: float


@dataclass(frozen=True)
class BaselineComparison:
    """What came of holding a run against its baseline.

    ``changes`` holds each metric of each mode that both have. ``added`` and ``removed`` are cases that only the run and
    only the baseline has. ``worse`` holds the cases behind the gates that failed, worst first. ``notes`` say what a
    reader must know; where the comparison was refused, they and the one failed gate say why, and the rest is empty.
    """

    gates: tuple[GateResult, ...] = ()
    changes: tuple[tuple[str, str, PairedResult], ...] = ()
    added: tuple[CaseKey, ...] = ()
    removed: tuple[CaseKey, ...] = ()
    worse: tuple[WorseCase, ...] = ()
    notes: tuple[str, ...] = ()


def without_baseline(path: Path, *, required: bool) -> BaselineComparison:
    """Return the comparison of a run that has no baseline yet: it says so, and fails where one is required."""
    note = f"there is no baseline {path} yet, so nothing was compared: write it with --heta-update-baseline"
    return BaselineComparison(gates=(_failed("baseline exists", note),) if required else (), notes=(note,))


def compare_with_baseline(
    report: EvaluationReport, baseline: Baseline, policies: Sequence[Policy] = ()
) -> BaselineComparison:
    """Compare a run with its baseline on the cases that both have, and judge the policies.

    A baseline of another benchmark, other documents, metric definitions or gold labels is refused: one failed gate says
    what differs. A gate fails, whatever its value, where a case was not run or there is nothing to compare.

    Raises:
        UnknownNameError: A policy names a metric or mode that the run does not have.
        UsageError: A policy's metric is ambiguous.
    """
    policies = resolve_policies(policies, report.metrics, report.query_modes)
    current = snapshot(report)
    differences = refusals(baseline, current)
    if differences:
        note = f"the baseline cannot be compared with this run: {'; '.join(differences)}"
        return BaselineComparison(gates=(_failed("baseline fits", note),), notes=(note,))
    old, new = baseline.digests().keys(), current.digests().keys()
    added, removed = tuple(sorted(new - old)), tuple(sorted(old - new))
    changes = Changes(report, baseline)
    judged = _judged(policies, changes)
    return BaselineComparison(
        gates=tuple(_gate(one) for one in judged),
        changes=tuple(
            (mode, metric, change) for mode in report.query_modes for metric, change in changes.between(mode).items()
        ),
        added=added,
        removed=removed,
        worse=_worse(judged),
        notes=tuple(_notes(baseline, current, added, removed)),
    )


def _failed(name: str, reason: str) -> GateResult:
    return GateResult(
        name=name, mode="", metric="baseline", bound="min", threshold=1, value=None, passed=False, reason=reason
    )


def refusals(baseline: Baseline, current: Baseline) -> list[str]:
    """Return everything for which two runs cannot be compared; nothing where they can."""
    old, new = baseline.digests(), current.digests()
    common = sorted(old.keys() & new.keys())
    found = [
        f"its {part} is {baseline.benchmark.get(part)!r}, not {value!r}"
        for part, value in current.benchmark.items()
        if baseline.benchmark.get(part) != value
    ]
    if moved := _unequal(baseline.documents, current.documents):
        found.append(f"it has other documents in {plural(len(moved), 'run unit')} ({some(moved)})")
    found += [
        f"{short_name(metric)} was defined as {baseline.metrics[metric]!r}, and is now {current.metrics[metric]!r}"
        for metric in _unequal(baseline.metrics, current.metrics)
    ]
    if relabelled := [key[1] for key in common if None not in (old[key], new[key]) and old[key] != new[key]]:
        found.append(f"{plural(len(relabelled), 'case')} had another query or other gold labels ({some(relabelled)})")
    for what, both in (("case", common), ("metric", baseline.metrics.keys() & current.metrics.keys())):
        if not both:
            found.append(f"they have no {what} in common")
    return found


def _unequal(old: Mapping[str, str], new: Mapping[str, str]) -> list[str]:
    return sorted(key for key in old.keys() & new.keys() if old[key] != new[key])


class Changes:
    """The paired comparisons of a run with its baseline, each made when it is first asked for."""

    def __init__(self, report: EvaluationReport, baseline: Baseline) -> None:
        self.report, self.baseline = report, baseline
        self._known: dict[tuple[str, Slice | None], tuple[PairedCases, dict[str, PairedResult]]] = {}

    def pairs(self, mode: str, where: Slice | None = None) -> PairedCases:
        """Return the cases of a mode and slice that both have."""
        return self._get(mode, where)[0]

    def between(self, mode: str, where: Slice | None = None) -> dict[str, PairedResult]:
        """Return the change of each metric that both have, in the order of the report."""
        return self._get(mode, where)[1]

    def _get(self, mode: str, where: Slice | None) -> tuple[PairedCases, dict[str, PairedResult]]:
        if (mode, where) not in self._known:
            after = case_values(sliced_report(self.report, where), mode)
            pairs = PairedCases.of(self.baseline.values(mode), after)
            metrics = [metric for metric in self.report.metrics if metric in self.baseline.metrics]
            found = zip(metrics, pairs.compare(metrics), strict=True)
            changes = {metric: change for metric, change in found if change is not None}
            self._known[mode, where] = (pairs, changes)
        return self._known[mode, where]


@dataclass(frozen=True)
class _Judged:
    """A policy on one mode: what it is judged by. ``p`` is corrected for all significance gates of the run."""

    policy: Policy
    mode: str
    changes: Changes
    p: float = 1.0

    @property
    def change(self) -> PairedResult | None:
        return self.changes.between(self.mode, self.policy.where).get(self.policy.metric)

    @property
    def not_run(self) -> int:
        inside = sliced_report(self.changes.report, self.policy.where)
        return sum(result.status == "not_run" for result in cases_of(inside, self.mode))

    @property
    def passed(self) -> bool:
        return self.change is not None and not self.not_run and self.policy.holds(self.change, self.p)


def _judged(policies: Sequence[Policy], changes: Changes) -> list[_Judged]:
    modes = changes.report.query_modes
    found = [
        _Judged(policy, mode, changes)
        for policy in policies
        for mode in (modes if policy.mode is None else (policy.mode,))
    ]
    tested = [
        (position, one.change.p)
        for position, one in enumerate(found)
        if one.policy.kind == "significant" and one.change is not None
    ]
    for (position, _), p in zip(tested, holm([p for _, p in tested]), strict=True):
        found[position] = replace(found[position], p=p)
    return found


def _gate(one: _Judged) -> GateResult:
    policy, change = one.policy, one.change
    place = listed((one.changes.report.benchmark.name, one.mode))
    if change is None:
        reason = f"{policy.subject} cannot be compared: the baseline has no value of it for these cases ({place})"
    else:
        lost = one.changes.pairs(one.mode, policy.where).lost(policy.metric)
        notes = (place, plural(change.cases, "case"), f"{lost} of them without a value now, as 0" if lost else "")
        reason = f"{policy.verdict(change, one.p)} ({listed(notes)})"
    if one.not_run:
        reason += f"; {plural(one.not_run, 'case')} not run, so this gate cannot pass"
    return GateResult(
        name=f"{one.mode}.{policy.text}",
        mode=one.mode,
        metric=policy.metric,
        bound="max",
        threshold=policy.allowed(change.before) if change else policy.amount,
        value=policy.measured(change) if change else None,
        passed=one.passed,
        reason=reason,
    )


def _worse(judged: Sequence[_Judged]) -> tuple[WorseCase, ...]:
    found = {
        WorseCase(*key, one.mode, one.policy.metric, pair[0] - pair[1]): None
        for one in judged
        if not one.passed
        for pairs in (one.changes.pairs(one.mode, one.policy.where),)
        for key in pairs.keys
        if (pair := pairs.pair(key, one.policy.metric)) and pair[0] > pair[1]
    }
    return tuple(sorted(found, key=lambda case: (-case.drop, case.mode, case.unit_id, case.case_id, case.metric)))


def _notes(
    baseline: Baseline, current: Baseline, added: Sequence[CaseKey], removed: Sequence[CaseKey]
) -> Iterator[str]:
    for what, keys in (("not in the baseline", added), ("of the baseline not in this run", removed)):
        if keys:
            yield f"{plural(len(keys), 'case')} {what}, not compared: {some([case for _, case in keys])}"
    for what, old, new in (
        ("mode", baseline.modes, current.modes),
        ("metric", baseline.metrics, current.metrics),
    ):
        if absent := [name for name in new if name not in old]:
            yield f"the baseline has no {what} {some(absent)}"
    if baseline.selection != current.selection:
        yield f"selected for the baseline: {_shown(baseline)}; for this run: {_shown(current)}"
    failures = sum(None in row[1] for cases in baseline.cases.values() for row in cases.values())
    if failures:
        yield f"{plural(failures, 'case')} failed in the baseline and cannot be compared: make it anew"


def _shown(baseline: Baseline) -> str:
    return listed([f"{name} {value}" for name, value in baseline.selection.items()]) or "all"
