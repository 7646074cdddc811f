"""Containment and equality of answers."""

from __future__ import annotations

import pytest

from pytest_heta.evaluators import AnswerContains, AnswerExactMatch
from pytest_heta.evaluators.texts import whole_tokens
from tests.evaluators.builders import answered, response, score, texts


@pytest.mark.parametrize(
    ("answer", "gold"),
    [
        ("No, it did not.", "no"),
        ("It was the Eiffel Tower in Paris", "the Eiffel tower"),
        ("a total of $1,234.50 million", "1234.5 million"),
        ("about 57% of sales", "57 percent"),
        ("fell by \u221226", "-26"),
        ("in 2019\u20132023", "2023"),
        ("Zo\u0065\u0308 said so", "zo\u00eb"),
        ("the ﬁrst", "first"),
        ("首都是北京。", "北京"),
        ("共1,234.0元", "1234"),
        ("STRASSE", "straße"),
        ("5.0", "5"),
        ("Washington, D.C.", "Washington D.C."),
    ],
)
def test_an_answer_contains_a_gold_answer(answer: str, gold: str) -> None:
    """Case, punctuation, currency, number and Unicode forms do not matter."""
    got = score(AnswerContains(), answered("something else", gold), response(answer=answer))
    assert (got.name, got.value, got.metadata) == ("answer_contains", 1.0, {"judged": "answer"})


@pytest.mark.parametrize(
    ("answer", "gold"),
    [
        ("I know", "no"),
        ("1,234", "234"),
        ("12.5", "12"),
        ("covid19 and 12.5kg", "19"),
        ("covid19 and 12.5kg", "12"),
        ("57", "57%"),
        ("-26", "26"),
        ("vitamin b", "vitamin a"),
        ("tower of the Eiffel", "Eiffel tower"),
        ("", "x"),
    ],
)
def test_an_answer_does_not_contain_a_part_of_a_token(answer: str, gold: str) -> None:
    """Parts of words and numbers, another sign or unit, and another order are no containment."""
    assert score(AnswerContains(), answered(gold), response(answer=answer)).value == 0.0


def test_without_an_answer_the_results_are_judged() -> None:
    """A KB that only retrieves is judged by what one of its results says, and the score says so."""
    both = response(*texts("the capital is", "Paris, of course"))
    got = score(AnswerContains(), answered("Paris"), both)
    assert (got.value, got.metadata) == (1.0, {"judged": "results"})
    assert score(AnswerContains(), answered("capital is Paris"), both).value == 0.0
    assert score(AnswerContains(), answered("Paris"), response(*texts("Paris"), answer="")).value == 0.0
    assert score(AnswerContains(), answered("Paris"), response()).metadata == {"judged": "results"}


@pytest.mark.parametrize(
    ("answer", "expected"),
    [("The Eiffel Tower.", 1.0), ("eiffel tower", 1.0), ("the Eiffel Tower in Paris", 0.0), ("", 0.0)],
)
def test_exact_match_wants_the_whole_answer(answer: str, expected: float) -> None:
    """All tokens must be the same; an article at the head does not matter."""
    got = score(AnswerExactMatch(), answered("Big Ben", "Eiffel Tower"), response(answer=answer))
    assert (got.name, got.value) == ("answer_exact_match", expected)


def test_exact_match_without_an_answer_is_zero() -> None:
    """A missing answer counts, and the score says why, whatever the results contain."""
    got = score(AnswerExactMatch(), answered("Paris"), response(*texts("Paris")))
    assert (got.value, got.metadata) == (0.0, {"reason": "the response has no answer"})


@pytest.mark.parametrize("evaluator", [AnswerContains(), AnswerExactMatch()])
@pytest.mark.parametrize("golds", [(), ("?!",)])
def test_without_a_gold_answer_there_is_no_score(
    evaluator: AnswerContains | AnswerExactMatch, golds: tuple[str, ...]
) -> None:
    """A case without a gold answer that holds a word is unscored and says so."""
    got = score(evaluator, answered(*golds), response(answer="x"))
    assert (got.value, got.metadata) == (None, {"reason": "the case has no gold answer"})


def test_tokens_of_a_text() -> None:
    """Numbers lose commas and trailing zeros, a hyphen is no minus, a list is not one number."""
    assert whole_tokens("It's (1,234.50) or -7.00%: 10-20, 1,2,3; A_b 3rd 1.50kg") == [
        *("it", "s", "1234.5", "or", "-7", "%", "10", "20", "1", "2", "3", "a", "b", "3rd", "1.50kg"),
    ]
