"""Parsing documents."""

from __future__ import annotations

import codecs
import threading

import pytest

from pytest_heta.errors import BuildError
from pytest_heta.knowledge.parsing import Page, parse
from tests.knowledge.pdfs import pdf
from tests.shared_data import shared_data

ENCRYPTED = (
    f"/Encrypt << /Filter /Standard /V 1 /R 2 /O <{'41' * 32}> /U <{'42' * 32}> /P -4 >> "
    f"/ID [<{'00' * 16}> <{'00' * 16}>]"
)


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ("Grüße 😀".encode(), "Grüße 😀"),
        (codecs.BOM_UTF8 + "Grüße".encode(), "Grüße"),
        ("Grüße".encode("utf-16"), "Grüße"),
        (codecs.BOM_UTF16_BE + "Grüße".encode("utf-16-be"), "Grüße"),
        ("Grüße".encode("utf-32"), "Grüße"),
        ("Grüße – “quoted”".encode("cp1252"), "Grüße – “quoted”"),
        (b"caf\xe9 \x81", "café \x81"),
        (b"a\r\nb\n", "a\nb\n"),
        ("line\u2028sep\x85next".encode(), "line\u2028sep\x85next"),
    ],
)
def test_text_is_read_in_its_encoding(data: bytes, text: str) -> None:
    """Text is UTF-8, or what its byte order mark says, or else Windows-1252, and loses nothing but the mark and CRs."""
    assert parse("notes.txt", data) == [Page(0, text)]


@pytest.mark.parametrize("data", [b"", b"\n\n", b" \t"])
def test_blank_text_has_no_pages(data: bytes) -> None:
    """An empty text file is a document without pages, no error."""
    assert parse("empty.txt", data) == []


def test_bytes_that_are_no_text_are_an_error_with_the_files_name() -> None:
    """A binary file with a text ending, or an ending that nothing can parse, is an error that names it."""
    with pytest.raises(BuildError, match=r"'photo.txt'.*byte 0 is not UTF-8"):
        parse("photo.txt", b"\xff\xd8\x00\x01")
    with pytest.raises(BuildError, match=r"'report.docx'.*no parser for files of type '.docx'"):
        parse("report.docx", b"PK\x03\x04\xff\x00")


def test_the_ending_decides_then_the_media_type() -> None:
    """A known ending wins; without one the media type decides; without either, valid UTF-8 is text."""
    page = b"<p>Hello <b>wor</b>ld</p>"
    assert parse("page.html", page, "text/plain") == [Page(0, "Hello world")]
    assert parse("page.md", page, "text/html") == [Page(0, page.decode())]
    assert parse("page", page, "text/html; charset=utf-8") == [Page(0, "Hello world")]
    assert parse("M*A*S*H (TV series)", page) == [Page(0, page.decode())]
    assert parse("paper", pdf(["one line"]), "application/pdf") == [Page(0, "one line")]


def test_html_becomes_lines_of_visible_text() -> None:
    """Blocks and rows are lines, cells are apart, inline tags do not split words, and nothing invisible is text."""
    page = """<html><head><title>The  title</title><style>p {}</style></head><body><script>x()</script>
        <h1>Head</h1><p>one <b>wo</b>rd
        on two lines<br>next</p>tail
        <table><tr><th>a</th><td>1</td></tr><tr><td>b</td><td>2</td></tr></table><p>&auml; &lt;b&gt;</p></body>"""
    expected = "The title\nHead\none word on two lines\nnext\ntail\na 1\nb 2\nä <b>"
    assert parse("page.htm", page.encode()) == [Page(0, expected)]


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ('<meta charset="iso-8859-2"><p>łódź</p>'.encode("iso-8859-2"), "łódź"),
        ('<meta charset="no-such-thing"><p>café</p>'.encode("cp1252"), "café"),
        (b'<meta charset="utf-8"><p>caf\xe9 ok</p>', "caf\ufffd ok"),
        ("<p>naïve</p>".encode("utf-16"), "naïve"),
    ],
)
def test_html_says_its_own_encoding(data: bytes, text: str) -> None:
    """The declared charset is used where the bytes are not UTF-8; a wrong byte costs only itself."""
    assert parse("page.html", data)[0].text == text


def test_html_without_text_is_an_error() -> None:
    """An empty HTML file, or one that shows nothing, is an error that names it."""
    with pytest.raises(BuildError, match=r"'a.html': the file is empty"):
        parse("a.html", b" \n")
    with pytest.raises(BuildError, match=r"'b.html': there is no text"):
        parse("b.html", b"<body><script>only()</script></body>")


def test_pdf_pages_keep_their_index() -> None:
    """Each page with text is a page; one without is left out and the others keep their numbers; lines end in \\n."""
    assert parse("x.PDF", pdf(["first page", "second line"], [], ["third"])) == [
        Page(0, "first page\nsecond line"),
        Page(2, "third"),
    ]


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "the file is empty"),
        (pdf(["text"])[:-40], "truncated"),
        (b"%PDF-1.4\njunk\n%%EOF\n", "damaged or no PDF"),
        (pdf([], []), "none of its 2 pages holds text"),
        (pdf(["text"], trailer=ENCRYPTED), "encrypted"),
    ],
    ids=["empty", "truncated", "damaged", "scan", "encrypted"],
)
def test_a_pdf_that_cannot_be_read_is_an_error(data: bytes, why: str) -> None:
    """Empty, truncated, damaged, encrypted and textless PDFs are errors that name the file and say why."""
    with pytest.raises(BuildError, match=rf"'bad.pdf': .*{why}"):
        parse("bad.pdf", data)


def test_pdfs_are_parsed_from_several_threads() -> None:
    """Threads that parse at once get their own documents' text."""
    found: dict[int, str] = {}

    def work(number: int) -> None:
        for _ in range(5):
            found[number] = parse("x.pdf", pdf([f"document {number}"] * 20))[0].text.splitlines()[-1]

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {number: f"document {number}" for number in range(4)}


def test_a_real_paper_has_whole_words() -> None:
    """In a real two-column paper words broken over lines are joined, and no control or hyphen marks are left."""
    path = shared_data("uda/src_doc_files_example/paper_docs/1909.00754.pdf")
    pages = parse(path.name, path.read_bytes())
    text = "".join(page.text for page in pages)
    assert [page.page_index for page in pages] == list(range(10))
    assert "word embedding" in text
    assert "concatenated" in text
    assert not set(text) & set("\ufffe\x02\rﬁﬂ")


def test_a_real_paper_that_is_cut_off_is_an_error() -> None:
    """A download that stopped at 99 % is not taken for a whole document, though PDFium can repair it."""
    path = shared_data("uda/src_doc_files_example/paper_docs/1909.00754.pdf")
    data = path.read_bytes()
    with pytest.raises(BuildError, match=r"1909.00754.pdf.*truncated"):
        parse(path.name, data[: len(data) * 99 // 100])
