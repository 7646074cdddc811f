"""The hooks of pytest-heta: what a conftest or another plugin can add or decide."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pytest_heta.benchmarks.registry import Family
    from pytest_heta.protocols import BenchmarkEvaluatorProtocol, BenchmarkProtocol
    from pytest_heta.records import (
        BenchmarkCase,
        EvaluationCaseResult,
        EvaluationReport,
        EvaluationScore,
        GateResult,
        QueryResponse,
    )
    from pytest_heta.reports.thresholds import Threshold


@pytest.hookspec
def pytest_heta_benchmarks(config: pytest.Config) -> Mapping[str, Family] | None:
    """Return benchmark families by name, for ``--heta-benchmark=NAME:VARIANT``.

    Called before the first benchmark is resolved, in every process. A family of this hook comes before an installed or
    built-in one of the same name. It is called as ``family(variant, *, split, options, root, download)``.
    """


@pytest.hookspec(firstresult=True)
def pytest_heta_evaluators(
    config: pytest.Config, benchmark: BenchmarkProtocol
) -> Sequence[BenchmarkEvaluatorProtocol] | None:
    """Return the evaluators to score a benchmark with, or None for its own.

    Called once for each evaluation, before its cases are collected, in every process.
    """


@pytest.hookspec(firstresult=True)
def pytest_heta_check_case(
    config: pytest.Config,
    case: BenchmarkCase,
    response: QueryResponse,
    scores: Mapping[str, EvaluationScore],
    thresholds: Sequence[Threshold],
) -> Sequence[str] | None:
    """Return what the case misses, one line each, or None to have its thresholds decide. Nothing missed: it passes.

    Called in the process that runs the item, after scoring. A case whose evaluator failed fails whatever is returned.
    """


@pytest.hookspec(firstresult=True)
def pytest_heta_check_report(config: pytest.Config, report: EvaluationReport) -> Sequence[GateResult] | None:
    """Return the gates of a run in place of ``report.gates``, or None to leave them.

    Called at the end of the run in the process that reports, once for each evaluation, before gates are reported.
    """


@pytest.hookspec
def pytest_heta_case_result(config: pytest.Config, result: EvaluationCaseResult) -> None:
    """Take note of the result of a case. Called in the process that reports, as results come in."""
