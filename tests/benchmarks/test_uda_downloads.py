"""UDA-Benchmark: which files are local, and what is downloaded from where."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from pytest_heta.benchmarks import uda_sources
from pytest_heta.benchmarks.uda import UdaBenchmark
from pytest_heta.errors import DataError, DownloadError
from tests.benchmarks.reading import gather, prepare
from tests.benchmarks.uda_files import HEADERS, write_official
from tests.datasets.hub_server import file_server, use_hub

QA = "/dataset/qa/nq_qa.csv"
EXTENDED = "/dataset/extended_qa_info_bench/bench_nq_qa.json"
ARCHIVE = "/datasets/qinchuanhui/UDA-QA/resolve/main/src_doc_files/wiki_nq_docs.zip"


def zipped(*names: str) -> bytes:
    """Return a zip with members that hold their own names."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name in names:
            archive.writestr(name, name)
    return buffer.getvalue()


def official(archive: bytes) -> dict[str, bytes]:
    """Return the files that the official places serve."""
    item = b'{"O": [{"q_uid": 1, "answers": {"short_answer": "s", "long_answer": "l"}}]}'
    return {QA: f"{HEADERS['nq']}\nO|1|who?|s|l|u\n".encode(), EXTENDED: item, ARCHIVE: archive}


def use_server(monkeypatch: pytest.MonkeyPatch, folder: Path, address: str | None) -> None:
    """Point both official places at ``address``, by default one where nobody listens."""
    use_hub(monkeypatch, folder / "hub", address)
    monkeypatch.setattr(uda_sources, "GITHUB", f"{address or 'http://127.0.0.1:9'}/dataset")


@pytest.mark.parametrize("top", ["", "wiki_nq_docs/"])
def test_everything_is_downloaded_once_and_then_used_without_network(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, top: str
) -> None:
    """QA, extended file and documents come from the official places; the archive may have a top folder."""
    asked: list[tuple[str, str, str | None]] = []
    with file_server(official(zipped(f"{top}pdfs/O.pdf", f"{top}htmls/O.html")), asked) as address:
        use_server(monkeypatch, tmp_path, address)
        prepare(UdaBenchmark("nq"), tmp_path)
    fetched = [path for method, path, _ in asked if method == "GET"]
    assert [fetched.count(path) for path in (QA, EXTENDED, ARCHIVE)] == [1, 1, 1]
    use_server(monkeypatch, tmp_path, None)
    benchmark = UdaBenchmark("nq", download=False)
    prepared = prepare(benchmark, tmp_path)
    assert prepared.root_dir == tmp_path / "cache" / "uda_nq" / "source_documents"
    assert [document.name for document in gather(benchmark.documents(prepared))] == ["O.pdf"]
    (case,) = gather(benchmark.cases(prepared))
    assert case.metadata["extended"] is True


@pytest.mark.parametrize("lost", [QA, EXTENDED, ARCHIVE])
def test_a_failed_download_fails_preparation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lost: str) -> None:
    """The message names the file that could not be had."""
    files: Mapping[str, bytes] = {path: body for path, body in official(zipped("O.pdf")).items() if path != lost}
    with file_server(files, []) as address:
        use_server(monkeypatch, tmp_path, address)
        with pytest.raises(DownloadError, match=lost.rpartition("/")[2]):
            prepare(UdaBenchmark("nq"), tmp_path)


def test_a_broken_archive_leaves_no_documents_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is an error each time, not an empty folder the second time."""
    with file_server(official(zipped("O.pdf")[:-30]), []) as address:
        use_server(monkeypatch, tmp_path, address)
        for _ in range(2):
            with pytest.raises(DataError, match="zip archive"):
                prepare(UdaBenchmark("nq"), tmp_path)


def test_without_download_nothing_is_fetched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is neither given nor cached is an error that says where it belongs."""
    asked: list[tuple[str, str, str | None]] = []
    with file_server(official(zipped("O.pdf")), asked) as address:
        use_server(monkeypatch, tmp_path, address)
        with pytest.raises(DownloadError, match=r"nq_qa\.csv is not there"):
            prepare(UdaBenchmark("nq", download=False), tmp_path)
    assert asked == []


def test_a_source_root_alone_downloads_only_the_questions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Local documents win, and questions that do not lie beside them are fetched."""
    (tmp_path / "documents" / "wiki_nq_docs").mkdir(parents=True)
    (tmp_path / "documents" / "wiki_nq_docs" / "O.pdf").write_text("local", encoding="utf-8")
    asked: list[tuple[str, str, str | None]] = []
    with file_server(official(b""), asked) as address:
        use_server(monkeypatch, tmp_path, address)
        benchmark = UdaBenchmark("nq", source_root=tmp_path / "documents")
        prepared = prepare(benchmark, tmp_path)
    assert {path for _, path, _ in asked} == {QA, EXTENDED}
    (document,) = gather(benchmark.documents(prepared))
    assert document.path == tmp_path / "documents" / "wiki_nq_docs" / "O.pdf"


def test_given_paths_win_over_the_official_layout(tmp_path: Path) -> None:
    """qa_path and extended_info_path are read although the layout has files of its own."""
    source_root = write_official(tmp_path, "nq", ["O|1|old?|s|l|u"], extended={})
    (tmp_path / "mine.csv").write_text(f"{HEADERS['nq']}\nO|1|new?|s|l|u\n", encoding="utf-8")
    (tmp_path / "mine.json").write_bytes(official(b"")[EXTENDED])
    benchmark = UdaBenchmark("nq", source_root, tmp_path / "mine.csv", tmp_path / "mine.json", download=False)
    (case,) = gather(benchmark.cases(prepare(benchmark, tmp_path)))
    assert (case.query, case.metadata["extended"]) == ("new?", True)


def test_local_questions_without_a_local_extended_file_have_no_items(tmp_path: Path) -> None:
    """Nothing is downloaded for questions that may not be the official ones."""
    source_root = write_official(tmp_path, "nq", ["O|1|who?|s|l|u"])
    benchmark = UdaBenchmark("nq", source_root)
    (case,) = gather(benchmark.cases(prepare(benchmark, tmp_path)))
    assert case.metadata["extended"] is False


def test_a_given_path_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    """No other file takes its place."""
    source_root = write_official(tmp_path, "nq", ["O|1|who?|s|l|u"])
    with pytest.raises(DataError, match=r"mine\.csv: cannot be read"):
        prepare(UdaBenchmark("nq", source_root, qa_path=tmp_path / "mine.csv", download=False), tmp_path)


def test_the_resources_are_the_official_places() -> None:
    """A user can see what would be downloaded."""
    uris = [resource.uri for resource in UdaBenchmark("paper_tab").resources()]
    assert uris == [
        "https://raw.githubusercontent.com/qinchuanhui/UDA-Benchmark/main/dataset/qa/paper_tab_qa.csv",
        "https://raw.githubusercontent.com/qinchuanhui/UDA-Benchmark/main/dataset/extended_qa_info_bench/"
        "bench_paper_tab_qa.json",
        "hf://datasets/qinchuanhui/UDA-QA/src_doc_files/paper_docs.zip",
    ]
