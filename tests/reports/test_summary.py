"""The summary of a run, line by line."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_heta.records import (
    EvaluationCaseResult,
    EvaluationError,
    EvaluationReport,
    GoldLabel,
    KnowledgeBaseReport,
    RankedHit,
)
from pytest_heta.reports.gates import check_report
from pytest_heta.reports.summary import summary_lines
from pytest_heta.reports.text import cells
from pytest_heta.reports.thresholds import parse_threshold
from tests.reports.samples import MODE, errored, finished, not_run, report_of

METRICS = ("beir_ndcg@1", "beir_ndcg@10", "beir_recall@10", "answer_f1")


def _case(case_id: str, value: float, **fields: Any) -> EvaluationCaseResult:
    scores = {"beir_ndcg@1": value, "beir_ndcg@10": value / 2, "beir_recall@10": 1.0, "answer_f1": None}
    return finished(case_id, scores, **fields)


def _text(report: EvaluationReport, **options: Any) -> str:
    return "\n".join(line.text for line in summary_lines(report, **options))


def test_a_whole_summary() -> None:
    """Title, sizes, a row a metric family and a column a k, counts, speed, notable cases, gates, and the file."""
    cases = [
        _case("1", 1.0, query="first query", latency_ms=2.0),
        _case("2", 0.25, query="second\nquery", latency_ms=30.0, shallow=True),
        _case("3", 0.75, latency_ms=4.0, hits=()),
    ]
    report = report_of(
        cases,
        METRICS,
        query_seconds={MODE: 0.05},
        durations={"build_seconds": 2.5, "total_seconds": 75.0},
        metadata={"concurrency": 8},
    )
    thresholds = [parse_threshold("ndcg@10=0.3", "min"), parse_threshold("recall@10=0.5", "max")]
    report = report.model_copy(update={"gates": check_report(thresholds, report)})
    assert _text(report, report_paths=["out/report.json"]).split("\n") == [
        "beir_scifact@test (official), recipe vector",
        "  3 cases, 1 run unit, 1 mode",
        "  1 knowledge base built in 2.50 s",
        "  time: build 2.50 s, total 1 min 15 s",
        "",
        "vector_search    mean      @1     @10",
        "  ndcg                 0.6667  0.3333",
        "  recall                       1.0000",
        "  answer_f1         -",
        "  3 planned: 3 scored, 0 unscored, 0 errored, 0 not run (ndcg@1, ndcg@10,",
        "    recall@10)",
        "  3 planned: 0 scored, 3 unscored, 0 errored, 0 not run (answer_f1)",
        "  queried in 0.05 s, 60.0 queries a second, concurrency 8",
        "  latency in ms: p50 4.00, p95 30.0, p99 30.0, mean 12.0",
        "  1 case with fewer documents than the deepest metric looks at",
        "  1 case with no hit",
        "  lowest ndcg@10",
        "    0.1250  case 2: second query",
        "    0.3750  case 3",
        "  slowest, in ms",
        "    30.0  case 2: second query",
        "    4.00  case 3",
        "    2.00  case 1: first query",
        "",
        "gates: 1 of 2 passed",
        "  pass  ndcg@10 = 0.333, at least 0.300 (beir_scifact, vector_search, 3 cases)",
        "  FAIL  recall@10 = 1.000, above the maximum 0.500 (beir_scifact, vector_search,",
        "        3 cases)",
        "",
        "report: out/report.json",
    ]


def test_styles_say_what_is_good_and_what_is_bad() -> None:
    """Titles are bold, a passed gate good, a failed gate, a failure count and an error bad."""
    report = report_of([finished("1", {"beir_ndcg@10": 1.0}), errored("2")])
    thresholds = [parse_threshold("ndcg@10=0.3", "min"), parse_threshold("ndcg@10=0.6", "min")]
    lines = summary_lines(report.model_copy(update={"gates": check_report(thresholds, report)}))
    styles = {line.text.split()[0]: line.style for line in lines if line.text}
    assert (styles["beir_scifact@test"], styles["pass"], styles["FAIL"]) == ("bold", "good", "bad")
    assert (styles["2"], styles["1"]) == ("bad", "bad")  # "2 planned: ..." and "1 x QueryError: ..."


def test_errors_are_grouped_by_message() -> None:
    """Messages that differ in numbers are one; the most frequent first; a lost score or failed build is one."""
    error = EvaluationError(message="disk full", error_type="BuildError")
    report = report_of(
        [
            errored("1", "HTTP 503"),
            errored("2", "timeout after 3.1 s"),
            errored("3", "timeout after 4 s"),
            finished("4", {}),
        ],
        knowledge_bases=(KnowledgeBaseReport(unit_id="u", name="kb-u", error=error),),
    )
    text = _text(report)
    assert text[text.index("errors:") :].split("\n") == [
        "errors: 5",
        "  2 x QueryError: timeout after 3.1 s",
        "      first: case 2 (vector_search)",
        "  1 x BuildError: disk full",
        "      in: knowledge base kb-u",
        "  1 x QueryError: HTTP 503",
        "      in: case 1 (vector_search)",
        "  1 x no score for beir_ndcg@10",
        "      in: case 4 (vector_search)",
    ]
    assert "  1 knowledge base failed to build" in text


def test_many_kinds_of_errors_are_counted_to_the_end() -> None:
    """What is not shown is said to be there."""
    report = report_of([errored(letter, f"problem {letter}") for letter in "abcdefg"])
    assert "  2 more of 2 other kinds, see the report" in _text(report)


def test_the_official_view_is_shown_where_something_failed() -> None:
    """It is named as such, and lies beside the mean that counts failures as 0."""
    assert "official" not in _text(report_of([_case("1", 0.5)], METRICS)).replace("(official)", "")
    lines = _text(report_of([_case("1", 0.5), errored("2")], METRICS)).split("\n")
    start = lines.index("  official view: what the benchmark's own script would print, failures left out")
    assert "  ndcg                 0.2500  0.1250" in lines[:start]
    assert "  ndcg                 0.5000  0.2500" in lines[start:]


def test_cases_that_were_not_run_are_counted() -> None:
    """The counts of a run that stopped early say so."""
    assert "2 planned: 1 scored, 0 unscored, 0 errored, 1 not run" in _text(
        report_of([finished("1", {"beir_ndcg@10": 1.0}), not_run("2")])
    )


def test_amortised_times_are_marked_and_not_ranked() -> None:
    """A share of a batch is no time of a case, so no case is the slowest."""
    text = _text(report_of([_case("1", 0.5, latency_ms=2.0, amortised=True)], METRICS))
    assert "p99 2.00, mean 2.00 (all amortised)" in text
    assert "slowest" not in text


def test_lowest_cases_are_stable_and_leave_out_the_best() -> None:
    """Ties come in the order of the report; where all are equal, none is the lowest."""
    cases = [_case(case_id, value) for case_id, value in [("9", 0.0), ("1", 0.0), ("5", 1.0), ("2", 0.5), ("0", 0.0)]]
    text = _text(report_of(cases, METRICS))
    assert text[text.index("  lowest") :].split("\n")[1:] == [
        "    0.0000  case 9",
        "    0.0000  case 1",
        "    0.0000  case 0",
    ]
    assert "lowest" not in _text(report_of([_case("1", 0.0), _case("2", 0.0)], METRICS))


def test_knowledge_bases_from_the_cache_are_told_from_built_ones() -> None:
    """The build time is that of the ones that were built."""
    bases = tuple(KnowledgeBaseReport(unit_id=u, name=u, build_seconds=4.0, cached=u != "a") for u in "abc")
    text = _text(report_of([_case("1", 1.0)], METRICS, knowledge_bases=bases))
    assert "  1 knowledge base built in 4.00 s, 2 knowledge bases from the cache" in text


def test_metrics_that_look_alike_keep_their_whole_names() -> None:
    """No row of the table hides another."""
    text = _text(report_of([finished("1", {"uda_f1": 0.25, "f1": 0.75})], ("uda_f1", "f1")))
    assert "  uda_f1       0.2500\n  f1           0.7500" in text


@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    """Many depths go into blocks, long names and queries are cut, sentences wrapped."""
    metrics = [f"beir_{'a_long_name_' * 4}@{k}" for k in range(1, 15)]
    cases = [
        finished(str(n) * 30, dict.fromkeys(metrics, n / 4), query="中文查询" * 40, latency_ms=1.0) for n in range(4)
    ]
    report = report_of([*cases, errored("e", "word " * 50)], metrics)
    report = report.model_copy(update={"gates": check_report([parse_threshold(f"{metrics[0]}=0.9", "min")], report)})
    lines = summary_lines(report, width=width)
    assert max(cells(line.text) for line in lines) <= width
    shown = " ".join(line.text for line in lines if line.style == "bold").split()
    assert [f"@{k}" for k in range(1, 15)] == [word for word in shown if word.startswith("@")][:14]


def test_ids_that_are_not_the_benchmarks_are_told() -> None:
    """Where no case finds a gold document, a found and a wanted id stand side by side; one that does silences it."""
    gold = (GoldLabel(document_id="leave", relevance=1.0),)
    foreign = [
        finished(str(number), {"beir_ndcg@10": 0.0}, gold=gold, hits=(RankedHit(id="x", document_id="DOC-7"),))
        for number in range(3)
    ]
    text = "\n".join(line.text for line in summary_lines(report_of(foreign), width=500))
    assert (
        "note: vector_search: not one of the 3 hits of 3 cases is a gold document; are their ids those of the "
        "benchmark? Found for 0: DOC-7; gold: leave"
    ) in text
    right = finished("3", {"beir_ndcg@10": 1.0}, gold=gold, hits=(RankedHit(id="y", document_id="leave"),))
    assert "not one of" not in "\n".join(line.text for line in summary_lines(report_of([*foreign, right]), width=500))


def test_a_shard_judges_no_gate() -> None:
    """Its values stand there without a verdict, which the merge gives."""
    report = report_of([finished("1", {"beir_ndcg@10": 0.5})], selection={"shard": "1/2"})
    report = report.model_copy(update={"gates": check_report([parse_threshold("ndcg@10=0.6", "min")], report)})
    lines = [line.text for line in summary_lines(report, width=120)]
    assert "gates: judged when the shards are merged; so far" in lines
    assert [line for line in lines if "0.500" in line and "0.600" in line]
    assert not [line for line in lines if "FAIL" in line]
