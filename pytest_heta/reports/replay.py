"""Judging again what a run recorded, by other metrics, cut-offs or thresholds, without building or asking anything."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NoReturn

from pytest_heta.engine.asking import Outcome
from pytest_heta.engine.config import RunnerConfig
from pytest_heta.engine.depth import Depth
from pytest_heta.errors import ReportError, UnknownNameError, UsageError
from pytest_heta.records import (
    BenchmarkCase,
    BenchmarkManifest,
    EvaluationCaseResult,
    EvaluationError,
    QueryResponse,
    QueryResult,
    RankedHit,
)
from pytest_heta.reports.recording import Recording

_RECORDED = frozenset({"source_key", "object_key", "document_id"})
"""What names a hit's document; of these the recording keeps the document id."""


class ReplaySource:
    """Gives the recorded responses as if they had just been asked for, as deep as these evaluators would ask.

    What was not recorded of a hit (its text without ``--heta-texts``; page, table or chunk ids) raises ReportError when
    an evaluator looks at it: it must not pass for empty.
    """

    def __init__(
        self,
        recording: Recording,
        *,
        benchmark: BenchmarkManifest,
        modes: Sequence[str],
        evaluators: Sequence[Any],
        config: RunnerConfig,
    ) -> None:
        """Check that the recording can serve these evaluators.

        Raises:
            UsageError: it is of another benchmark, or holds fewer results a query than an evaluator, or ``top_k``,
                looks at; or texts are to be kept that it does not hold.
            UnknownNameError: it has no such mode.

        """
        self._recording, self._depth = recording, Depth.of(evaluators, config.top_k)
        _check_benchmark(recording, benchmark)
        for mode in modes:
            if mode not in recording.modes:
                raise UnknownNameError(f"mode in {recording.path}", mode, recording.modes)
        _check_depth(recording, self._depth, evaluators)
        if config.keep_texts and not recording.has_texts:
            raise UsageError(f"{recording.path} holds no texts of hits that could be kept: leave out --heta-texts")

    def outcome(self, unit_id: str, case: BenchmarkCase, mode: str) -> Outcome:
        """Return what came of a case: its response, or its error, with the times of the recorded run."""
        result = self._recording.results.get((unit_id, case.case_id, mode))
        if result is None or result.status == "not_run":
            return _missing(f"{self._recording.path} holds no response to this case")
        if result.query and result.query != case.query:
            return _missing(f"{self._recording.path} holds the response to another query: {result.query!r}")
        if result.status == "errored":
            return Outcome(None, result.error, result.asked_at, result.latency_ms)
        response, shallow = self._as_deep_as_asked(case, result)
        return Outcome(response, None, result.asked_at, result.latency_ms, result.amortised, shallow)

    def _as_deep_as_asked(self, case: BenchmarkCase, result: EvaluationCaseResult) -> tuple[QueryResponse, bool]:
        whole = _response(result)
        for asked in self._depths(len(whole.results)):
            response = whole.model_copy(update={"results": whole.results[:asked]})
            shallow = self._depth.collapsed(case, response, asked)
            if not shallow:
                break
        return response, shallow

    def _depths(self, recorded: int) -> Iterator[int]:
        """Yield the depths at which these evaluators would ask, up to the one at which the case was asked last."""
        depth = self._recording.depth
        last = next((step for step in (depth, *Depth(depth).deeper()) if recorded <= step), recorded)
        for asked in (self._depth.top_k, *self._depth.deeper()):
            yield min(asked, last)
            if asked >= last:
                return


def _check_benchmark(recording: Recording, manifest: BenchmarkManifest) -> None:
    name = f"{manifest.name}@{manifest.split}"
    if name != recording.benchmark:
        raise UsageError(f"{recording.path} is a recording of {recording.benchmark}, not of {name}")


def _check_depth(recording: Recording, depth: Depth, evaluators: Sequence[Any]) -> None:
    if depth.top_k > recording.depth:
        deeper = [one.name for one in evaluators if getattr(one, "k", 0) > recording.depth] or ["--heta-top-k"]
        raise UsageError(
            f"{recording.path} holds {recording.depth} results a query, and {', '.join(deeper)} looks deeper: "
            f"choose a cut-off up to {recording.depth}, or run again with --heta-top-k={depth.top_k}"
        )


def _missing(message: str) -> Outcome:
    return Outcome(None, EvaluationError(message=message, error_type="NotRecorded"), None, None)


def _response(result: EvaluationCaseResult) -> QueryResponse:
    """Return the response; nothing is validated anew, as a run records hundreds of thousands of hits."""
    return QueryResponse.model_construct(
        mode=result.mode, results=tuple(map(_hit, result.hits)), answer=result.answer, metadata=result.metadata
    )


def _hit(hit: RankedHit) -> QueryResult:
    source = _RecordedFields() if hit.document_id is None else _RecordedFields(document_id=hit.document_id)
    fields: dict[str, Any] = {"id": hit.id, "score": hit.score, "source": source, "metadata": _RecordedFields()}
    if hit.text is not None:
        return QueryResult.model_construct(text=hit.text, **fields)
    found = _TextlessResult.model_construct(**fields)
    del found.__dict__["text"]
    return found


class _TextlessResult(QueryResult):
    """A hit whose text was not recorded."""

    def __getattr__(self, name: str) -> NoReturn:
        if name == "text":
            raise ReportError("the texts of the hits were not recorded: run again with --heta-texts")
        raise AttributeError(name)


class _RecordedFields(dict[str, Any]):
    """The source or metadata of a hit, of which only the document was recorded."""

    def get(self, key: str, default: Any = None) -> Any:
        if key not in _RECORDED:
            raise ReportError(f"{key!r} of the hits was not recorded, so this metric cannot be replayed")
        return super().get(key, default)

    def __missing__(self, key: str) -> NoReturn:
        raise ReportError(f"{key!r} of the hits was not recorded, so this metric cannot be replayed")
