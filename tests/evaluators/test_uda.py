"""The answer metrics of UDA-Benchmark, by hand and on the rows scored by its official scripts."""

from __future__ import annotations

import json
from typing import Any, Literal

import pytest

from pytest_heta.errors import DataError, UnknownNameError
from pytest_heta.evaluators import UDA_MEASURES, UdaAnswerMetric
from pytest_heta.evaluators.squad import bag_f1, squad_tokens, strict_tokens
from pytest_heta.records import BenchmarkCase, BenchmarkExpected, EvaluationScore
from tests.evaluators.builders import response, score
from tests.shared_data import shared_data

Mode = Literal["official", "strict"]


def scored(
    subset: str, gold: Any, prediction: str | None, mode: Mode = "official", measure: str | None = None
) -> EvaluationScore:
    """Score one prediction against one gold answer in the shape of the extended files."""
    metadata = {"uda": {"subset": subset, "answers": gold}}
    case = BenchmarkCase(case_id="q1", query="?", expected=BenchmarkExpected(metadata=metadata))
    return score(UdaAnswerMetric(subset, mode, measure), case, response(answer=prediction))


def both(subset: str, gold: Any, prediction: str, measure: str | None = None) -> tuple[float | None, float | None]:
    """Return the official and the strict value."""
    return (
        scored(subset, gold, prediction, "official", measure).value,
        scored(subset, gold, prediction, "strict", measure).value,
    )


def fin(text: str, executed: float | str) -> dict[str, float | str]:
    """Make a gold answer of fin."""
    return {"str_answer": text, "exe_answer": executed}


def tat(answer: Any, scale: str = "", kind: str = "span") -> dict[str, Any]:
    """Make a gold answer of tat."""
    return {"answer": answer, "answer_type": kind, "scale": scale}


def paper(*answers: str) -> list[dict[str, str]]:
    """Make a gold answer of paper_tab or paper_text."""
    return [{"answer": answer, "type": "extractive"} for answer in answers]


def test_every_official_row() -> None:
    """Every figure equals the official script's on all published rows of all subsets."""
    golds = {
        (subset, str(question["q_uid"])): question["answers"]
        for subset in UDA_MEASURES
        for questions in json.loads(
            shared_data(f"uda/extended_qa_info_bench/bench_{subset}_qa.json").read_text("utf-8")
        ).values()
        for question in questions
    }
    for line in shared_data("uda/official_scores.jsonl").read_text("utf-8").splitlines():
        row = json.loads(line)
        gold = golds[row["subset"], str(row["q_uid"])]
        for measure, expected in row["official"].items():
            got = scored(row["subset"], gold, row["prediction"], measure=measure).value
            assert got == pytest.approx(expected, abs=1e-9), (row, gold)


def test_token_f1_by_hand() -> None:
    """Articles, case and punctuation vanish; the overlap of the bags counts each token as often as both have it."""
    assert squad_tokens("The cat's a CAT, the an.") == ["cats", "cat"]
    assert bag_f1(["b", "b", "c"], ["b", "c", "c", "d"]) == pytest.approx(2 * (2 / 3) * (2 / 4) / (2 / 3 + 2 / 4))
    assert (bag_f1([], []), bag_f1(["a"], ["b"])) == (0.0, 0.0)
    assert (squad_tokens("1.5 1,234"), strict_tokens("1.5 1,234 the")) == (["15", "1234"], ["1.5", "1234"])


def test_the_prediction_follows_the_last_answer_phrase() -> None:
    """What stands before the last "The answer is:" does not count."""
    assert both("feta", "Paris", "The answer is: Rome. No! The answer is: Paris.\n") == (1.0, 1.0)
    assert scored("feta", "Paris", "The answer is Paris").value == pytest.approx(2 * (1 / 3) / (1 / 3 + 1))


def test_paper_takes_the_best_of_at_most_three_references() -> None:
    """The third reference counts officially, the fourth only strictly."""
    assert both("paper_text", paper("x", "y", "two words"), "two words") == (1.0, 1.0)
    assert both("paper_tab", paper("x", "y", "z", "word"), "word") == (0.0, 1.0)


def test_paper_yes_and_no() -> None:
    """A prediction that begins with the reference's yes or no counts as it; strictly only as a whole word."""
    assert both("paper_text", paper("Yes"), "Yes, because of BERT.") == (1.0, 1.0)
    assert both("paper_text", paper("No"), "not mentioned") == (1.0, 0.0)
    assert both("paper_text", paper("No"), "Yes, no doubt") == pytest.approx((0.5, 0.5))
    assert both("paper_text", paper("Yes, they do"), "yes") == pytest.approx((0.5, 0.5))


def test_nq_takes_the_better_of_short_and_long_answer() -> None:
    """Strictly the long answer counts only where there is no short one."""
    gold = {"short_answer": "nine", "long_answer": "there are nine judges"}
    assert both("nq", gold, "nine") == (1.0, 1.0)
    assert both("nq", gold, "there are nine judges") == pytest.approx((1.0, 2 * (1 / 4) / (1 / 4 + 1)))
    assert both("nq", {"short_answer": "", "long_answer": "nine judges"}, "nine judges") == (1.0, 1.0)


@pytest.mark.parametrize(
    ("gold", "prediction", "official", "strict"),
    [
        (fin("72.1%", 0.72093), "0.721", 1.0, 1.0),
        (fin("72.1%", 0.72093), "it was 72.1% overall", 1.0, 1.0),
        (fin("72.1%", 0.72093), "72.1", 0.0, 0.0),
        (fin("$ 193 million", 85.0), "$193", 1.0, 1.0),
        (fin("", 1234.0), "1,234 thousand", 1.0, 1.0),
        (fin("", 1234.0), "about 1,234 in all", 0.0, 1.0),
        (fin("-18", -18.0), "(18)", 1.0, 1.0),
        (fin("18", 18.0), "(18)", 0.0, 0.0),
        (fin("-0.5", -0.5), "-50%", 1.0, 1.0),
        (fin("20", 20.0), "from 12 to 20.0", 1.0, 1.0),
        (fin("20", 20.0), "20 in 2009", 1.0, 1.0),
        (fin("100", 100.0), "100.99", 1.0, 1.0),
        (fin("100", 100.0), "101.01", 0.0, 0.0),
        (fin("0%", 0.0), "0", 1.0, 1.0),
        (fin("0%", 0.0), "0.001", 0.0, 0.0),
        (fin("0.001%", 1e-05), "1e-05", 1.0, 1.0),
        (fin("yes", "yes"), "'Yes'.\n", 1.0, 1.0),
        (fin("no", "yes"), "no", 1.0, 1.0),
        (fin("yes", "yes"), "no", 0.0, 0.0),
        (fin("", "yes"), "", 0.0, 0.0),
        (fin("12", 12.0), "I don't know", 0.0, 0.0),
        ({"str_answer": "12", "exe_answer": None}, "none", 0.0, 0.0),
    ],
)
def test_financial_answers(gold: dict[str, Any], prediction: str, official: float, strict: float) -> None:
    """Numbers match within 1 % of their mean in any way of writing them, words as normalised words."""
    assert both("fin", gold, prediction) == (official, strict)


@pytest.mark.parametrize(
    ("gold", "prediction", "official", "strict"),
    [
        (tat(["2018"]), "2018.", (1.0, 1.0), (1.0, 1.0)),
        (tat(["2018"]), "it was 2018 overall", (0.0, 0.4), (0.0, 0.4)),
        (tat(12.9, "million", "arithmetic"), "12.9 million", (1.0, 1.0), (1.0, 1.0)),
        (tat(12.9, "million", "arithmetic"), "12.9", (0.0, 0.0), (0.0, 0.0)),
        (tat(16.36, "percent", "arithmetic"), "16.36%", (1.0, 1.0), (1.0, 1.0)),
        (tat(16.36, "percent", "arithmetic"), "0.1636", (1.0, 1.0), (1.0, 1.0)),
        (tat(16.36, "percent", "arithmetic"), "16.36", (0.0, 0.0), (0.0, 0.0)),
        (tat(0.02, "", "arithmetic"), "0.0201", (1.0, 1.0), (1.0, 1.0)),
        (tat(-5, "", "arithmetic"), "(5)", (1.0, 1.0), (1.0, 1.0)),
        (tat("2", "", "count"), "2", (1.0, 1.0), (1.0, 1.0)),
        (tat("2", "", "count"), "2.00", (0.0, 0.0), (1.0, 1.0)),
        (tat(["31,477"], "thousand"), "$31,477 thousand", (1.0, 1.0), (1.0, 1.0)),
        (tat(["p q", "r"]), "q p r", (0.0, 1.0), (0.0, 1.0)),
        (tat(["r", "p q"]), "r and p q", (0.0, 0.86), (1.0, 1.0)),
        (tat(["2018", "2019"]), "2018, 2019", (0.0, 0.67), (1.0, 1.0)),
        (tat(["2018", "2019"]), "it was 2018, 2019 overall", (0.0, 0.57), (0.0, pytest.approx(4 / 7))),
        (tat(["x"]), "", (0.0, 0.0), (0.0, 0.0)),
        (tat(0, "", "arithmetic"), "0", (1.0, 1.0), (1.0, 1.0)),
    ],
)
def test_answers_over_tables_and_text(
    gold: dict[str, Any], prediction: str, official: tuple[float, float], strict: tuple[float, Any]
) -> None:
    """Exact match and F1 apply scales; officially integers are no decimals and a leading number is the answer."""
    for place, measure in enumerate(("em", "f1")):
        assert both("tat", gold, prediction, measure) == (official[place], strict[place])


@pytest.mark.parametrize("subset", UDA_MEASURES)
def test_a_missing_prediction(subset: str) -> None:
    """A missing prediction is 0; that the official scripts leave it out is noted for the official view."""
    golds = {"fin": fin("1", 1.0), "tat": tat(["a"]), "feta": "a", "nq": {"short_answer": "a", "long_answer": ""}}
    gold = golds.get(subset, paper("a"))
    official, strict = scored(subset, gold, None), scored(subset, gold, None, "strict")
    assert (official.value, official.metadata["official"]) == (0.0, "left out")
    assert (strict.value, strict.metadata["reason"]) == (0.0, "the response has no answer")


@pytest.mark.parametrize(
    ("subset", "gold"),
    [
        ("fin", fin("", " ")),
        ("tat", tat([])),
        ("tat", tat("")),
        ("paper_tab", paper("", " ")),
        ("feta", ""),
        ("nq", {"short_answer": "", "long_answer": ""}),
        ("feta", None),
    ],
)
def test_without_a_gold_answer_there_is_no_score(subset: str, gold: Any) -> None:
    """A gold answer that is blank or absent is unscored and says so."""
    got = scored(subset, gold, "x")
    assert (got.value, got.metadata["reason"]) == (None, f"the case has no gold answer of uda:{subset}")


def test_a_case_of_another_subset_or_benchmark_is_unscored() -> None:
    """The metric of one subset does not judge another's cases."""
    other = BenchmarkExpected(metadata={"uda": {"subset": "feta", "answers": "x"}})
    for expected in (BenchmarkExpected(), other):
        case = BenchmarkCase(case_id="q", query="?", expected=expected)
        assert score(UdaAnswerMetric("nq"), case, response(answer="x")).value is None


def test_names_tell_measure_and_mode() -> None:
    """The first measure of a subset is the default, and the name and the score's metadata name the mode."""
    assert [UdaAnswerMetric(subset).name for subset in ("fin", "tat", "nq")] == ["uda_em", "uda_em", "uda_f1"]
    assert UdaAnswerMetric("tat", "strict", "f1").name == "uda_f1_strict"
    assert scored("feta", "x", "x", "strict").metadata == {"mode": "strict"}


def test_bad_parameters_and_gold() -> None:
    """Unknown subsets, modes and measures list the known ones; a malformed gold answer names its case."""
    with pytest.raises(UnknownNameError, match="known: fin, tat"):
        UdaAnswerMetric("tax")
    with pytest.raises(UnknownNameError, match="known: official, strict"):
        UdaAnswerMetric("fin", "lenient")  # type: ignore[arg-type]
    with pytest.raises(UnknownNameError, match="measure of uda:fin 'f1'"):
        UdaAnswerMetric("fin", measure="f1")
    with pytest.raises(DataError, match="case 'q1': malformed gold answer of uda:tat: KeyError"):
        scored("tat", {"answer": "x"}, "x")
