"""Gates on whole runs: exact, with a reason, and closed to failures."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_heta.errors import UnknownNameError, UsageError
from pytest_heta.records import EvaluationCaseResult, EvaluationError, EvaluationReport, KnowledgeBaseReport
from pytest_heta.reports.gates import check_report, resolve_gates
from pytest_heta.reports.quantities import QUANTITIES
from pytest_heta.reports.thresholds import Threshold, parse_threshold
from tests.reports.samples import MODE, errored, finished, not_run, report_of

NDCG = "beir_ndcg@10"


def _verdict(report: EvaluationReport, text: str, bound: str = "min") -> tuple[bool, str]:
    (gate,) = check_report([parse_threshold(text, "min" if bound == "min" else "max")], report)
    return gate.passed, gate.reason


def test_a_gate_compares_the_mean() -> None:
    """The value, the bound, where it was measured and over how many cases."""
    report = report_of([finished("1", {NDCG: 0.5}), finished("2", {NDCG: 0.7})])
    assert _verdict(report, "ndcg@10=0.6") == (
        True,
        "ndcg@10 = 0.600, at least 0.600 (beir_scifact, vector_search, 2 cases)",
    )
    assert _verdict(report, "ndcg@10=0.61") == (
        False,
        "ndcg@10 = 0.600, below the minimum 0.610 (beir_scifact, vector_search, 2 cases)",
    )


def test_there_is_one_verdict_a_threshold_and_mode() -> None:
    """A threshold without a mode bounds all modes; the same threshold written twice is one."""
    cases = [finished("1", {NDCG: 0.5}), finished("1", {NDCG: 0.1}, mode="other")]
    thresholds = [parse_threshold(text, "min") for text in ("ndcg@10=0.2", "beir_ndcg@10 = 0.20", "other.ndcg@10=0.05")]
    gates = check_report(thresholds, report_of(cases, modes=(MODE, "other")))
    assert [(gate.name, gate.mode, gate.metric, gate.value, gate.passed) for gate in gates] == [
        ("vector_search.ndcg@10 >= 0.2", MODE, NDCG, 0.5, True),
        ("other.ndcg@10 >= 0.2", "other", NDCG, 0.1, False),
        ("other.ndcg@10 >= 0.05", "other", NDCG, 0.1, True),
    ]


def test_an_errored_case_counts_zero_in_a_minimum_and_fails_a_maximum() -> None:
    """A failure can only lower a value that must be high, and a maximum cannot be kept by failing."""
    report = report_of([finished("1", {NDCG: 0.8}), errored("2")])
    assert _verdict(report, "ndcg@10=0.4") == (
        True,
        "ndcg@10 = 0.400, at least 0.400 (beir_scifact, vector_search, 1 case and 1 errored as 0)",
    )
    assert _verdict(report, "ndcg@10=0.5", "max") == (
        False,
        "ndcg@10 = 0.400, at most 0.500 (beir_scifact, vector_search, 1 case and 1 errored as 0); "
        "1 case errored, and 0 would flatter it, so this gate cannot pass",
    )


def test_a_metric_that_scored_no_case_fails_with_the_reason() -> None:
    """Neither a minimum nor a maximum passes on nothing, also where all cases errored and the mean is 0."""
    unscored = report_of([finished("1", {NDCG: None}), errored("2")])
    reason = "ndcg@10 has no value: no case was scored, 1 unscored, 1 errored, 0 not run (beir_scifact, vector_search)"
    assert _verdict(unscored, "ndcg@10=0") == _verdict(unscored, "ndcg@10=1", "max") == (False, reason)


def test_a_case_that_was_not_run_fails_every_gate() -> None:
    """A part of a run is no run, whatever its value."""
    report = report_of([finished("1", {NDCG: 0.8}, latency_ms=1.0), not_run("2")])
    passed, reason = _verdict(report, "ndcg@10=0.4")
    assert not passed
    assert reason.endswith("; 1 case not run, so this gate cannot pass")
    assert not _verdict(report, "latency_p50_ms=5", "max")[0]
    assert not _verdict(report, "build_seconds=5", "max")[0]


def _mixed() -> EvaluationReport:
    cases = [
        finished("1", {"a": 1.0, "b": None}, latency_ms=4.0, shallow=True),
        finished("2", {"a": 1.0}, latency_ms=8.0, hits=()),
        finished("3", {"a": 1.0, "b": 0.5}, latency_ms=6.0),
        errored("4"),
    ]
    return report_of(cases, ("a", "b"), query_seconds={MODE: 0.5})


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("error_rate=1", 0.5),  # case 4, and case 2, which lost its score of b
        ("unscored_rate=1", 0.5),  # of 8 scores: b of case 1, b of case 2, both of case 4
        ("errored=2", 2.0),
        ("unscored=3", 3.0),  # cases 1, 2 and 4
        ("empty_results=2", 2.0),
        ("shallow=2", 2.0),
        ("latency_p50_ms=10", 6.0),
        ("build_seconds=3", 2.5),
    ],
)
def test_quantities_of_the_run_can_be_bounded(text: str, value: float) -> None:
    """Each has the value that its definition gives, failures counted as bad."""
    (gate,) = check_report([parse_threshold(text, "max")], _mixed())
    assert (gate.value, gate.passed) == (value, True)


def test_numbers_of_cases_are_shown_whole() -> None:
    """A count has no decimals, and says how many errored cases are in it."""
    assert _verdict(_mixed(), "empty_results=1", "max") == (
        False,
        "empty_results = 2, above the maximum 1 (beir_scifact, vector_search, 1 errored case counted in)",
    )


def test_a_percentile_that_falls_on_an_errored_case_fails_its_gate() -> None:
    """A query that never answered is slower than any bound."""
    assert _verdict(_mixed(), "latency_p95_ms=1000", "max") == (
        False,
        "latency_p95_ms has no value: 1 case errored (beir_scifact, vector_search)",
    )


def test_a_throughput_is_trusted_only_without_errors() -> None:
    """Finished cases a second; a failure may be quicker than an answer."""
    whole = report_of([finished("1", {NDCG: 1.0}), finished("2", {NDCG: 1.0})], query_seconds={MODE: 0.5})
    assert _verdict(whole, "queries_per_second=4")[0]
    assert not _verdict(whole, "queries_per_second=4.1")[0]
    assert not _verdict(_mixed(), "queries_per_second=4")[0]


def test_amortised_times_are_said_to_be_so() -> None:
    """A percentile of shares of batches says that it is one."""
    report = report_of([finished("1", {NDCG: 1.0}, latency_ms=2.0, amortised=True)])
    assert "amortised over batches" in _verdict(report, "latency_p95_ms=3", "max")[1]


def test_build_seconds_need_the_time_of_every_knowledge_base() -> None:
    """The sum over all; one that is unknown or failed fails the gate, one from the cache counts what it took."""
    bases = tuple(
        KnowledgeBaseReport(unit_id=unit, name=unit, build_seconds=1.5, cached=unit == "u2") for unit in ("u1", "u2")
    )
    case = finished("1", {NDCG: 1.0})
    assert _verdict(report_of([case], knowledge_bases=bases), "build_seconds=3", "max") == (
        True,
        "build_seconds = 3.000, at most 3.000 (beir_scifact, 1 of 2 built in an earlier run)",
    )
    unknown = (*bases, KnowledgeBaseReport(unit_id="u3", name="u3", cached=True))
    assert (
        "2 of 3 knowledge bases have a build time"
        in _verdict(report_of([case], knowledge_bases=unknown), "build_seconds=9", "max")[1]
    )
    error = EvaluationError(message="disk full", error_type="BuildError")
    failed = (*bases, KnowledgeBaseReport(unit_id="u4", name="u4", error=error))
    assert _verdict(report_of([case], knowledge_bases=failed), "build_seconds=9", "max")[0] is False


def test_what_was_spent_is_what_all_responses_report() -> None:
    """The sum of numbers or of mappings of numbers; where one is silent, or a case errored, no gate passes."""
    spent = [
        finished("1", {NDCG: 1.0}, metadata={"tokens": {"prompt": 800, "completion": 50}, "cost": 0.25}),
        finished("2", {NDCG: 1.0}, metadata={"tokens": 150, "cost": 0.5}),
    ]
    assert _verdict(report_of(spent), "tokens=1000", "max") == (
        True,
        "tokens = 1000, at most 1000 (beir_scifact, vector_search)",
    )
    assert _verdict(report_of(spent), "cost=0.7", "max") == (
        False,
        "cost = 0.750, above the maximum 0.700 (beir_scifact, vector_search)",
    )
    assert _verdict(report_of([*spent, errored("3")]), "cost=1", "max") == (
        False,
        "cost = 0.750, at most 1.000 (beir_scifact, vector_search); "
        "1 case errored and spent an unknown amount, so this gate cannot pass",
    )
    silent = report_of([*spent, finished("3", {NDCG: 1.0}, metadata={"cost": "high"})])
    assert _verdict(silent, "cost=1", "max") == (
        False,
        "cost has no value: 2 of 3 responses say in their metadata their cost (beir_scifact, vector_search)",
    )


def test_the_size_of_the_index_is_that_of_all_knowledge_bases() -> None:
    """The sum of what their manifests say, where each says it."""
    bases = [KnowledgeBaseReport(unit_id=u, name=u, manifest={"index_bytes": 2048}) for u in ("u1", "u2")]
    case = finished("1", {NDCG: 1.0})
    report = report_of([case], knowledge_bases=tuple(bases))
    assert _verdict(report, "index_bytes=4096", "max") == (True, "index_bytes = 4096, at most 4096 (beir_scifact)")
    silent = report_of([case], knowledge_bases=(*bases, KnowledgeBaseReport(unit_id="u3", name="u3")))
    assert _verdict(silent, "index_bytes=9999", "max") == (
        False,
        "index_bytes has no value: 2 of 3 knowledge bases say their index_bytes (beir_scifact)",
    )


def test_a_run_without_any_case_passes_no_gate() -> None:
    """Nothing was measured, so nothing holds."""
    thresholds = [Threshold(name, quantity.bound, 0.0) for name, quantity in QUANTITIES.items()]
    gates = check_report([*thresholds, Threshold(NDCG, "min", 0.0)], report_of([], knowledge_bases=()))
    assert [gate.metric for gate in gates if gate.passed or gate.value is not None] == []


def test_thresholds_are_refused_before_the_run() -> None:
    """Unknown names list metrics and quantities; a quantity is bounded on its bad side, in a mode if it has one."""
    with pytest.raises(UnknownNameError, match=r"unknown metric 'eror_rate'; did you mean 'error_rate'"):
        resolve_gates([parse_threshold("eror_rate=0", "max")], (NDCG,), (MODE,))
    with pytest.raises(UsageError, match="latency_p95_ms can only have a maximum, not 'latency_p95_ms >= 10'"):
        resolve_gates([parse_threshold("latency_p95_ms=10", "min")], (NDCG,), (MODE,))
    with pytest.raises(UsageError, match="build_seconds belongs to no mode: leave out 'vector_search'"):
        resolve_gates([parse_threshold("vector_search.build_seconds=10", "max")], (NDCG,), (MODE,))


def test_a_metric_may_have_the_name_of_a_quantity() -> None:
    """The benchmark's own metric is meant then, with any bound."""
    report = report_of([finished("1", {"shallow": 0.5})], ("shallow",))
    assert _verdict(report, "shallow=0.5")[0]


scores = st.one_of(st.none(), st.floats(0.0, 1.0))
answered = st.builds(
    lambda a, b, latency, hits, shallow: finished(
        "x", {"a": a, "b": b}, latency_ms=latency, shallow=shallow, **({} if hits else {"hits": ()})
    ),
    scores,
    scores,
    st.floats(0.0, 9.0),
    st.booleans(),
    st.booleans(),
)
damages = st.sampled_from(["none", "none", "error", "lost score", "not run"])
limits = st.one_of(st.floats(0.0, 1.0), st.integers(0, 9).map(float))


def _damaged(case: EvaluationCaseResult, damage: str) -> EvaluationCaseResult:
    if damage == "lost score":
        return case.model_copy(update={"scores": case.scores[1:]})
    return {"none": case, "error": errored(case.case_id), "not run": not_run(case.case_id)}[damage]


@given(st.lists(st.tuples(answered, damages), min_size=1, max_size=8), limits, st.floats(0.1, 1.0))
def test_no_failure_can_open_a_gate(pairs: list[tuple[EvaluationCaseResult, str]], limit: float, hurry: float) -> None:
    """What a gate refuses it refuses as well after errors, lost scores and cases not run, which may save time."""
    whole = [case.model_copy(update={"case_id": str(number)}) for number, (case, _) in enumerate(pairs)]
    worse = [_damaged(case, damage) for case, (_, damage) in zip(whole, pairs, strict=True)]
    time = 0.5 * hurry if any(damage in ("error", "not run") for _, damage in pairs) else 0.5
    gates = [Threshold(name, quantity.bound, limit) for name, quantity in QUANTITIES.items()]
    gates += [Threshold("a", "min", limit), Threshold("a", "max", limit)]
    before = check_report(gates, report_of(whole, ("a", "b"), query_seconds={MODE: 0.5}))
    after = check_report(gates, report_of(worse, ("a", "b"), query_seconds={MODE: time}))
    for was, now in zip(before, after, strict=True):
        assert was.passed or not now.passed, (was.reason, now.reason)
        assert now.value is None or math.isfinite(now.value)
