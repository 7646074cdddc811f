"""Reading relevance judgements."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_heta.datasets.qrels import Judgement, first_line, judgements, read_qrels
from pytest_heta.errors import DataError
from tests.shared_data import shared_data

_IDS = st.text(st.characters(exclude_characters="\t\r\n", exclude_categories=["Cs"]), min_size=1).filter(str.strip)


def _write(folder: Path, text: str) -> Path:
    path = folder / "test.tsv"
    path.write_bytes(text.encode())
    return path


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("header", ["", "query-id\tcorpus-id\tscore\n", "query_id\tdoc_id\trelevance\n"])
def test_beir_columns_with_and_without_header(tmp_path: Path, header: str, end: str) -> None:
    """A header or none, LF or CRLF, grades of every sign: the same judgements in the order of the file."""
    text = header + "q2\tMed 10\t2\nq1\td1\t0\nq2\td1\t-1\n"
    assert read_qrels(_write(tmp_path, text.replace("\n", end))) == {"q2": {"Med 10": 2, "d1": -1}, "q1": {"d1": 0}}


def test_trec_columns(tmp_path: Path) -> None:
    """The four columns of TREC are read with blanks or tabs between them."""
    assert read_qrels(_write(tmp_path, "301 0 FBIS3-10082 1\n301\tQ0\tFBIS3-10169\t0\n")) == {
        "301": {"FBIS3-10082": 1, "FBIS3-10169": 0}
    }


@given(rows=st.dictionaries(st.tuples(_IDS, _IDS), st.integers(-3, 9), min_size=1))
def test_what_csv_writes_is_read_back(
    rows: dict[tuple[str, str], int], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Any ids, also with quotes and U+2028, come back from the file that Python's csv writer makes of them."""
    out = io.StringIO()
    writer = csv.writer(out, delimiter="\t", lineterminator="\n")
    writer.writerow(["query-id", "corpus-id", "score"])
    writer.writerows([query, document, grade] for (query, document), grade in rows.items())
    qrels = read_qrels(_write(tmp_path_factory.mktemp("qrels"), out.getvalue()))
    assert {(query, document): grade for query, docs in qrels.items() for document, grade in docs.items()} == rows


def test_an_unquoted_id_that_begins_with_a_quote_is_kept(tmp_path: Path) -> None:
    """A title such as ``"Heroes" (album)`` that nobody quoted stays as it is."""
    assert read_qrels(_write(tmp_path, 'q\t"Heroes" (album)\t1\n')) == {"q": {'"Heroes" (album)': 1}}


@pytest.mark.parametrize(
    ("row", "what"),
    [
        ("q2\td1", "expected query, document, grade with tabs between them, found 2 tab-separated columns"),
        ("q2 d1 1", "expected query, document, grade with tabs between them, found 3 columns and no tab"),
        ("q2\td1\t1\tx\ty", "expected .*, found 5 tab-separated columns"),
        ("q2\td1\thigh", "grade 'high' is not an integer"),
        ("q2\td1\t1.5", "grade '1.5' is not an integer"),
        ("q2\td1\t", "grade '' is not an integer"),
        ("q2\t \t1", "an id is blank"),
        ("query-id\tcorpus-id\tscore", "grade 'score' is not an integer"),
        ("q1\td1\t2", "query 'q1', document 'd1' is graded 2 here and 1 on line 2"),
    ],
)
def test_a_malformed_row_is_named(tmp_path: Path, row: str, what: str) -> None:
    """Each malformed or contradicting row is a DataError with file, line and reason."""
    path = _write(tmp_path, f"query-id\tcorpus-id\tscore\nq1\td1\t1\n\n{row}\n")
    with pytest.raises(DataError, match=rf"test\.tsv:4: {what}$"):
        read_qrels(path)


def test_a_first_row_with_a_bad_grade_is_no_header(tmp_path: Path) -> None:
    """Only names of columns make a header: a bad grade on the first line is an error, not skipped."""
    with pytest.raises(DataError, match=r"test\.tsv:1: grade 'one' is not an integer"):
        read_qrels(_write(tmp_path, "q1\td1\tone\nq1\td2\t1\n"))


def test_a_repeated_row_counts_once(tmp_path: Path) -> None:
    """The same judgement twice is one judgement."""
    assert read_qrels(_write(tmp_path, "q\td\t1\nq\td\t1\n")) == {"q": {"d": 1}}


@pytest.mark.parametrize("text", ["", "\n\n", "query-id\tcorpus-id\tscore\n"])
def test_no_judgement_is_an_error(tmp_path: Path, text: str) -> None:
    """An empty file, or a header alone, is a DataError."""
    with pytest.raises(DataError, match=r"test\.tsv: holds no judgement"):
        read_qrels(_write(tmp_path, text))


def test_rows_know_their_lines(tmp_path: Path) -> None:
    """The line of a query's first row, and of one of its documents, can be found."""
    path = _write(tmp_path, "qid\tdoc\tgrade\na\tx\t1\nb\tx\t0\na\ty\t2\n")
    assert next(judgements(path)) == Judgement(2, "a", "x", 1)
    assert (first_line(path, "b"), first_line(path, "a"), first_line(path, "a", "y")) == (3, 2, 4)


@pytest.mark.parametrize(
    ("relative", "queries", "rows", "grades"),
    [
        ("beir/nfcorpus-no-corpus", 323, 12334, {1, 2}),
        ("beir/hotpotqa-no-corpus", 7405, 14810, {1}),
        ("beir/hotpotqa-slice", 100, 200, {1}),
    ],
)
def test_published_qrels(relative: str, queries: int, rows: int, grades: set[int]) -> None:
    """Published files have the published numbers of queries, judgements and grades."""
    qrels = read_qrels(shared_data(relative) / "qrels" / "test.tsv")
    found = [grade for documents in qrels.values() for grade in documents.values()]
    assert (len(qrels), len(found), set(found)) == (queries, rows, grades)
