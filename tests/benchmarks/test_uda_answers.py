"""UDA-Benchmark: what becomes of the gold answers and the evidence of each subset."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pytest_heta.errors import DataError
from pytest_heta.records import BenchmarkCase
from tests.benchmarks.uda_files import read_cases


def gold(case: BenchmarkCase) -> Any:
    """Return the gold answers in the shape of the extended files."""
    return case.expected.metadata["uda"]["answers"]


def test_fin_answers_are_the_text_and_the_number(tmp_path: Path) -> None:
    """Both columns are answers, and the computed one is the value."""
    (case,) = read_cases(tmp_path, "fin", ["ADI_2009|ADI/2009/page_49.pdf-1|what is it?|-27.0%|-0.26689"])
    assert case.case_id == "ADI/2009/page_49.pdf-1"
    assert case.query == "what is it?"
    assert case.expected.answers == ("-27.0%", "-0.26689")
    assert case.expected.value == -0.26689
    assert case.labels == {"subset": "fin", "doc_name": "ADI_2009"}
    assert case.expected.metadata["uda"] == {
        "subset": "fin",
        "answers": {"str_answer": "-27.0%", "exe_answer": -0.26689},
    }


def test_fin_without_a_text_answer_keeps_only_the_number(tmp_path: Path) -> None:
    """A blank cell is no answer."""
    (case,) = read_cases(tmp_path, "fin", ["D|q|what?||8.0"])
    assert (case.expected.answers, case.expected.value) == (("8.0",), 8.0)
    assert gold(case) == {"str_answer": "", "exe_answer": 8.0}


def test_fin_yes_is_a_value(tmp_path: Path) -> None:
    """An answer that is no number is kept as its word."""
    (case,) = read_cases(tmp_path, "fin", ["D|q|did it?|yes|yes"])
    assert (case.expected.answers, case.expected.value) == (("yes",), "yes")


def test_fin_extended_item_gives_value_evidence_and_program(tmp_path: Path) -> None:
    """Each named evidence points into the document's folder; the page context is left to the document."""
    item = {
        "q_uid": "GS/1",
        "question": "what?",
        "answers": {"str_answer": "57%", "exe_answer": 0.57484},
        "evidence": {"table_3": "fixed income is 530", "text_1": "total is 922"},
        "program": "divide(530, 922)",
        "context": {"pre_text": ["long"]},
    }
    (case,) = read_cases(tmp_path, "fin", ["GS_2016|GS/1|what?|57%|0.57484"], {"GS_2016": [item]})
    assert case.expected.answers == ("57%", "0.57484")
    assert case.expected.value == 0.57484
    assert [evidence.reference_id for evidence in case.expected.evidence] == ["table_3", "text_1"]
    first = case.expected.evidence[0]
    assert first.locator == {"source_key_prefix": "raw/benchmarks/uda_fin/all/GS_2016/"}
    assert first.text == "fixed income is 530"
    assert first.metadata == {"doc_name": "GS_2016", "evidence_name": "table_3"}
    assert case.expected.metadata["program"] == "divide(530, 922)"
    assert "context" not in case.expected.metadata


def test_tat_scale_and_type_are_not_answers(tmp_path: Path) -> None:
    """The list literal gives the answer; scale and type go to the metadata, the type to the labels as well."""
    (case,) = read_cases(tmp_path, "tat", ["d_2019|u1|change?|['129']|million|arithmetic"])
    assert case.expected.answers == ("129",)
    assert gold(case) == {"answer": 129, "answer_type": "arithmetic", "scale": "million"}
    assert case.labels["answer_type"] == "arithmetic"


@pytest.mark.parametrize(
    ("cell", "kind", "answer", "texts"),
    [
        ("['2019']", "span", ["2019"], ("2019",)),
        ("['a, b', \"c's\"]", "multi-span", ["a, b", "c's"], ("a, b", "c's")),
        ("['1737.5']", "arithmetic", 1737.5, ("1737.5",)),
        ("['3']", "count", "3", ("3",)),
    ],
)
def test_tat_answers_of_a_row_have_the_shape_of_the_extended_files(
    tmp_path: Path, cell: str, kind: str, answer: Any, texts: tuple[str, ...]
) -> None:
    """Spans are lists, results of arithmetic numbers, counts texts."""
    (case,) = read_cases(tmp_path, "tat", [f"d|u|what?|{cell}||{kind}"])
    assert gold(case)["answer"] == answer
    assert case.expected.answers == texts


def test_tat_extended_item_gives_numbers_and_facts(tmp_path: Path) -> None:
    """The answers are those of the item, the facts are the evidence."""
    item = {
        "q_uid": "u",
        "question": "what?",
        "answers": {"answer": 92500, "answer_type": "arithmetic", "scale": ""},
        "derivation": "(338,317-245,817)",
        "facts": ["245,817", "338,317"],
        "doc_page_uid": "p",
    }
    (case,) = read_cases(tmp_path, "tat", ["d|u|what?|['92500']||arithmetic"], {"d": [item]})
    assert gold(case) == item["answers"]
    assert case.expected.answers == ("92500",)
    assert [evidence.text for evidence in case.expected.evidence] == ["245,817", "338,317"]
    assert case.expected.metadata["derivation"] == "(338,317-245,817)"


def test_paper_answers_drop_blank_and_repeated_cells(tmp_path: Path) -> None:
    """Blank columns are no answers; one given twice is one answer text, but two gold answers."""
    (case,) = read_cases(tmp_path, "paper_text", ["1912.01214|h|what?|No |No| "])
    assert case.expected.answers == ("No",)
    assert gold(case) == [{"answer": "No ", "type": None}, {"answer": "No", "type": None}]


def test_paper_quoted_cells_hold_lines_and_bars(tmp_path: Path) -> None:
    """A quoted answer keeps its line end and its delimiter."""
    (case,) = read_cases(tmp_path, "paper_tab", ['1|h|what?|"first\n| second"|x|'])
    assert case.expected.answers == ("first\n| second", "x")


def test_paper_evidence_is_that_of_all_annotators_each_text_once(tmp_path: Path) -> None:
    """Raw and highlighted texts of every annotator; the mark of a caption is taken off and noted."""
    item = {
        "q_uid": "h",
        "question": "what?",
        "answers": [{"answer": "A", "type": "extractive"}, {"answer": "B", "type": "abstractive"}],
        "evidence": [
            {"raw_evidence": ["One. Two."], "highlighted_evidence": ["One."]},
            {"raw_evidence": ["One. Two.", "FLOAT SELECTED: Table 5: Results."], "highlighted_evidence": []},
        ],
    }
    (case,) = read_cases(tmp_path, "paper_tab", ["1|h|what?|A|B|"], {"1": [item]})
    assert gold(case) == item["answers"]
    assert [(evidence.reference_id, evidence.text) for evidence in case.expected.evidence] == [
        ("raw_evidence_1_1", "One. Two."),
        ("highlighted_evidence_1_1", "One."),
        ("raw_evidence_2_2", "Table 5: Results."),
    ]
    assert [evidence.metadata["float_selected"] for evidence in case.expected.evidence] == [False, False, True]


def test_feta_answer_and_table(tmp_path: Path) -> None:
    """The answer is one text, the whole table the evidence; an integer q_uid is the one of the row."""
    item = {
        "q_uid": 12844,
        "question": "when?",
        "answers": "In 2000.",
        "doc_url": "http://x",
        "evidence": {"table_array": [["Year", "Film"], ["2000", "F"]], "highlighted_cell_ids": [[1, 0]]},
    }
    (case,) = read_cases(tmp_path, "feta", ["S|12844|when?|In 2000.|http://x"], {"S": [item]})
    assert case.case_id == "12844"
    assert case.expected.answers == ("In 2000.",)
    assert gold(case) == "In 2000."
    (table,) = case.expected.evidence
    assert (table.reference_id, table.text) == ("table", "Year Film\n2000 F")
    assert table.metadata["highlighted_cell_ids"] == [[1, 0]]
    assert case.metadata["doc_url"] == "http://x"


def test_nq_answers_are_the_short_and_the_long_one(tmp_path: Path) -> None:
    """The long answer is the evidence; a blank short answer is none."""
    item = {"q_uid": -67, "question": "who?", "answers": {"short_answer": "S", "long_answer": "L is S."}}
    rows = ["O|-67|who?|S|L is S.|u", "O|5|where?||Only long.|u"]
    with_item, without = read_cases(tmp_path, "nq", rows, {"O": [item]})
    assert with_item.expected.answers == ("S", "L is S.")
    assert with_item.expected.evidence[0].text == "L is S."
    assert without.expected.answers == ("Only long.",)
    assert gold(without) == {"short_answer": "", "long_answer": "Only long."}
    assert without.expected.evidence == ()
    assert [case.metadata["extended"] for case in (with_item, without)] == [True, False]


def test_a_tat_answer_that_is_no_list_literal_is_an_error_with_its_question(tmp_path: Path) -> None:
    """The message has the file, the q_uid, the line and the cell."""
    with pytest.raises(DataError, match=r"tat_qa\.csv: q_uid u \(line 2 .*not a list literal: 'five'"):
        read_cases(tmp_path, "tat", ["d|u|what?|five||span"])


def test_an_extended_item_without_its_evidence_is_an_error_with_its_question(tmp_path: Path) -> None:
    """A field that the subset must have is named."""
    item = {"q_uid": "q", "question": "what?", "answers": {"str_answer": "1", "exe_answer": 1.0}}
    with pytest.raises(DataError, match=r"bench_fin_qa\.json: q_uid q .*'evidence' is missing"):
        read_cases(tmp_path, "fin", ["D|q|what?|1|1"], {"D": [item]})


@pytest.mark.parametrize(
    ("extended", "message"),
    [
        ({"D": [{"question": "what?"}]}, r"item 1 of 'D' must be an object with q_uid and answers"),
        ({"D": [{"q_uid": 1, "answers": {}}, {"q_uid": "1", "answers": {}}]}, r"q_uid '1' was given before"),
        ({"D": {}}, r"must be an object that maps a doc_name to a list"),
    ],
)
def test_a_malformed_extended_file_is_an_error(tmp_path: Path, extended: dict[str, Any], message: str) -> None:
    """The message names the file and the item."""
    with pytest.raises(DataError, match=rf"bench_fin_qa\.json: .*{message}"):
        read_cases(tmp_path, "fin", ["D|q|what?|1|1"], extended)
