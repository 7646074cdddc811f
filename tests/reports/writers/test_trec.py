"""TREC files: original ids, strict ties, and the report's own numbers when trec_eval scores them."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import pytrec_eval
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_heta.errors import ReportError
from pytest_heta.evaluators.ranking import BeirRetrievalMetric
from pytest_heta.keys import safe_document_id
from pytest_heta.records import (
    BenchmarkCase,
    BenchmarkEvidence,
    BenchmarkExpected,
    EvaluationCaseResult,
    EvaluationReport,
    GoldLabel,
    QueryResponse,
    QueryResult,
    RankedHit,
)
from pytest_heta.reports.writers import write_report_file
from pytest_heta.reports.writers.trec import strictly_falling
from tests.reports.samples import errored, finished, not_run, report_of

METRICS = [BeirRetrievalMetric(measure, k) for measure in ("ndcg", "map", "recall", "precision") for k in (1, 3, 10)]
TREC_NAMES = {"ndcg": "ndcg_cut", "map": "map_cut", "recall": "recall", "precision": "P"}


def _case(case_id: str, ranking: Sequence[tuple[str, float | None]], gold: Mapping[str, int]) -> EvaluationCaseResult:
    """Return the result of a case as a run records it: ids of documents are safe forms, scores are the evaluators'."""
    evidence = tuple(
        BenchmarkEvidence(
            reference_id=safe_document_id(one),
            metadata={"relevance": grade, "beir_doc_id": one, "beir_document_id": safe_document_id(one)},
        )
        for one, grade in gold.items()
    )
    case = BenchmarkCase(case_id=case_id, query="q", expected=BenchmarkExpected(evidence=evidence))
    documents = [safe_document_id(document) for document, _ in ranking]
    results = tuple(QueryResult(id=document, kind="document") for document in documents)
    response = QueryResponse(mode="m", results=results)
    scores = [asyncio.run(metric.evaluate(case=case, response=response)) for metric in METRICS]
    hits = tuple(
        RankedHit(id=f"{document}#{place}", document_id=document, score=score)
        for place, (document, (_, score)) in enumerate(zip(documents, ranking, strict=True))
    )
    labels = tuple(
        GoldLabel(document_id=safe_document_id(one), relevance=grade, original_id=one) for one, grade in gold.items()
    )
    return finished(case_id, {}, hits=hits, gold=labels).model_copy(update={"scores": tuple(scores)})


def _report(cases: Sequence[EvaluationCaseResult], **fields: Any) -> EvaluationReport:
    return report_of(cases, [metric.name for metric in METRICS], **fields)


def _trec_means(run: Path, qrels: Path) -> dict[str, float]:
    """Return what trec_eval -c says of two files."""
    with run.open() as file:
        rankings = pytrec_eval.parse_run(file)
    with qrels.open() as file:
        grades = pytrec_eval.parse_qrel(file)
    measures = {f"{name}.1,3,10" for name in TREC_NAMES.values()}
    found = pytrec_eval.RelevanceEvaluator(grades, measures).evaluate(rankings)
    return {
        metric.name: math.fsum(values[f"{TREC_NAMES[metric.metric]}_{metric.k}"] for values in found.values())
        / len(grades)
        for metric in METRICS
    }


names = st.sampled_from(["d1", "d2", "d3", "d/4", "é5", ".d6", "d=41", "q0", "q1"])
rankings = st.lists(st.tuples(names, st.sampled_from([0.1, 0.1 + 1e-12, 1.0, 2.5, -3.0, None])), max_size=20)
golds = st.dictionaries(names.filter(lambda name: name[0] != "q"), st.integers(1, 3), min_size=1, max_size=5)


@given(st.lists(st.tuples(rankings, golds), min_size=1, max_size=4))
@settings(deadline=None, max_examples=60)
def test_trec_eval_gives_the_numbers_of_the_report(tmp_path_factory: pytest.TempPathFactory, asked: Any) -> None:
    """Whatever the scores, ties and order of the hits, duplicates and the query's own document among them."""
    report = _report([_case(f"q{number}", ranking, gold) for number, (ranking, gold) in enumerate(asked)])
    folder = tmp_path_factory.mktemp("trec")
    (run,), (qrels,) = (write_report_file(folder / f"x{suffix}", report) for suffix in (".run", ".qrels"))
    expected = {metric.name: report.score_summary[f"vector_search.{metric.name}"] for metric in METRICS}
    assert _trec_means(run, qrels) == pytest.approx(expected, abs=1e-9)


def test_an_errored_case_counts_nothing_and_one_that_was_not_run_has_no_judgement(tmp_path: Path) -> None:
    """The errored one is judged and has no ranking, so that trec_eval -c counts it 0, as the report does."""
    gold = (GoldLabel(document_id="d1"),)
    cases = [_case("q1", [("d1", 1.0)], {"d1": 1}), errored("q2", gold=gold), not_run("q3")]
    report = _report([*cases[:2], cases[2].model_copy(update={"gold": gold})])
    (run,), (qrels,) = (write_report_file(tmp_path / f"x{suffix}", report) for suffix in (".run", ".qrels"))
    assert qrels.read_text() == "q1 0 d1 1\nq2 0 d1 1\n"
    assert run.read_text() == "q1 Q0 d1 1 1 vector-vector_search\n"
    assert _trec_means(run, qrels)["beir_ndcg@10"] == report.score_summary["vector_search.beir_ndcg@10"] == 0.5


def test_ids_are_the_original_ones(tmp_path: Path) -> None:
    """Safe forms are turned back, also of documents that are not gold; a digest is not, but where the gold knows it."""
    long = "é" + "x" * 160
    report = _report([_case("q/1", [("a/b", 2.0), ("c=d", 1.5), (long, 1.0)], {"a/b": 2, long: 1})])
    (run,), (qrels,) = (write_report_file(tmp_path / f"x{suffix}", report) for suffix in (".run", ".qrels"))
    assert [line.split()[:3] for line in run.read_text().splitlines()] == [
        ["q/1", "Q0", "a/b"],
        ["q/1", "Q0", "c=d"],
        ["q/1", "Q0", long],
    ]
    assert qrels.read_text() == f"q/1 0 a/b 2\nq/1 0 {long} 1\n"


def test_ids_with_white_space_are_written_in_their_safe_form(tmp_path: Path) -> None:
    """Then all ids of that kind are, so that run and qrels agree and no two collide."""
    report = _report([_case("my query", [("The Beatles", 2.0), ("a/b", 1.0)], {"a/b": 1})])
    (run,), (qrels,) = (write_report_file(tmp_path / f"x{suffix}", report) for suffix in (".run", ".qrels"))
    assert [line.split()[:3] for line in run.read_text().splitlines()] == [
        ["my=20query", "Q0", "The=20Beatles"],
        ["my=20query", "Q0", "a=2Fb"],
    ]
    assert qrels.read_text() == "my=20query 0 a=2Fb 1\n"


def test_a_run_of_several_modes_is_one_file_a_mode(tmp_path: Path) -> None:
    """Mixed in one file, they would be rankings with every document twice."""
    cases = [finished("q1", {}, mode=mode) for mode in ("bm25", "vec/tor")]
    paths = write_report_file(tmp_path / "x.run", report_of(cases, (), ("bm25", "vec/tor")))
    assert [path.name for path in paths] == ["x.bm25.run", "x.vec=2Ftor.run"]
    assert paths[1].read_text() == "q1 Q0 d1 1 1.5 vector-vec/tor\n"


def test_case_ids_that_units_share_are_told_apart(tmp_path: Path) -> None:
    """The unit's id goes before them."""
    cases = [finished("q", {}, unit_id=unit, gold=(GoldLabel(document_id="d1"),)) for unit in ("u1", "u2")]
    (path,) = write_report_file(tmp_path / "x.qrels", report_of(cases, ()))
    assert path.read_text() == "u1:q 0 d1 1\nu2:q 0 d1 1\n"


def test_a_hit_without_a_document_keeps_its_rank(tmp_path: Path) -> None:
    """It is written under the id of the hit, behind a question mark."""
    hits = (RankedHit(id="c 1", score=2.0), RankedHit(id="c2", document_id="d", score=1.0))
    (path,) = write_report_file(tmp_path / "x.run", report_of([finished("q", {}, hits=hits)], ()))
    assert [line.split()[2] for line in path.read_text().splitlines()] == ["=3Fc=201", "d"]


def test_grades_that_qrels_cannot_hold_are_an_error(tmp_path: Path) -> None:
    """trec_eval would read 0.5 as 0."""
    case = finished("q7", {}, gold=(GoldLabel(document_id="d1", relevance=0.5),))
    with pytest.raises(ReportError, match=r"case q7: TREC qrels hold whole grades only, not 0\.5 \(d1\)"):
        write_report_file(tmp_path / "x.qrels", report_of([case], ()))


@given(st.lists(st.floats(-1e30, 1e30), max_size=30))
def test_scores_fall_strictly_as_32_bit_floats(scores: list[float]) -> None:
    """trec_eval compares scores as such floats and breaks ties by document id, which is not the order of the hits."""
    falling = np.array(strictly_falling(scores), dtype=np.float32)
    assert len(falling) == len(scores)
    assert all(later < earlier for earlier, later in pairwise(falling))
    assert [float(f"{value:.9g}") for value in falling.tolist()] == pytest.approx(falling.tolist(), rel=1e-8)


def test_scores_that_fall_are_kept_and_others_give_way() -> None:
    """A tie takes the next lower float; a missing score turns all into ranks from the end."""
    assert strictly_falling([2.5, 1.0, -1.0]) == [2.5, 1.0, -1.0]
    tied = strictly_falling([1.0, 1.0, 0.5])
    assert tied == [1.0, float(np.nextafter(np.float32(1), np.float32(0))), 0.5]
    assert strictly_falling([0.7, None, 0.9]) == [3.0, 2.0, 1.0]
    assert strictly_falling([1e300, 1.0]) == [2.0, 1.0]
