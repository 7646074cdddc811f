"""The public names: what users may import is pinned here, and imported when it is first used."""

from __future__ import annotations

import subprocess
import sys

import pytest

import pytest_heta

PUBLIC = [
    "AnswerContains",
    "AnswerExactMatch",
    "BeirBenchmark",
    "BeirRetrievalMetric",
    "BenchmarkCase",
    "BenchmarkDocument",
    "BenchmarkEvaluatorProtocol",
    "BenchmarkEvidence",
    "BenchmarkExpected",
    "BenchmarkManifest",
    "BenchmarkProtocol",
    "BenchmarkResource",
    "BenchmarkRunUnit",
    "BenchmarkRunner",
    "BenchmarkWorkspace",
    "BuildError",
    "DataError",
    "DownloadError",
    "EvaluationCaseResult",
    "EvaluationError",
    "EvaluationReport",
    "EvaluationScore",
    "EvidenceRecallAtK",
    "GateResult",
    "HetaError",
    "JsonlBenchmark",
    "KnowledgeBaseProtocol",
    "MultiHopRagBenchmark",
    "MultiHopRetrievalMetric",
    "ObjectNotFoundError",
    "ObjectStoreProtocol",
    "PreparedBenchmark",
    "QueryError",
    "QueryResponse",
    "QueryResult",
    "RecipeError",
    "RecipeProtocol",
    "ReportError",
    "RunnerConfig",
    "UdaAnswerMetric",
    "UdaBenchmark",
    "UnknownNameError",
    "UsageError",
    "WordOverlapAnswer",
    "__version__",
    "known_benchmarks",
    "read_report",
    "resolve_benchmark",
]


def test_public_names_are_pinned() -> None:
    """A name that comes or goes is a change that users see: it belongs here and in the changelog."""
    assert sorted(pytest_heta.__all__) == sorted(PUBLIC)
    assert set(PUBLIC) <= set(dir(pytest_heta))


@pytest.mark.parametrize("name", PUBLIC)
def test_each_public_name_is_there_and_documented(name: str) -> None:
    """Each can be imported, and is documented where it is defined."""
    value = getattr(pytest_heta, name)
    assert name == "__version__" or value.__doc__


def test_an_unknown_name_is_an_attribute_error() -> None:
    """A typing error is what it is in any module."""
    with pytest.raises(AttributeError, match="has no attribute 'BeirBenchmarks'"):
        pytest_heta.BeirBenchmarks  # noqa: B018


def test_importing_the_package_imports_nothing_else() -> None:
    """``import pytest_heta`` loads no other module of it and no library."""
    code = "import sys, pytest_heta; print([x for x in sys.modules if x.startswith(('pytest_heta.', 'pydantic'))])"
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert output.strip() == "[]"
