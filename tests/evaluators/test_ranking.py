"""The ranking measures, by hand and against trec_eval."""

from __future__ import annotations

import io
import json
import math
import re
import zipfile
from typing import Any

import pytest
import pytrec_eval
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_heta.errors import DataError, UnknownNameError, UsageError
from pytest_heta.evaluators import BeirRetrievalMetric, rank_documents, ranking_measure, relevant_documents
from pytest_heta.evaluators.ranking import RANKING_MEASURES
from pytest_heta.keys import safe_document_id
from pytest_heta.records import BenchmarkEvidence, QueryResult
from tests.evaluators.builders import evidenced, folder, hit, judged, response, score, values
from tests.shared_data import shared_data

CUTS = (1, 3, 5, 10, 100)
TREC_NAMES = {"ndcg": "ndcg_cut", "map": "map_cut", "recall": "recall", "precision": "P"}
ALL = [BeirRetrievalMetric(metric=metric, k=k) for metric in RANKING_MEASURES for k in CUTS]


def trec_values(grades: dict[str, int], ranking: list[str]) -> dict[str, float]:
    """Return what trec_eval says of a ranking whose scores fall strictly, by our names."""
    run = {document: float(len(ranking) - place) for place, document in enumerate(ranking)}
    measures = {f"{name}.{','.join(map(str, CUTS))}" for name in TREC_NAMES.values()}
    found = pytrec_eval.RelevanceEvaluator({"q1": grades}, measures).evaluate({"q1": run})["q1"]
    return {f"beir_{ours}@{k}": found[f"{theirs}_{k}"] for ours, theirs in TREC_NAMES.items() for k in CUTS}


def reciprocal_ranks(grades: dict[str, int], ranking: list[str]) -> dict[str, float]:
    """Return BEIR's MRR, counted straight from its definition."""
    ranks = [place for place, document in enumerate(ranking, 1) if grades.get(document, 0) > 0]
    return {f"beir_mrr@{k}": 1 / ranks[0] if ranks and ranks[0] <= k else 0.0 for k in CUTS}


documents = st.integers(0, 130).map(lambda number: f"d{number}")


@given(
    grades=st.dictionaries(documents, st.integers(-2, 4), max_size=40),
    hits=st.lists(documents, max_size=150),
)
@settings(deadline=None, max_examples=150)
def test_every_measure_equals_trec_eval_on_random_graded_runs(grades: dict[str, int], hits: list[str]) -> None:
    """All measures at all cuts equal trec_eval's on chunk rankings with duplicates, gaps and grades <= 0."""
    got = values(ALL, judged(grades), response(*(hit(document, number) for number, document in enumerate(hits))))
    if not any(grade > 0 for grade in grades.values()):
        assert set(got.values()) == {None}
        return
    ranking = list(dict.fromkeys(hits))
    expected = reciprocal_ranks(grades, ranking)
    expected |= trec_values(grades, ranking) if ranking else {name: 0.0 for name in got if name not in expected}
    assert got == pytest.approx(expected, abs=1e-9)


def test_each_measure_by_hand() -> None:
    """Grades 2 at rank 2 and 1 at rank 4, with a grade 1 missed, give the values worked out on paper."""
    gains, ranking = {"a": 2, "b": 1, "c": 1}, ["x", "a", "y", "b"]
    dcg, ideal = 2 / math.log2(3) + 1 / math.log2(5), 2 + 1 / math.log2(3) + 1 / math.log2(4)
    assert ranking_measure("ndcg", gains, ranking, 10) == pytest.approx(dcg / ideal, abs=1e-12)
    assert ranking_measure("ndcg", gains, ranking, 2) == pytest.approx(
        2 / math.log2(3) / (2 + 1 / math.log2(3)), abs=1e-12
    )
    assert ranking_measure("map", gains, ranking, 3) == pytest.approx(1 / 2 / 3, abs=1e-12)
    assert ranking_measure("map", gains, ranking, 4) == pytest.approx((1 / 2 + 2 / 4) / 3, abs=1e-12)
    assert ranking_measure("recall", gains, ranking, 4) == pytest.approx(2 / 3, abs=1e-12)
    assert ranking_measure("precision", gains, ranking, 5) == pytest.approx(2 / 5, abs=1e-12)
    assert ranking_measure("mrr", gains, ranking, 10) == 0.5
    assert ranking_measure("mrr", gains, ranking, 1) == 0.0


def test_a_document_twice_in_a_plain_ranking_counts_once() -> None:
    """ranking_measure itself removes duplicates, so that none can be counted twice."""
    assert ranking_measure("recall", {"a": 1, "b": 1}, ["a", "a", "b"], 2) == 1.0


def test_chunks_of_one_document_take_one_rank() -> None:
    """Ten chunks of one document are one document at its best place."""
    results = [*(hit("a", number) for number in range(10)), hit("b")]
    assert score(BeirRetrievalMetric("mrr", 2), judged({"b": 1}), response(*results)).value == 0.5


def test_order_is_the_order_of_the_knowledge_base() -> None:
    """Scores that contradict the order of the hits are not sorted again."""
    results = [hit("a").model_copy(update={"score": 0.1}), hit("b").model_copy(update={"score": 0.9})]
    assert rank_documents(judged({"a": 1}), response(*results)) == ["a", "b"]


def test_the_query_s_own_document_is_dropped_before_the_cut() -> None:
    """The document with the query's id gives its place to the next one, unless that is switched off."""
    case, given_ = judged({"a": 1}, case_id="q 1"), response(hit("q=201"), hit("a"))
    assert score(BeirRetrievalMetric("recall", 1), case, given_).value == 1.0
    assert score(BeirRetrievalMetric("recall", 1, drop_query_id=False), case, given_).value == 0.0
    named = response(QueryResult(id="x", source={"document_id": "q 1"}), hit("a"))
    assert rank_documents(case, named) == ["a"]


def test_a_document_that_only_looks_like_the_query_is_kept() -> None:
    """A raw key holds a safe form: ``q=201`` there is ``q 1``, and not a query whose id is ``q=201``."""
    assert rank_documents(judged({"a": 1}, case_id="q=201"), response(hit("q=201"))) == ["q=201"]


def test_a_hit_without_a_document_keeps_its_rank() -> None:
    """What names no document cannot be relevant, and nothing rises because of it."""
    unknown = QueryResult(id="a", text="…")
    assert rank_documents(judged({"a": 1}), response(unknown, hit("a"))) == ["?a", "a"]
    assert score(BeirRetrievalMetric("mrr", 10), judged({"a": 1}), response(unknown, hit("a"))).value == 0.5


@pytest.mark.parametrize(
    "result",
    [
        QueryResult(id="1", source={"object_key": "raw/benchmarks/beir_x/test/Caf=C3=A9=20A/x.txt"}),
        QueryResult(id="2", metadata={"source_key": "raw/benchmarks/beir_x/test/Caf=C3=A9=20A/x.txt"}),
        QueryResult(id="3", source={"document_id": "Café A"}),
        QueryResult(id="4", source={"document_id": "Caf=C3=A9=20A"}),
        QueryResult(id="Café A", kind="document"),
    ],
)
def test_a_hit_may_name_its_document_in_any_form(result: QueryResult) -> None:
    """Raw keys, safe ids and original ids all lead to the same document."""
    evidence = BenchmarkEvidence(
        reference_id="Caf=C3=A9=20A",
        metadata={"beir_doc_id": "Café A", "beir_document_id": "Caf=C3=A9=20A", "relevance": 1},
    )
    assert score(BeirRetrievalMetric("recall", 1), evidenced(evidence), response(result)).value == 1.0


def test_original_and_safe_ids_that_look_alike_are_told_apart() -> None:
    """``a=20b`` in a key is the document ``a b``; as an explicit id it is the gold document of that name."""
    original = "a=20b"
    safe = safe_document_id(original)
    evidence = BenchmarkEvidence(
        reference_id=safe, metadata={"beir_doc_id": original, "beir_document_id": safe, "relevance": 1}
    )
    explicit = QueryResult(id="x", source={"document_id": original})
    assert rank_documents(evidenced(evidence), response(hit(original), explicit)) == ["a=20b", "a=3D20b"]


def test_the_highest_of_several_grades_counts() -> None:
    """Two evidences for one document are one document with the higher grade; by default a grade is 1."""
    one = BenchmarkEvidence(locator={"source_key": f"{folder('d')}d.txt"}, metadata={"relevance": 1})
    two = BenchmarkEvidence(locator={"document_id": "d"}, metadata={"relevance": 3})
    plain, none = BenchmarkEvidence(reference_id="e"), BenchmarkEvidence(text="only a text")
    assert relevant_documents(evidenced(one, two, plain, none)) == {"d": 3, "e": 1}


@pytest.mark.parametrize("case", [evidenced(), judged({"a": 0, "b": -1})])
def test_a_case_without_a_relevant_document_is_unscored(case: Any) -> None:
    """No evidence, or grades <= 0 only, give no value but a reason."""
    got = score(BeirRetrievalMetric("ndcg", 10), case, response(hit("a")))
    assert (got.value, got.metadata) == (None, {"reason": "the case has no relevant document"})


def test_judgements_of_other_responses_do_not_leak() -> None:
    """One metric used for two responses, two cases and both rules in turn gives each its own value."""
    metric, case = BeirRetrievalMetric("recall", 1), judged({"a": 1})
    good, bad = response(hit("a")), response(hit("b"))
    assert [score(metric, case, one).value for one in (good, bad, good)] == [1.0, 0.0, 1.0]
    assert score(metric, judged({"b": 1}), bad).value == 1.0
    own, kept = judged({"a": 1}, case_id="b"), BeirRetrievalMetric("recall", 1, drop_query_id=False)
    both = response(hit("b"), hit("a"))
    assert [score(one, own, both).value for one in (metric, kept, metric)] == [1.0, 0.0, 1.0]


def test_what_a_metric_says_of_itself() -> None:
    """Name, depth and rules are there for the engine, and the definition changes with the rule."""
    metric, kept = BeirRetrievalMetric("ndcg", 10), BeirRetrievalMetric("ndcg", 10, drop_query_id=False)
    assert (metric.name, metric.k, metric.distinct_documents, metric.drop_query_id) == ("beir_ndcg@10", 10, True, True)
    assert metric.definition != kept.definition


def test_bad_parameters_are_usage_errors() -> None:
    """An unknown metric lists the known ones; a cut that is not positive and a grade that is no number are refused."""
    with pytest.raises(UnknownNameError, match="did you mean 'ndcg'"):
        BeirRetrievalMetric("ndgc", 10)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="k must be at least 1"):
        ranking_measure("map", {}, [], 0)
    with pytest.raises(DataError, match="case 'q1': relevance must be a number, not 'high'"):
        relevant_documents(judged({"a": "high"}))


def test_scifact_with_a_real_bm25_run_equals_trec_eval() -> None:
    """On SciFact ranked by bm25s every case has trec_eval's values, and the mean nDCG@10 is BM25's known one."""
    bm25s, stemmer = pytest.importorskip("bm25s"), pytest.importorskip("Stemmer")
    corpus, queries, qrels = read_scifact()
    split = re.compile(r"(?u)\b\w\w+\b").findall
    stem = stemmer.Stemmer("english").stemWords
    retriever = bm25s.BM25()
    retriever.index([stem(split(text.lower())) for text in corpus.values()], show_progress=False)
    asked = [stem(split(queries[query].lower())) for query in qrels]
    found, _ = retriever.retrieve(asked, corpus=list(corpus), k=100, show_progress=False)
    total = 0.0
    for grades, ranking in zip(qrels.values(), found.tolist(), strict=True):
        got = values(ALL, judged(grades, case_id="no document"), response(*map(hit, ranking)))
        assert got == pytest.approx(trec_values(grades, ranking) | reciprocal_ranks(grades, ranking), abs=1e-9)
        total += got["beir_ndcg@10"] or 0.0
    assert 0.66 < total / len(qrels) < 0.70


def read_scifact() -> tuple[dict[str, str], dict[str, str], dict[str, dict[str, int]]]:
    """Return SciFact's corpus, queries and test judgements."""
    with zipfile.ZipFile(shared_data("beir/scifact.zip")) as archive:
        rows = {
            name: [json.loads(line) for line in archive.read(f"scifact/{name}.jsonl").split(b"\n") if line.strip()]
            for name in ("corpus", "queries")
        }
        lines = io.TextIOWrapper(archive.open("scifact/qrels/test.tsv"), encoding="utf-8").read().split()
    qrels: dict[str, dict[str, int]] = {}
    for query, document, grade in zip(lines[3::3], lines[4::3], lines[5::3], strict=True):
        qrels.setdefault(query, {})[document] = int(grade)
    return (
        {row["_id"]: f"{row['title']} {row['text']}" for row in rows["corpus"]},
        {row["_id"]: row["text"] for row in rows["queries"]},
        qrels,
    )
