"""One case in a terminal."""

from __future__ import annotations

import pytest

from pytest_heta.records import EvaluationCaseResult, EvaluationError, EvaluationScore, GoldLabel, RankedHit
from pytest_heta.reports.case_lines import case_lines, expected_and_found, ranking_lines
from pytest_heta.reports.slices import Slice
from pytest_heta.reports.text import cells
from pytest_heta.reports.thresholds import Threshold

GOLD = (
    GoldLabel(document_id="d2", relevance=2),
    GoldLabel(document_id="d9"),
    GoldLabel(document_id="d3", relevance=0),
    GoldLabel(text="a passage that is nowhere by name"),
)
HITS = tuple(RankedHit(id=f"d{n}#0", document_id=f"d{n}", score=1 / n, text=f"Text {n}.") for n in range(1, 13))
SCORES = (
    EvaluationScore(name="beir_ndcg@1", value=0.0),
    EvaluationScore(name="beir_ndcg@10", value=0.25),
    EvaluationScore.unscored("answer_f1", "no gold answer"),
)
CASE = EvaluationCaseResult(
    unit_id="u", case_id="c", mode="m", status="finished", query="why?", hits=HITS, gold=GOLD, scores=SCORES
)


def test_a_case_in_short() -> None:
    """Query, gold with grade and rank, bounded and headline scores, and ten hits with a star at relevant ones."""
    bounds = [
        Threshold("beir_ndcg@1", "min", 0.5),
        Threshold("beir_ndcg@10", "max", 0.9, mode="m"),
        Threshold("beir_ndcg@10", "max", 0.1, mode="another"),
        Threshold("beir_ndcg@10", "min", 0.7, where=Slice("kind", "other")),
    ]
    assert [line.text for line in case_lines(CASE, bounds)] == [
        "query: why?",
        'gold: d2 (grade 2, rank 2), d9 (grade 1, rank 9), d3 (grade 0, rank 3), "a',
        '  passage that is nowhere by name" (grade 1)',
        "scores: ndcg@1 0.000 (min 0.5), ndcg@10 0.250 (max 0.9), answer_f1 unscored",
        "rank      score   document  text (* gold)",
        "   1     1.0000   d1        Text 1.",
        "   2     0.5000 * d2        Text 2.",
        "   3     0.3333   d3        Text 3.",
        "   4     0.2500   d4        Text 4.",
        "   5     0.2000   d5        Text 5.",
        "   6     0.1667   d6        Text 6.",
        "   7     0.1429   d7        Text 7.",
        "   8     0.1250   d8        Text 8.",
        "   9     0.1111 * d9        Text 9.",
        "  10     0.1000   d10       Text 10.",
        "and 2 hits more",
    ]


def test_a_case_in_full() -> None:
    """All hits with the ids of their parts and their texts, the relevant ones in their own style."""
    lines = ranking_lines(CASE)
    assert [line.text for line in lines[-4:]] == [
        "    11     0.0909   d11  d11#0",
        "         Text 11.",
        "    12     0.0833   d12  d12#0",
        "         Text 12.",
    ]
    assert [line.text for line in lines if line.style == "good"] == [
        "     2     0.5000 * d2  d2#0",
        "     9     0.1111 * d9  d9#0",
    ]


def test_a_case_without_hits() -> None:
    """What is not there is said: gold, hits, scores, and the error and the answer that came instead."""
    error = EvaluationError(message="no\nanswer", error_type="TimeoutError")
    case = EvaluationCaseResult(
        unit_id="u", case_id="c", mode="m", status="errored", query="why?", error=error, answer="because"
    )
    assert [line.text for line in case_lines(case)] == [
        "query: why?",
        "gold: none",
        "answer: because",
        "TimeoutError: no answer",
        "scores: none",
        "no hits",
    ]
    assert ranking_lines(case)[-1].text == "  no hits"
    assert expected_and_found(case) == ("expected nothing", "found nothing")


def test_what_was_expected_and_found() -> None:
    """Relevant gold only, and stars at what was expected."""
    expected, found = expected_and_found(CASE)
    assert expected == 'expected d2, d9, "a passage that is nowhere by name"'
    assert found.startswith("found d1, d2*, d3, d4,")
    assert found.endswith("d10 and 2 more")


@pytest.mark.parametrize("width", [40, 80, 120])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    """Long and wide texts, ids and queries are cut or wrapped, and show no line break or escape sequence."""
    hits = [
        RankedHit(id="头" * 99, document_id=f"文档{n}" * 20, score=1e9, text="\x1b[31m中文\n" * 400) for n in range(3)
    ]
    case = CASE.model_copy(update={"query": "问题\r\n" * 90, "hits": tuple(hits), "answer": "x" * 200})
    for lines in (case_lines(case, width=width), ranking_lines(case, width)):
        assert all(line.text.isprintable() for line in lines)
        assert max(cells(line.text) for line in lines) <= width
