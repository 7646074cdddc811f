"""The values of the same cases in two runs, brought together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_heta.records import EvaluationCaseResult, EvaluationReport
from pytest_heta.reports.baseline import CaseKey, rounded
from pytest_heta.reports.paired import PairedResult
from pytest_heta.reports.quantities import cases_of

if TYPE_CHECKING:
    from pytest_heta.reports.significance import Values

CaseValues = Mapping[CaseKey, Mapping[str, float | None]]
"""The values of each case by metric."""


def case_values(report: EvaluationReport, mode: str) -> dict[CaseKey, Mapping[str, float | None]]:
    """Return what each case of a mode is worth, rounded as a baseline rounds, without the cases that were not run.

    As in the means, a failed query and a lost score are worth 0; None stands for unscored.
    """
    return {
        (result.unit_id, result.case_id): _worth(result, report.metrics)
        for result in cases_of(report, mode)
        if result.status != "not_run"
    }


def _worth(result: EvaluationCaseResult, metrics: Sequence[str]) -> dict[str, float | None]:
    scores = {score.name: score.value for score in result.scores} if result.status == "finished" else {}
    values = ((metric, scores.get(metric, 0.0)) for metric in metrics)
    return {metric: None if value is None else rounded(value) for metric, value in values}


@dataclass(frozen=True)
class PairedCases:
    """The cases of two runs that both have, in an order that depends on neither."""

    keys: Sequence[CaseKey]
    before: CaseValues
    after: CaseValues

    @classmethod
    def of(cls, before: CaseValues, after: CaseValues) -> PairedCases:
        """Bring two runs together."""
        return cls(sorted(before.keys() & after.keys()), before, after)

    def pair(self, key: CaseKey, metric: str) -> tuple[float, float] | None:
        """Return a case's two values; None where the first run has none.

        A case that had a value and has none now, as a benchmark may do to a missing answer, is worth 0 now.
        """
        first = self.before[key].get(metric)
        return None if first is None else (first, self.after[key].get(metric) or 0.0)

    def lost(self, metric: str) -> int:
        """Return how many cases had a value and have none now."""
        return sum(
            self.before[key].get(metric) is not None and self.after[key].get(metric) is None for key in self.keys
        )

    def compare(self, metrics: Sequence[str]) -> list[PairedResult | None]:
        """Return how each metric has changed; None where no case has two values."""
        from pytest_heta.reports.significance import compare_paired

        if not self.keys or not metrics:
            return [None] * len(metrics)
        return compare_paired(*self._arrays(metrics))

    def _arrays(self, metrics: Sequence[str]) -> tuple[Values, Values]:
        import numpy as np

        nothing = (float("nan"), float("nan"))
        pairs = np.array([[self.pair(key, metric) or nothing for metric in metrics] for key in self.keys])
        return pairs[..., 0], pairs[..., 1]
