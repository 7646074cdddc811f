"""UDA-Benchmark: the rows of the QA files, document ids, the choice of documents."""

from __future__ import annotations

import re
import unicodedata
from pathlib import Path

import pytest

from pytest_heta.benchmarks.uda import UdaBenchmark
from pytest_heta.benchmarks.uda_questions import MendedDataWarning, document_ids
from pytest_heta.errors import DataError, UsageError
from tests.benchmarks.reading import gather, prepare
from tests.benchmarks.uda_files import read_cases, write_official

BROKEN = ["Rashida Jones|8114|Which roles?", "|She was Karen.|http://x"]


def test_the_broken_row_of_feta_is_joined_and_warned_of_once(tmp_path: Path) -> None:
    """Preparation warns with both lines; reading cases and units stays quiet."""
    source_root = write_official(tmp_path, "feta", ["A|1|when?|Then.|u", *BROKEN])
    benchmark = UdaBenchmark("feta", source_root, download=False)
    with pytest.warns(MendedDataWarning, match=r"feta_qa\.csv:3: q_uid 8114 .* lines 3 and 4") as caught:
        prepared = prepare(benchmark, tmp_path)
    assert len(caught) == 1
    case = gather(benchmark.cases(prepared))[1]
    assert (case.case_id, case.query, case.expected.answers) == ("8114", "Which roles?", ("She was Karen.",))
    assert len(gather(benchmark.run_units(prepared))) == 2


def test_where_warnings_are_errors_the_mended_row_is_a_notice(tmp_path: Path) -> None:
    """A user who turns warnings into errors can run the published file: the notice is in the prepared metadata."""
    benchmark = UdaBenchmark("feta", write_official(tmp_path, "feta", BROKEN), download=False)
    (notice,) = prepare(benchmark, tmp_path).metadata["notices"]
    assert re.search(r"feta_qa\.csv:2: q_uid 8114 is broken over the lines 2 and 3; they were joined", notice)


def test_the_same_break_anywhere_else_is_an_error(tmp_path: Path) -> None:
    """Only the row that is known to be broken is joined."""
    with pytest.raises(DataError, match=r"feta_qa\.csv:2: 3 fields instead of 5"):
        read_cases(tmp_path / "other", "feta", ["A|8115|Which?", "|Karen.|http://x"])
    with pytest.raises(DataError, match=r"fin_qa\.csv:2: 3 fields instead of 5"):
        read_cases(tmp_path / "fin", "fin", ["A|8114|Which?", "|1|2"])


@pytest.mark.parametrize(
    ("row", "message"),
    [("|q|what?|1|1", "doc_name is blank"), ("D| |what?|1|1", "q_uid is blank"), ("D|q||1|1", "question is blank")],
)
def test_a_blank_name_id_or_question_is_an_error(tmp_path: Path, row: str, message: str) -> None:
    """The message has the line."""
    with pytest.raises(DataError, match=rf"fin_qa\.csv:3: {message}"):
        read_cases(tmp_path, "fin", ["D|first|what?|1|1", row])


def test_a_question_id_given_twice_is_an_error_with_both_lines(tmp_path: Path) -> None:
    """Ids must be unique, else one result would hide the other."""
    with pytest.raises(DataError, match=r"fin_qa\.csv:3: q_uid 'q' was given before, in line 2"):
        read_cases(tmp_path, "fin", ["D|q|what?|1|1", "E|q|why?|1|1"])


def test_a_file_without_questions_is_an_error(tmp_path: Path) -> None:
    """Nothing to ask is not a benchmark."""
    with pytest.raises(DataError, match="no questions"):
        read_cases(tmp_path, "fin", [])


def test_document_ids_keep_letters_and_digits_and_collapse_the_rest() -> None:
    """Each run of other characters is one underscore."""
    names = ["ADI_2009", "1912.01214", "Ben Platt (actor)", "M*A*S*H (TV series)", "Freddie Prinze Jr."]
    assert list(document_ids(names).values()) == [
        "ADI_2009",
        "1912_01214",
        "Ben_Platt_actor_",
        "M_A_S_H_TV_series_",
        "Freddie_Prinze_Jr_",
    ]


def test_names_that_would_share_a_document_id_get_different_ones() -> None:
    """Also names that differ only in case, whose folders would be one on some file systems."""
    ids = document_ids(["A-B", "A B", "a_b", "C"])
    assert len({document_id.casefold() for document_id in ids.values()}) == 4
    assert ids["C"] == "C"
    assert ids == document_ids(["C", "a_b", "A B", "A-B"])


def test_both_unicode_forms_of_a_name_have_an_id_of_the_same_shape() -> None:
    """A name alone has the same id in either form, two in one file have different ids."""
    composed, decomposed = (unicodedata.normalize(form, "Luka Modrić") for form in ("NFC", "NFD"))
    assert document_ids([composed])[composed] == document_ids([decomposed])[decomposed] == "Luka_Modri_"
    assert len(set(document_ids([composed, decomposed]).values())) == 2


def test_docs_selects_documents_by_name_or_id(tmp_path: Path) -> None:
    """A unit and its cases remain only for the chosen documents, with the ids that they have in the whole subset."""
    rows = ["A B|1|a?|x|u", "A-B|2|b?|x|u", "Omaha, Nebraska|3|c?|x|u", "D|4|d?|x|u"]
    source_root = write_official(tmp_path, "feta", rows)
    benchmark = UdaBenchmark("feta", source_root, docs=["A B", "Omaha_Nebraska"], download=False)
    prepared = prepare(benchmark, tmp_path)
    units = gather(benchmark.run_units(prepared))
    assert [unit.metadata["doc_name"] for unit in units] == ["A B", "Omaha, Nebraska"]
    assert units[0].unit_id == document_ids(["A B", "A-B"])["A B"]
    assert [case.case_id for case in gather(benchmark.cases(prepared))] == ["1", "3"]


def test_docs_with_an_unknown_name_is_a_usage_error_that_names_the_nearest(tmp_path: Path) -> None:
    """A typing mistake does not select nothing."""
    source_root = write_official(tmp_path, "fin", ["ADI_2009|q|what?|1|1"])
    with pytest.raises(UsageError, match="no document 'ADI_2008'; it has ADI_2009"):
        prepare(UdaBenchmark("fin", source_root, docs=["ADI_2008"], download=False), tmp_path)
