"""Answers without a language model."""

from __future__ import annotations

import subprocess
import sys

import pytest

from pytest_heta.knowledge import SentenceAnswerer

TEXTS = [
    "The museum opened in 1987. It was designed by Ada Stone. Entry is free on Sundays.",
    "In 2019 the museum had 1,250,000 visitors, up 4.5% from 2018. Parking costs $7.50 a day.",
    "The café sells tea.",
]


@pytest.mark.parametrize(
    ("query", "answer"),
    [
        ("Who designed this?", "It was designed by Ada Stone."),
        ("how many visitors came in 2019?", "1,250,000"),
        ("what is the percentage of growth of visitors from 2018 to 2019?", "1,250,000"),
        ("How much does parking cost for a day?", "$7.50"),
        ("When was the museum opened?", "1987"),
        ("In what year did the museum have visitors?", "2019"),
        ("Does the café sell coffee?", "The café sells tea."),
    ],
)
def test_the_answer_is_the_best_sentence_or_number(query: str, answer: str) -> None:
    """Numbers answer questions for numbers, years those for years; otherwise it is the best-matching sentence."""
    assert SentenceAnswerer().answer(query, TEXTS) == answer


def test_without_shared_words_the_first_sentence_of_the_best_chunk_is_the_answer() -> None:
    """A query that shares no word with what was found is answered from the first chunk; without chunks by nothing."""
    assert SentenceAnswerer().answer("zebra?", ["First one. Second.", "Third."]) == "First one."
    assert SentenceAnswerer().answer("zebra?", []) is None
    assert SentenceAnswerer().answer("zebra?", ["..."]) is None


def test_long_passages_are_read_line_by_line() -> None:
    """A table of a PDF, which has no sentence ends, is answered by one row."""
    table = "\n".join(f"row {number} of the table with some words {number * 3}" for number in range(20))
    assert SentenceAnswerer().answer("which words has row 7", [table]) == "row 7 of the table with some words 21"


def test_answers_do_not_depend_on_the_hash_seed() -> None:
    """The same question has the same answer in every process."""
    script = (
        "from pytest_heta.knowledge import SentenceAnswerer\n"
        "texts = [' '.join(f'w{i * j % 31} v{i * j % 17}' for j in range(9)) + '.' for i in range(200)]\n"
        "print(SentenceAnswerer().answer(' '.join(f'w{i} v{i}' for i in range(31)), texts))\n"
    )
    answers = {
        subprocess.run(
            [sys.executable, "-c", script], env={"PYTHONHASHSEED": seed}, capture_output=True, check=True
        ).stdout
        for seed in ("0", "1", "2")
    }
    assert len(answers) == 1
