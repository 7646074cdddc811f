"""The data types of the benchmark protocol. Frozen, validated, without I/O.

Required texts are stripped and must not be empty. Unknown fields are errors. ``metadata`` and ``labels`` are the open
places of a record; everything in them must be JSON.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, field_validator, model_validator

RequiredText = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
FiniteFloat = Annotated[float, Field(allow_inf_nan=False)]
BuildScope = Literal["corpus", "group", "case"]
CaseStatus = Literal["finished", "errored", "not_run"]

SCHEMA_VERSION = 1


class Record(BaseModel):
    """Base of all records: immutable, and an unknown field is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class BenchmarkManifest(Record):
    """What a benchmark is. ``build_scope`` is a hint; ``run_units()`` alone decides how many KBs there are."""

    name: RequiredText
    version: RequiredText
    split: RequiredText
    task_type: RequiredText
    build_scope: BuildScope
    homepage: str | None = None
    license: str | None = None
    citation: str | None = None
    metadata: dict[str, Any] = Field(default_factory=dict)


class BenchmarkResource(Record):
    """Something outside that a benchmark needs, such as an archive to download."""

    name: RequiredText
    uri: RequiredText
    description: str | None = None
    metadata: dict[str, Any] = Field(default_factory=dict)


class BenchmarkWorkspace(Record):
    """The folders of a run. ``cache_dir`` outlives runs; ``output_dir`` belongs to one project or run."""

    root_dir: Path
    cache_dir: Path
    output_dir: Path

    @classmethod
    def under(cls, root: Path) -> BenchmarkWorkspace:
        """Lay the usual workspace out below one folder."""
        return cls(root_dir=root, cache_dir=root / "cache", output_dir=root / "output")


class PreparedBenchmark(Record):
    """What ``prepare`` hands to the readers: where the data lies, and whatever else the adapter wants to keep."""

    root_dir: Path
    metadata: dict[str, Any] = Field(default_factory=dict)


class BenchmarkDocument(Record):
    """One source document. ``name`` is a file name, not a path; exactly one of data, path, source_uri is set."""

    document_id: RequiredText
    name: RequiredText
    media_type: RequiredText
    data: bytes | None = None
    path: Path | None = None
    source_uri: str | None = None
    metadata: dict[str, Any] = Field(default_factory=dict)

    @field_validator("name")
    @classmethod
    def _is_file_name(cls, name: str) -> str:
        if "/" in name or "\\" in name or name in {".", ".."}:
            raise ValueError(f"name must be a file name, not a path: {name!r}")
        return name

    @model_validator(mode="after")
    def _has_one_source(self) -> BenchmarkDocument:
        given = [field for field in ("data", "path", "source_uri") if getattr(self, field) is not None]
        if len(given) != 1:
            raise ValueError(
                f"document {self.document_id!r} must have exactly one of data, path, source_uri; "
                f"it has {', '.join(given) or 'none'}"
            )
        return self


class BenchmarkEvidence(Record):
    """One gold label: what a good response must find. At least one of reference_id, locator, text is set."""

    reference_id: RequiredText | None = None
    locator: dict[str, Any] = Field(default_factory=dict)
    text: RequiredText | None = None
    metadata: dict[str, Any] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _points_somewhere(self) -> BenchmarkEvidence:
        if self.reference_id is None and not self.locator and self.text is None:
            raise ValueError("evidence must have at least one of reference_id, locator, text")
        return self


class BenchmarkExpected(Record):
    """The gold labels of a case."""

    answers: tuple[RequiredText, ...] = ()
    evidence: tuple[BenchmarkEvidence, ...] = ()
    value: Any = None
    metadata: dict[str, Any] = Field(default_factory=dict)


class BenchmarkCase(Record):
    """One query and its gold labels."""

    case_id: RequiredText
    query: RequiredText
    expected: BenchmarkExpected = BenchmarkExpected()
    labels: dict[str, Any] = Field(default_factory=dict)
    metadata: dict[str, Any] = Field(default_factory=dict)


class BenchmarkRunUnit(Record):
    """One knowledge base and the cases asked of it. An empty tuple of ids stands for all of them."""

    unit_id: RequiredText
    document_ids: tuple[RequiredText, ...] = ()
    case_ids: tuple[RequiredText, ...] = ()
    metadata: dict[str, Any] = Field(default_factory=dict)


class QueryResult(Record):
    """One hit. ``source`` says where it comes from (source_key, object_key, document_id, page_index, …)."""

    id: RequiredText
    text: str = ""
    score: float | None = None
    kind: str = "chunk"
    source: dict[str, Any] = Field(default_factory=dict)
    metadata: dict[str, Any] = Field(default_factory=dict)


class QueryResponse(Record):
    """What a knowledge base answers: ``results`` in rank order, best first, and an answer where it has one."""

    mode: RequiredText
    results: tuple[QueryResult, ...] = ()
    answer: str | None = None
    citations: tuple[Any, ...] = ()
    trace: Any = None
    metadata: dict[str, Any] = Field(default_factory=dict)


class EvaluationScore(Record):
    """One metric of one case. ``value`` None means unscored: ``metadata["reason"]`` says why."""

    name: RequiredText
    value: FiniteFloat | None = None
    passed: bool | None = None
    metadata: dict[str, Any] = Field(default_factory=dict)

    @classmethod
    def unscored(cls, name: str, reason: str) -> EvaluationScore:
        """Make the score of a case that this metric cannot judge."""
        return cls(name=name, metadata={"reason": reason})


class EvaluationError(Record):
    """Why a case has no response."""

    message: str
    error_type: RequiredText
    retryable: bool = False
    attempts: int = 1


class RankedHit(Record):
    """One line of a recorded ranking. ``text`` is kept only when it was asked for."""

    id: str
    document_id: str | None = None
    score: FiniteFloat | None = None
    text: str | None = None


class GoldLabel(Record):
    """One gold label of a recorded case. ``text`` is kept only when texts were asked for."""

    document_id: str | None = None
    relevance: float = 1.0
    original_id: str | None = None
    text: str | None = None


class EvaluationCaseResult(Record):
    """One case asked in one mode: what came back and what it is worth.

    ``latency_ms`` is the wall time of the case's own query, ``asked_at`` its start in seconds since the epoch;
    ``amortised`` marks times that were shared out of a batch.
    ``shallow`` marks a ranking with fewer distinct documents than the deepest metric looks at, while more exist.
    """

    unit_id: str
    case_id: str
    mode: str
    status: CaseStatus
    node_id: str | None = None
    query: str = ""
    labels: dict[str, Any] = Field(default_factory=dict)
    scores: tuple[EvaluationScore, ...] = ()
    hits: tuple[RankedHit, ...] = ()
    gold: tuple[GoldLabel, ...] = ()
    answer: str | None = None
    error: EvaluationError | None = None
    asked_at: float | None = None
    latency_ms: float | None = None
    amortised: bool = False
    shallow: bool = False
    metadata: dict[str, Any] = Field(default_factory=dict)


class MetricCounts(Record):
    """The denominator contract: planned = scored + unscored + errored + not_run."""

    planned: int
    scored: int
    unscored: int
    errored: int
    not_run: int


class KnowledgeBaseReport(Record):
    """How the knowledge base of one run unit came to be."""

    unit_id: str
    name: str
    build_seconds: float | None = None
    cached: bool = False
    error: EvaluationError | None = None
    manifest: dict[str, Any] = Field(default_factory=dict)


class GateResult(Record):
    """The verdict on one threshold of the whole run. ``value`` None: nothing was there to measure."""

    name: str
    mode: str
    metric: str
    bound: Literal["min", "max"]
    threshold: float
    value: FiniteFloat | None
    passed: bool
    reason: str


class EvaluationReport(Record):
    """The result of evaluating one recipe on one benchmark.

    ``score_summary`` maps ``{mode}.{metric}`` to the mean over scored and errored cases (an errored case counts 0); a
    metric with no such case has no mean and is absent. ``counts`` has the same keys, and all of them.
    ``latency`` maps a mode to milliseconds (p50, p95, p99) and rates.
    """

    schema_version: int = SCHEMA_VERSION
    report_id: RequiredText
    created_at: str
    knowledge_base_name: str
    benchmark: BenchmarkManifest
    recipe: dict[str, Any]
    query_modes: tuple[str, ...]
    metrics: tuple[str, ...]
    score_summary: dict[str, float]
    counts: dict[str, MetricCounts]
    gates: tuple[GateResult, ...] = ()
    knowledge_bases: tuple[KnowledgeBaseReport, ...] = ()
    selection: dict[str, Any] = Field(default_factory=dict)
    durations: dict[str, float] = Field(default_factory=dict)
    latency: dict[str, dict[str, float]] = Field(default_factory=dict)
    versions: dict[str, str] = Field(default_factory=dict)
    cases: tuple[EvaluationCaseResult, ...] = ()
    metadata: dict[str, Any] = Field(default_factory=dict)
