"""Answers without a language model."""

from __future__ import annotations

import subprocess
import sys

import pytest

from pytest_heta.knowledge import SentenceAnswerer
from pytest_heta.knowledge.figures import Asked, figures
from pytest_heta.knowledge.passages import passages

TEXTS = [
    "The museum opened in 1987. It was designed by Ada Stone. Entry is free on Sundays.",
    "In 2019 the museum had 1,250,000 visitors, up 4.5% from 2018. Parking costs $7.50 a day.",
    "The café sells tea.",
]


TABLE = """Expenses in thousands
December 31, 2019 2018
Real estate taxes $ 398 $ 402
Interest (12.5) —
Salaries 1,500 1,000
In 2019 the board met twice."""


@pytest.mark.parametrize(
    ("query", "answer"),
    [
        ("Who designed this?", "It was designed by Ada Stone."),
        ("how many visitors came in 2019?", "1,250,000"),
        ("what is the percentage of growth of visitors?", "4.5%"),
        ("How much does parking cost for a day?", "$7.50"),
        ("When was the museum opened?", "1987"),
        ("In what year did the museum have visitors?", "2019"),
        ("Does the café sell coffee?", "The café sells tea."),
    ],
)
def test_the_answer_is_the_best_sentence_or_figure(query: str, answer: str) -> None:
    """Numbers answer questions for numbers, dates those for dates; otherwise it is the best-matching sentence."""
    assert SentenceAnswerer().answer(query, TEXTS) == answer


@pytest.mark.parametrize(
    ("query", "answer"),
    [
        ("What are the real estate taxes in 2018?", "$ 402"),
        ("What are salaries in 2018 and 2019 respectively?", "1,000, 1,500"),
        ("What are the real estate taxes?", "$ 398"),
        ("What is the change in salaries between 2018 and 2019?", "500"),
        ("What is the change in real estate taxes in 2019?", "-4"),
        ("What is the percentage change in salaries from 2018 to 2019?", "50%"),
        ("What are average salaries for 2018 and 2019?", "1250"),
        ("What is the total of salaries for 2018 and 2019?", "2500"),
        ("When did the board meet?", "2019"),
    ],
)
def test_a_table_row_answers_with_the_cells_of_the_years_asked_for(query: str, answer: str) -> None:
    """The line of years above a row says which cell is whose; what is asked of two cells is computed."""
    assert SentenceAnswerer().answer(query, [TABLE]) == answer


def test_a_sum_over_a_row_without_one_of_the_numbers_is_not_made() -> None:
    """A dash is no number: the change is then that of the best row which has both years."""
    assert SentenceAnswerer().answer("change in interest from 2018 to 2019?", [TABLE]) == "-4"
    assert SentenceAnswerer().answer("change in interest from 2007 to 2008?", [TABLE]) == "(12.5)"


@pytest.mark.parametrize(
    ("kind", "text", "found"),
    [
        (
            "quantity",
            "Note 4: $ 7 of 1,234.5 and (12.3)% on March 31, 2012, COVID19, 007",
            ["$ 7", "1,234.5", "(12.3)%"],
        ),
        ("count", "the nine judges and 12 clerks of 1869", ["nine", "12"]),
        ("percentage", "from 5 to 4.5%", ["4.5%"]),
        (
            "date",
            "March 4, 1789; 5 May 1802, in June 1900 and 1950; $1,984",
            ["March 4, 1789", "5 May 1802", "June 1900", "1950"],
        ),
        ("year", "March 4, 1789 and 2001.", ["1789", "2001"]),
        ("text", "1 of 2", []),
    ],
)
def test_figures_by_kind(kind: Asked, text: str, found: list[str]) -> None:
    """Dates are no quantities, nor are the numbers of notes; a figure keeps its signs."""
    assert list(figures(kind, text)) == found


def test_sentences_are_whole() -> None:
    """Initials, abbreviations and decimals end no sentence; reference marks are dropped."""
    text = "Justice John G. Roberts was named by Mr. Bush.[12] He paid $1.5 million.\nIt was\nfine."
    assert [passage.text for passage in passages(text)] == [
        "Justice John G. Roberts was named by Mr. Bush.",
        "He paid $1.5 million.",
        "It was fine.",
    ]


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
