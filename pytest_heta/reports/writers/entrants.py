"""The results that stand side by side in a report: each recipe in each of its modes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from pytest_heta.errors import UsageError
from pytest_heta.records import EvaluationCaseResult, EvaluationReport
from pytest_heta.reports.baseline import CaseKey
from pytest_heta.reports.case_pairs import CaseValues, case_values
from pytest_heta.reports.quantities import cases_of
from pytest_heta.reports.text import benchmark_title, recipe_name


@dataclass(frozen=True)
class Entrant:
    """One recipe in one mode. ``label`` is unique among those it stands beside."""

    report: EvaluationReport
    mode: str
    label: str

    @cached_property
    def results(self) -> dict[CaseKey, EvaluationCaseResult]:
        """The results by case, in the report's order."""
        return {(result.unit_id, result.case_id): result for result in cases_of(self.report, self.mode)}

    def mean(self, metric: str) -> float | None:
        """Return the mean of a metric, errored cases counted 0."""
        return self.report.score_summary.get(f"{self.mode}.{metric}")

    @cached_property
    def worth(self) -> CaseValues:
        """What each case that was run adds to the means, by metric: None where it is unscored, 0 where it errored."""
        return case_values(self.report, self.mode)

    def values(self, metric: str) -> dict[CaseKey, float]:
        """Return what each case adds to the mean of one metric; those that add nothing are absent."""
        found = ((key, values.get(metric)) for key, values in self.worth.items())
        return {key: value for key, value in found if value is not None}


def entrants(report: EvaluationReport, others: Sequence[EvaluationReport]) -> list[Entrant]:
    """Return the results of ``report``, then those of the others.

    Raises:
        UsageError: They are not all on one benchmark, version and split.
    """
    reports = (report, *others)
    titles = dict.fromkeys(map(benchmark_title, reports))
    if len(titles) > 1:
        raise UsageError(f"only reports of one benchmark can be compared, not of {', '.join(titles)}")
    pairs = [(each, mode) for each in reports for mode in each.query_modes]
    labels = _distinct([f"{recipe_name(each)}, {mode}" for each, mode in pairs], [each.report_id for each, _ in pairs])
    return [Entrant(each, mode, label) for (each, mode), label in zip(pairs, labels, strict=True)]


def _distinct(labels: Sequence[str], report_ids: Sequence[str]) -> list[str]:
    shared = Counter(labels)
    return [
        f"{label} ({report_id})" if shared[label] > 1 else label
        for label, report_id in zip(labels, report_ids, strict=True)
    ]


def all_metrics(found: Sequence[Entrant]) -> list[str]:
    """Return the metrics of all results, each once, those of the first first."""
    return list(dict.fromkeys(metric for entrant in found for metric in entrant.report.metrics))
