"""Retrieval and RAG benchmarks as pytest suites.

The public names, and nothing else. Each is imported when it is first used, so that a pytest start that does not use
heta costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pytest_heta.benchmarks.beir import BeirBenchmark
    from pytest_heta.benchmarks.jsonl import JsonlBenchmark
    from pytest_heta.benchmarks.multihop_rag import MultiHopRagBenchmark
    from pytest_heta.benchmarks.registry import known_benchmarks, resolve_benchmark
    from pytest_heta.benchmarks.uda import UdaBenchmark
    from pytest_heta.engine.config import RunnerConfig
    from pytest_heta.errors import (
        BuildError,
        DataError,
        DownloadError,
        HetaError,
        ObjectNotFoundError,
        QueryError,
        RecipeError,
        ReportError,
        UnknownNameError,
        UsageError,
    )
    from pytest_heta.evaluators import (
        AnswerContains,
        AnswerExactMatch,
        BeirRetrievalMetric,
        EvidenceRecallAtK,
        MultiHopRetrievalMetric,
        UdaAnswerMetric,
        WordOverlapAnswer,
    )
    from pytest_heta.protocols import (
        BenchmarkEvaluatorProtocol,
        BenchmarkProtocol,
        KnowledgeBaseProtocol,
        ObjectStoreProtocol,
        RecipeProtocol,
    )
    from pytest_heta.records import (
        BenchmarkCase,
        BenchmarkDocument,
        BenchmarkEvidence,
        BenchmarkExpected,
        BenchmarkManifest,
        BenchmarkResource,
        BenchmarkRunUnit,
        BenchmarkWorkspace,
        EvaluationCaseResult,
        EvaluationError,
        EvaluationReport,
        EvaluationScore,
        GateResult,
        PreparedBenchmark,
        QueryResponse,
        QueryResult,
    )
    from pytest_heta.reports.json_file import read_report
    from pytest_heta.runner import BenchmarkRunner

__version__ = "0.1.0"

_HOMES = {
    "benchmarks.beir": ("BeirBenchmark",),
    "benchmarks.jsonl": ("JsonlBenchmark",),
    "benchmarks.multihop_rag": ("MultiHopRagBenchmark",),
    "benchmarks.registry": ("known_benchmarks", "resolve_benchmark"),
    "benchmarks.uda": ("UdaBenchmark",),
    "engine.config": ("RunnerConfig",),
    "errors": (
        "BuildError",
        "DataError",
        "DownloadError",
        "HetaError",
        "ObjectNotFoundError",
        "QueryError",
        "RecipeError",
        "ReportError",
        "UnknownNameError",
        "UsageError",
    ),
    "evaluators": (
        "AnswerContains",
        "AnswerExactMatch",
        "BeirRetrievalMetric",
        "EvidenceRecallAtK",
        "MultiHopRetrievalMetric",
        "UdaAnswerMetric",
        "WordOverlapAnswer",
    ),
    "protocols": (
        "BenchmarkEvaluatorProtocol",
        "BenchmarkProtocol",
        "KnowledgeBaseProtocol",
        "ObjectStoreProtocol",
        "RecipeProtocol",
    ),
    "records": (
        "BenchmarkCase",
        "BenchmarkDocument",
        "BenchmarkEvidence",
        "BenchmarkExpected",
        "BenchmarkManifest",
        "BenchmarkResource",
        "BenchmarkRunUnit",
        "BenchmarkWorkspace",
        "EvaluationCaseResult",
        "EvaluationError",
        "EvaluationReport",
        "EvaluationScore",
        "GateResult",
        "PreparedBenchmark",
        "QueryResponse",
        "QueryResult",
    ),
    "reports.json_file": ("read_report",),
    "runner": ("BenchmarkRunner",),
}
_HOME_OF = {name: f"pytest_heta.{module}" for module, names in _HOMES.items() for name in names}

__all__ = [
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


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used."""
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_HOME_OF[name]), name)
    return value


def __dir__() -> list[str]:
    """List the public names too."""
    return sorted({*globals(), *_HOME_OF})
