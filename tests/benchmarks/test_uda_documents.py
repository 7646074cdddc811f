"""UDA-Benchmark: source documents, where they are found, and what a missing one does."""

from __future__ import annotations

import asyncio
import unicodedata
from pathlib import Path

import pytest

from pytest_heta.benchmarks.uda import UdaBenchmark
from pytest_heta.errors import DataError, UsageError
from pytest_heta.keys import raw_key
from pytest_heta.records import BenchmarkDocument
from tests.benchmarks.reading import gather, prepare
from tests.benchmarks.uda_files import write_official


def find(root: Path, subset: str, doc_name: str, files: list[str]) -> BenchmarkDocument:
    """Return the document of a subset that has one question, with these files in its folder."""
    tail = {"fin": "1|1", "nq": "s|l|u", "feta": "a|u"}[subset]
    source_root = write_official(root, subset, [f"{doc_name}|q|what?|{tail}"], documents=files)
    benchmark = UdaBenchmark(subset, source_root, download=False)
    prepared = prepare(benchmark, root)
    (unit,) = gather(benchmark.run_units(prepared))
    (document,) = gather(benchmark.documents_of(prepared, unit))
    assert gather(benchmark.documents(prepared)) == [document]
    return document


def test_a_document_is_the_pdf_of_its_name(tmp_path: Path) -> None:
    """Id, raw key, media type and content are those of the file."""
    document = find(tmp_path, "fin", "ADI_2009", ["ADI_2009.pdf", "ADI_2009.html"])
    assert raw_key(UdaBenchmark("fin").manifest, document) == "raw/benchmarks/uda_fin/all/ADI_2009/ADI_2009.pdf"
    assert document.media_type == "application/pdf"
    assert document.path is not None
    assert document.path.read_text(encoding="utf-8") == "ADI_2009.pdf"


def test_wiki_documents_lie_in_pdfs_or_htmls(tmp_path: Path) -> None:
    """HTML is taken where there is no PDF."""
    document = find(tmp_path, "nq", "Oklahoma", ["htmls/Oklahoma.html", "pdfs/Ohio.pdf"])
    assert (document.name, document.media_type) == ("Oklahoma.html", "text/html")


def test_a_pdf_is_preferred_to_html_wherever_they_lie(tmp_path: Path) -> None:
    """The folder does not decide, the kind does."""
    assert find(tmp_path, "nq", "Oklahoma", ["Oklahoma.html", "pdfs/Oklahoma.pdf"]).name == "Oklahoma.pdf"


@pytest.mark.parametrize(
    "doc_name", ["M*A*S*H (TV series)", "Freddie Prinze Jr.", "You've Come a Long Way, Baby", "CSI: Miami", "a [b] ?"]
)
def test_names_are_matched_literally(tmp_path: Path, doc_name: str) -> None:
    """No character of a name is a pattern, and a trailing dot stays."""
    decoys = ["MXAXSXH (TV series).pdf", "Freddie Prinze Jr.pdf", "a b c.pdf"]
    document = find(tmp_path, "feta", doc_name, [*decoys, f"pdfs/{doc_name}.pdf"])
    assert document.name == f"{doc_name}.pdf"
    assert document.path is not None
    assert document.path.name == f"{doc_name}.pdf"


@pytest.mark.parametrize("row_form", ["NFC", "NFD"])
@pytest.mark.parametrize("file_form", ["NFC", "NFD"])
def test_accents_match_in_either_unicode_form(tmp_path: Path, row_form: str, file_form: str) -> None:
    """The name of the document is the same whatever form the file system uses."""
    name = unicodedata.normalize(row_form, "El Clásico")  # type: ignore[arg-type]
    file = unicodedata.normalize(file_form, "pdfs/El Clásico.pdf")  # type: ignore[arg-type]
    document = find(tmp_path, "nq", name, [file])
    assert document.name == unicodedata.normalize("NFC", "El Clásico.pdf")


def test_a_name_that_was_unpacked_as_code_page_437_is_found(tmp_path: Path) -> None:
    """Zips without the flag for UTF-8 names yield such file names."""
    garbled = "Luka Modrić".encode().decode("cp437")
    assert find(tmp_path, "feta", "Luka Modrić", [f"pdfs/{garbled}.pdf"]).name == "Luka Modrić.pdf"


def test_a_name_cannot_lead_out_of_the_folder(tmp_path: Path) -> None:
    """A path in a doc_name finds nothing."""
    (tmp_path / "secret.pdf").write_text("secret", encoding="utf-8")
    with pytest.raises(DataError, match="is missing"):
        find(tmp_path, "fin", "../../secret", [])


def three_units(root: Path, **options: str) -> UdaBenchmark:
    """Return a benchmark of three documents, of which the second has no file."""
    rows = ["A|1|a?|1|1", "B|2|b?|1|1", "B|3|c?|1|1", "C|4|d?|1|1"]
    source_root = write_official(root, "fin", rows, documents=["A.pdf", "C.html"])
    return UdaBenchmark("fin", source_root, download=False, **options)  # type: ignore[arg-type]


def test_a_missing_document_is_an_error_of_its_own_unit_only(tmp_path: Path) -> None:
    """Collection and the other units do not notice; the message names the document and where it was looked for."""
    benchmark = three_units(tmp_path)
    prepared = prepare(benchmark, tmp_path)
    units = gather(benchmark.run_units(prepared))
    assert [(unit.unit_id, unit.document_ids, unit.case_ids) for unit in units] == [
        ("A", ("A",), ("1",)),
        ("B", ("B",), ("2", "3")),
        ("C", ("C",), ("4",)),
    ]
    assert len(gather(benchmark.cases(prepared))) == 4
    assert [document.name for document in gather(benchmark.documents(prepared))] == ["A.pdf", "C.html"]
    assert [document.name for document in gather(benchmark.documents_of(prepared, units[2]))] == ["C.html"]
    for read in (lambda: gather(benchmark.documents_of(prepared, units[1])), lambda: digest(benchmark, 1)):
        with pytest.raises(DataError, match=r"uda:fin: the document 'B' is missing: looked for B\.pdf, B\.html"):
            read()


def digest(benchmark: UdaBenchmark, unit: int) -> str:
    """Return the documents digest of one unit."""
    prepared = prepare(benchmark, Path("unused"))
    units = gather(benchmark.run_units(prepared))
    return asyncio.run(benchmark.documents_digest(prepared, units[unit]))


def test_missing_documents_can_be_skipped_and_are_counted(tmp_path: Path) -> None:
    """Unit and cases are left out of everything, and the prepared metadata says what was."""
    benchmark = three_units(tmp_path, missing_documents="skip")
    prepared = prepare(benchmark, tmp_path)
    assert (prepared.metadata["skipped_documents"], prepared.metadata["skipped_cases"]) == (["B"], 2)
    assert prepared.metadata["notices"] == ["uda_fin: documents without a file left out: 1, their cases: 2"]
    assert [unit.unit_id for unit in gather(benchmark.run_units(prepared))] == ["A", "C"]
    assert [case.case_id for case in gather(benchmark.cases(prepared))] == ["1", "4"]


def test_skipping_everything_is_an_error(tmp_path: Path) -> None:
    """An empty benchmark would look like a good one."""
    source_root = write_official(tmp_path, "fin", ["A|1|a?|1|1"])
    with pytest.raises(DataError, match="the document 'A' is missing"):
        prepare(UdaBenchmark("fin", source_root, missing_documents="skip", download=False), tmp_path)


def test_the_digest_of_a_unit_follows_the_content_of_its_document(tmp_path: Path) -> None:
    """Another content is another digest; another unit's document does not matter."""
    benchmark = three_units(tmp_path)
    first = digest(benchmark, 0)
    folder = tmp_path / "src_doc_files" / "fin_docs"
    (folder / "C.html").write_text("changed", encoding="utf-8")
    assert digest(benchmark, 0) == first
    (folder / "A.pdf").write_text("changed", encoding="utf-8")
    assert digest(benchmark, 0) != first


def test_a_source_root_without_the_folder_of_the_subset_is_a_usage_error(tmp_path: Path) -> None:
    """A wrong source_root is told at once, not once a unit."""
    source_root = write_official(tmp_path, "fin", ["A|1|a?|1|1"])
    (source_root / "fin_docs").rmdir()
    with pytest.raises(UsageError, match="has no folder fin_docs"):
        prepare(UdaBenchmark("fin", source_root, download=False), tmp_path)
