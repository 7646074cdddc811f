"""Runs against their baselines: compared at the end, updated where that was asked for, and announced at the start."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from pytest_heta.errors import HetaError
from pytest_heta.plugin.anchored import AnchoredEvaluation
from pytest_heta.plugin.gathering import Gathered
from pytest_heta.plugin.options import option_value
from pytest_heta.records import EvaluationReport
from pytest_heta.reports.against_baseline import BaselineComparison, compare_with_baseline, without_baseline
from pytest_heta.reports.baseline import baseline_of, read_baseline, write_baseline
from pytest_heta.reports.foresight import undetectable_drops

WORSE = "heta/worse"
"""Where pytest's cache keeps the node ids of the cases that got worse than the baseline, worst first."""


class Baselines:
    """Holds each run of a session against its baseline."""

    def __init__(self, config: pytest.Config) -> None:
        """Remember nothing yet."""
        self._config = config
        self._update = bool(option_value(config, "--heta-update-baseline"))
        self._required = bool(option_value(config, "--heta-require-baseline"))
        self.problems: list[str] = []
        self._worse: list[str] = []

    def foresee(self, anchored: AnchoredEvaluation, path: Path | None) -> list[str]:
        """Return what must be said before a run: which drops its cases are too few to find."""
        if path is None or not path.exists() or not anchored.policies:
            return []
        evaluation = anchored.evaluation
        labels = {
            (unit.unit.unit_id, case.case_id): case.labels for unit in evaluation.plan.units for case in unit.cases
        }
        try:
            return undetectable_drops(read_baseline(path), anchored.policies, evaluation.modes, labels)
        except HetaError:
            return []  # The comparison at the end says what is wrong with the baseline.

    def compare(self, gathered: Gathered, report: EvaluationReport, path: Path | None) -> BaselineComparison | None:
        """Compare a run with its baseline and, where that was asked for, write it in its place."""
        if path is None:
            return None
        try:
            comparison = self._comparison(gathered, report, path)
            if self._update:
                write_baseline(path, baseline_of(report))
        except HetaError as error:
            self.problems.append(f"heta: {error}")
            return None
        self._worse += _node_ids(gathered, comparison)
        return comparison

    def _comparison(self, gathered: Gathered, report: EvaluationReport, path: Path) -> BaselineComparison:
        if self._update:
            return BaselineComparison(notes=(f"this run is written to the baseline {path}",))
        if not path.exists():
            return without_baseline(path, required=self._required)
        return compare_with_baseline(report, read_baseline(path), gathered.anchored.policies)

    def remember_worse(self) -> None:
        """Leave the cases that got worse to the next ``--lf``: pytest's last failed, and their order."""
        cache = _cache(self._config)
        if cache is not None and self._worse:
            failed: dict[str, bool] = cache.get("cache/lastfailed", {})
            cache.set("cache/lastfailed", failed | dict.fromkeys(self._worse, True))
            cache.set(WORSE, self._worse)


def worst_first(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Under ``--lf``, put the cases that got worse first, the worst of them at the top."""
    cache = _cache(config)
    if not config.getoption("lf", False) or cache is None:
        return
    order = {nodeid: place for place, nodeid in enumerate(cache.get(WORSE, []))}
    items.sort(key=lambda item: order.get(item.nodeid, len(order)))


def _cache(config: pytest.Config) -> pytest.Cache | None:
    """Return pytest's cache, which is not there under ``-p no:cacheprovider``."""
    return getattr(config, "cache", None)


def _node_ids(gathered: Gathered, comparison: BaselineComparison) -> Iterable[str]:
    places = {
        (planned.unit.unit.unit_id, planned.case.case_id, planned.mode): nodeid
        for nodeid, planned in gathered.planned.items()
    }
    found = (places.get((worse.unit_id, worse.case_id, worse.mode)) for worse in comparison.worse)
    return list(dict.fromkeys(nodeid for nodeid in found if nodeid is not None))
