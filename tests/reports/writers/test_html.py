"""The page without a browser: complete, safe, small."""

from __future__ import annotations

import base64
import gzip
import json
import re
from hashlib import sha256
from html.parser import HTMLParser
from typing import Any

import pytest

from pytest_heta.errors import UsageError
from pytest_heta.records import EvaluationCaseResult, EvaluationReport, EvaluationScore, GoldLabel, RankedHit
from pytest_heta.reports.gates import check_report
from pytest_heta.reports.thresholds import parse_threshold
from pytest_heta.reports.writers.html import html_page, slice_labels
from pytest_heta.reports.writers.html_data import gold_ranks
from tests.reports.samples import errored, finished, not_run, report_of

NASTY = "</script></style><img src=x onerror=alert(1)>&amp;\"'`$title<!--data-->"
METRICS = ("ndcg@1", "ndcg@10", "recall@1", "recall@5", "recall@10")


class _Page(HTMLParser):
    """The elements of a page, with their attributes, and its visible text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


def _data(page: str) -> Any:
    match = re.search(r'id="data">([A-Za-z0-9+/=]*)</script>', page)
    assert match
    return json.loads(gzip.decompress(base64.b64decode(match[1])))


def _case(case_id: str, value: float = 0.5, **fields: Any) -> EvaluationCaseResult:
    gold = (GoldLabel(document_id="d1"),)
    return finished(case_id, dict.fromkeys(METRICS, value), **{"query": f"query {case_id}", "gold": gold, **fields})


def _nasty_report() -> EvaluationReport:
    hits = (RankedHit(id=NASTY, document_id=NASTY, text=NASTY),)
    case = _case(NASTY, query=NASTY, labels={NASTY: NASTY}, hits=hits, answer=NASTY, unit_id=NASTY, node_id=NASTY)
    report = report_of(
        [case, _case("2", labels={NASTY: "other"}), errored(f"{NASTY}2", NASTY)],
        METRICS,
        recipe={"name": NASTY, NASTY: NASTY},
        metadata={NASTY: [NASTY]},
    )
    return report.model_copy(update={"gates": check_report([parse_threshold("ndcg@10=0.9", "min")], report)})


def test_no_text_can_become_markup() -> None:
    """The page of a report full of markup has the elements of any page, and shows the texts as they are."""
    page = _Page(html_page(_nasty_report()))
    tags = {tag for tag, _ in page.elements}
    assert "img" not in tags
    assert sum(tag == "script" for tag, _ in page.elements) == 2
    assert sum(tag == "style" for tag, _ in page.elements) == 1
    assert not [name for _, attributes in page.elements for name in attributes if name.startswith("on")]
    assert NASTY in page.text
    assert _data(html_page(_nasty_report()))["cases"][0]["id"] == NASTY


def test_the_page_needs_nothing_beside_it() -> None:
    """No element refers to anything, and the security policy allows its own script and style sheet only."""
    source = html_page(_nasty_report())
    page = _Page(source)
    assert not [
        attributes for _, attributes in page.elements if attributes.keys() & {"src", "href", "srcset", "action"}
    ]
    policy = next(one["content"] for _, one in page.elements if one.get("http-equiv") == "Content-Security-Policy")
    assert policy is not None
    allowed = {
        kind: f"'sha256-{base64.b64encode(sha256(text.encode()).digest()).decode()}'"
        for kind, text in (
            ("style-src", source.split("<style>")[1].split("</style>")[0]),
            ("script-src", source.split("<script>")[1].split("</script>")[0]),
        )
    }
    expected = ["default-src 'none'", *(f"{kind} {digest}" for kind, digest in allowed.items()), "base-uri 'none'"]
    assert policy.split("; ") == expected


def test_all_that_matters_is_there_without_a_script() -> None:
    """Means, gates with their reasons, denominators, errors and charts are plain HTML and SVG."""
    page = _Page(html_page(_nasty_report()))
    assert "0.3333" in page.text  # two cases of 0.5 and an errored one
    assert "3 planned: 2 scored, 0 unscored, 1 errored (as 0), 0 not run" in page.text
    assert "ndcg@10 = 0.333, below the minimum 0.900" in page.text
    assert "0 of 1 gate passed" in page.text
    assert f"QueryError: {NASTY}" in page.text
    assert "recall at k" in page.text


def test_two_results_are_compared() -> None:
    """Differences are the report's minus the other's, over the cases that both have, with wins, ties and losses."""
    mine = report_of([_case("1", 0.75), _case("2", 0.5), _case("3", 0.25), _case("only mine", 1)], METRICS)
    other = report_of([_case("1", 0.25), _case("2", 0.5), _case("3", 0.5)], METRICS, recipe={"name": "bm25"})
    page = html_page(mine, [other])
    rows = re.findall(r"<tr>(<td.*?)</tr>", page.split('id="comparison"')[1].split("</section>")[0])
    cells = re.sub(r"</td><td[^>]*>", "|", rows[0])
    assert re.sub("<[^>]*>", "", cells).startswith("ndcg@10|0.5000|0.4167|+0.0833|")
    assert cells.endswith("|1|1|1</td>")
    assert _data(page)["entrants"] == ["vector, vector_search", "bm25, vector_search"]
    assert [result is None for result in _data(page)["results"][1]] == [False, False, False, True]


def test_other_benchmarks_are_refused() -> None:
    """Their numbers do not compare."""
    report = report_of([_case("1")], METRICS)
    benchmark = report.benchmark.model_copy(update={"name": "beir_nfcorpus"})
    with pytest.raises(UsageError, match="only reports of one benchmark can be compared"):
        html_page(report, [report.model_copy(update={"benchmark": benchmark})])


def test_two_runs_of_one_recipe_have_different_names() -> None:
    """Where label and mode are the same, the report's id tells them apart."""
    report = report_of([_case("1")], METRICS)
    page = html_page(report, [report.model_copy(update={"report_id": "r0"})])
    assert _data(page)["entrants"] == ["vector, vector_search (r1)", "vector, vector_search (r0)"]


def test_many_cases_stay_below_the_limit_by_keeping_fewer_hits() -> None:
    """Queries, scores and ranks of all cases stay; the rankings are cut, and the page says how much is left out."""
    # Digests, as gzip makes nothing of names that repeat.
    ids = [[sha256(b"%d %d" % (case, hit)).hexdigest()[:8] for hit in range(50)] for case in range(200)]
    cases = [
        _case(str(number), hits=tuple(RankedHit(id=one, document_id=one) for one in row), query=f"question {number}")
        for number, row in enumerate(ids)
    ]
    report = report_of(cases, METRICS)
    whole, bare = html_page(report), html_page(report, limit=1)
    limit = len(bare) + (len(whole) - len(bare)) * 2 // 5  # room for 8 of 20 hits
    cut = html_page(report, limit=limit)
    assert len(cut.encode()) < limit
    assert [len(_data(page)["results"][0][0].get("hits", [])) for page in (whole, cut, bare)] == [20, 5, 0]
    assert len(_data(cut)["cases"]) == 200
    assert _data(cut)["results"][0][199]["count"] == 50


def test_hits_are_marked_and_named_by_their_original_ids() -> None:
    """A hit is [document, is it gold, score, text]; a gold document is shown under the id of its data set."""
    gold = (GoldLabel(document_id="a=2Fb", original_id="a/b", relevance=2), GoldLabel(document_id="c", relevance=0))
    hits = (
        RankedHit(id="c#0", document_id="c", score=1.5),
        RankedHit(id="a=2Fb#3", document_id="a=2Fb", score=1 / 3, text="x" * 600),
        RankedHit(id="loose"),
    )
    data = _data(html_page(report_of([_case("1", gold=gold, hits=hits)], METRICS)))
    assert data["cases"][0]["gold"] == [["a/b", 2.0, None], ["c", 0.0, None]]
    assert data["results"][0][0]["hits"] == [
        ["c", 0, 1.5],
        ["a/b", 1, 0.3333, "x" * 500 + "…"],
        ["loose", 0, None],
    ]


def test_ranks_are_those_of_distinct_documents() -> None:
    """Chunks of one document take one rank, and the document with the query's own id takes none."""
    documents = ["q", "a", "a", "b", None, "g", "a", "h"]
    hits = tuple(RankedHit(id=str(place), document_id=document) for place, document in enumerate(documents))
    gold = (GoldLabel(document_id="g"), GoldLabel(document_id="h"), GoldLabel(document_id="missing"), GoldLabel())
    assert gold_ranks(finished("q", {}, hits=hits, gold=gold)) == [4, 5]


def test_what_became_of_a_case_is_kept() -> None:
    """Errors, cases that were not run and unscored ones are told apart."""
    cases = [errored("1", "boom"), not_run("2"), finished("3", {"ndcg@1": None})]
    errored_, not_run_, unscored = _data(html_page(report_of(cases, METRICS[:1])))["results"][0]
    assert (errored_["status"], errored_["error"]) == ("errored", "QueryError: boom")
    assert not_run_ == {"scores": [None], "status": "not_run"}
    assert (unscored["unscored"], unscored["scores"], unscored.get("status")) == ("no label", [None], None)


def test_slices_are_shown_for_labels_that_group_cases() -> None:
    """Not for one that all share or each has its own; a list counts for each of its members."""
    cases = [
        _case(str(number), number / 100, labels={"kind": "ab"[number % 2], "all": 1, "own": number, "tags": ["x", "y"]})
        for number in range(50)
    ]
    report = report_of([*cases, _case("none", 1.0)], METRICS)
    assert slice_labels(report) == ["all", "kind", "tags"]
    section = html_page(report).split('id="slices"')[1].split("</section>")[0]
    found = [re.sub("<[^>]*>", "|", row) for row in re.findall(r"<tr>(<td.*?)</tr>", section)]
    assert "|a||25||0.2400||0.2400|" in found
    assert "|b||25||0.2500||0.2500|" in found
    assert "|x||50||0.2450||0.2450|" in found
    assert "|(none)||1||1.0000||1.0000|" in found


def test_a_report_with_nothing_in_it_is_a_page() -> None:
    """No case, no metric, no gate: nothing to divide by."""
    assert "0 cases" in _Page(html_page(report_of([], ()))).text
    assert _data(html_page(report_of([not_run("1")], METRICS)))["cases"] == [{"id": "1", "unit": "corpus"}]


def test_unscored_scores_keep_their_place() -> None:
    """A metric that a case lacks is null in the row of its scores."""
    case = _case("1").model_copy(update={"scores": (EvaluationScore(name="ndcg@10", value=1 / 3),)})
    data = _data(html_page(report_of([case], METRICS)))
    assert data["results"][0][0]["scores"] == [None, 0.3333, None, None, None]
    assert data["metrics"][data["headline"]] == "ndcg@10"
