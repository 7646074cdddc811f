"""What a run cannot find out, said before it begins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

from pytest_heta.reports.baseline import Baseline, CaseKey
from pytest_heta.reports.detectable import detectable_drop
from pytest_heta.reports.paired import LEVEL
from pytest_heta.reports.policies import Policy
from pytest_heta.reports.text import plural


def undetectable_drops(
    baseline: Baseline, policies: Sequence[Policy], modes: Sequence[str], labels: Mapping[CaseKey, Mapping[str, Any]]
) -> list[str]:
    """Return, before a run, a line for each policy whose allowed drop is smaller than what its cases can detect.

    ``policies`` are resolved; ``labels`` holds the labels of each case that the run will ask. Only the policies that
    weigh the noise are looked at: a ``max_drop`` fails by any drop beyond it, significant or not.
    """
    weighing = [
        (policy, mode)
        for policy in policies
        if policy.kind != "max_drop"
        for mode in (modes if policy.mode is None else (policy.mode,))
    ]
    tests = sum(policy.kind == "significant" for policy, _ in weighing)
    lines = []
    for policy, mode in weighing:
        values = _baseline_values(baseline, policy, mode, labels)
        level = LEVEL / tests if policy.kind == "significant" else LEVEL
        drop = detectable_drop(values, level) if values else None
        if values and (drop is None or drop > policy.allowed(fmean(values))):
            found = f"a drop below {drop:.3f}" if drop is not None else "no drop at all"
            sure = "is not sure to be found" if drop is not None else "is sure to be found"
            lines.append(f"{mode}.{policy.text}: in {plural(len(values), 'case')} {found} {sure} (power 80 %)")
    return lines


def _baseline_values(
    baseline: Baseline, policy: Policy, mode: str, labels: Mapping[CaseKey, Mapping[str, Any]]
) -> list[float]:
    return [
        value
        for key, values in baseline.values(mode).items()
        if key in labels and (policy.where is None or policy.where.holds(labels[key]))
        if (value := values.get(policy.metric)) is not None
    ]
