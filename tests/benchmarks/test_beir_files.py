"""Where the BEIR adapter finds its files: cache, archive, network."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_heta.benchmarks.beir import BeirBenchmark
from pytest_heta.errors import DataError, DownloadError, UnknownNameError, UsageError
from tests.benchmarks.beir_samples import cases, documents, prepare, write_beir, zip_folder
from tests.datasets.file_server import serving
from tests.shared_data import shared_data


def _cache(workspace: Path) -> Path:
    return workspace / "cache" / "beir"


def _visible(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if not path.name.endswith(".lock"))


def _packed(folder: Path, top: str = "mini") -> Path:
    return zip_folder(write_beir(folder / "source"), folder / "packed.zip", top)


def test_a_cached_folder_is_used_as_it_is(tmp_path: Path) -> None:
    """A data set in the cache is read without network and without any new file."""
    write_beir(_cache(tmp_path) / "mini")
    assert len(cases(BeirBenchmark("mini", download=False), tmp_path)) == 2
    assert [path.name for path in _cache(tmp_path).iterdir()] == ["mini"]


def test_a_cached_archive_is_used_and_kept(tmp_path: Path) -> None:
    """An archive that somebody put into the cache is unpacked without network and stays."""
    zip_folder(write_beir(tmp_path / "source"), _cache(tmp_path) / "mini.zip", "mini")
    assert len(cases(BeirBenchmark("mini", download=False), tmp_path)) == 2
    assert _visible(_cache(tmp_path)) == ["mini", "mini.zip"]


def test_the_archive_is_downloaded_once(tmp_path: Path) -> None:
    """An archive is fetched with progress, unpacked and deleted; the second time the cache is enough."""
    stages: list[str] = []
    with serving((200, {}, _packed(tmp_path).read_bytes())) as server:
        for _ in range(2):
            benchmark = BeirBenchmark(
                "mini", dataset_url=server.url, progress=lambda stage, done, total: stages.append(stage)
            )
            assert len(documents(benchmark, tmp_path)) == 4
        assert server.requests == 1
    assert _visible(_cache(tmp_path)) == ["mini"]
    assert list(dict.fromkeys(stages)) == ["download mini.zip", "unpack mini.zip"]


@pytest.mark.parametrize("top", ["mini", "another-name", "."])
@pytest.mark.parametrize("as_uri", [False, True])
def test_a_local_archive(tmp_path: Path, top: str, as_uri: bool) -> None:
    """An archive on this computer is used offline, whatever its top folder is called, or without one."""
    archive = _packed(tmp_path, top)
    benchmark = BeirBenchmark("mini", download=False, dataset_url=archive.as_uri() if as_uri else str(archive))
    assert prepare(benchmark, tmp_path).root_dir == _cache(tmp_path) / "mini"
    assert _visible(_cache(tmp_path)) == ["mini"]
    assert archive.exists()


def test_a_part_of_an_archive(tmp_path: Path) -> None:
    """``cqadupstack/android`` is a folder inside the archive of ``cqadupstack``, which is unpacked whole."""
    for part in ("android", "gis"):
        write_beir(tmp_path / "source" / part)
    archive = zip_folder(tmp_path / "source", tmp_path / "all.zip", "cqadupstack")
    android = BeirBenchmark("cqadupstack/android", dataset_url=str(archive))
    assert prepare(android, tmp_path).root_dir == _cache(tmp_path) / "cqadupstack" / "android"
    prefix = cases(android, tmp_path)[0].expected.evidence[0].locator["source_key_prefix"]
    assert prefix == "raw/benchmarks/beir_cqadupstack-android/test/a=2Fb=20c/"
    assert len(cases(BeirBenchmark("cqadupstack/gis", download=False), tmp_path)) == 2
    with pytest.raises(
        DataError, match=r"cqadupstack/tex: queries\.jsonl is missing; complete .*cqadupstack or delete"
    ):
        prepare(BeirBenchmark("cqadupstack/tex", download=False), tmp_path)


def test_offline_says_what_would_be_fetched(tmp_path: Path) -> None:
    """Without data and without download the error names BEIR's address and the place for the archive."""
    with pytest.raises(DownloadError) as caught:
        prepare(BeirBenchmark("scifact", download=False), tmp_path)
    assert "https://public.ukp.informatik.tu-darmstadt.de/thakur/BEIR/datasets/scifact.zip" in str(caught.value)
    assert str(_cache(tmp_path) / "scifact.zip") in str(caught.value)


def test_a_name_that_beir_does_not_have(tmp_path: Path) -> None:
    """An unknown name that is nowhere in the cache lists the known names, the nearest first, without network."""
    with pytest.raises(UnknownNameError, match=r"unknown BEIR data set 'scifacts'; did you mean 'scifact'\? \(known: "):
        prepare(BeirBenchmark("scifacts"), tmp_path)


def test_a_failed_download_leaves_nothing(tmp_path: Path) -> None:
    """Where the server has no archive the error names its address."""
    with serving((404, {}, b"")) as server:
        with pytest.raises(DownloadError, match=rf"{server.url}: the server answered 404"):
            prepare(BeirBenchmark("mini", dataset_url=server.url), tmp_path)
        assert server.requests == 1
    assert _visible(_cache(tmp_path)) == []


def test_a_download_that_is_no_archive_is_not_kept(tmp_path: Path) -> None:
    """A web page instead of an archive is an error with the address, and the next run fetches again."""
    with serving((200, {}, b"<html>log in first</html>"), (200, {}, _packed(tmp_path).read_bytes())) as server:
        benchmark = BeirBenchmark("mini", dataset_url=server.url)
        with pytest.raises(DataError, match=rf"mini\.zip: cannot be read as a zip .*; it came from {server.url}"):
            prepare(benchmark, tmp_path)
        assert _visible(_cache(tmp_path)) == []
        assert len(cases(benchmark, tmp_path)) == 2


def test_an_archive_of_something_else_is_not_published(tmp_path: Path) -> None:
    """An archive without the data set's files is an error that says what it lacks, and the cache stays clean."""
    (tmp_path / "source").mkdir()
    (tmp_path / "source/readme.txt").write_text("hello")
    archive = zip_folder(tmp_path / "source", tmp_path / "packed.zip", "mini")
    with pytest.raises(DataError, match=r"the archive of mini holds no mini/queries\.jsonl"):
        prepare(BeirBenchmark("mini", dataset_url=str(archive)), tmp_path)
    assert _visible(_cache(tmp_path)) == []


def test_half_a_cached_folder_is_not_overwritten(tmp_path: Path) -> None:
    """A folder in the cache that lacks its queries is left alone, and the error says what to do."""
    (_cache(tmp_path) / "mini").mkdir(parents=True)
    (_cache(tmp_path) / "mini" / "corpus.jsonl").write_text("{}")
    with pytest.raises(DataError, match=r"mini: queries\.jsonl is missing; complete .*mini or delete it"):
        prepare(BeirBenchmark("mini", dataset_url=str(_packed(tmp_path))), tmp_path)


def test_an_address_of_another_kind_is_refused() -> None:
    """Only http, https, file and plain paths can be fetched from."""
    with pytest.raises(UsageError, match=r"'s3://bucket/mini\.zip' must begin with http"):
        BeirBenchmark("mini", dataset_url="s3://bucket/mini.zip")
    with pytest.raises(UsageError, match=r"'http://\[' is no address"):
        BeirBenchmark("mini", dataset_url="http://[")


def test_a_cache_that_cannot_be_made_is_an_error(tmp_path: Path) -> None:
    """Where the cache folder cannot be made the error names it."""
    (tmp_path / "cache").write_text("a file")
    with pytest.raises(DataError, match=r"mini cannot be prepared in .*beir: "):
        prepare(BeirBenchmark("mini", dataset_url=str(_packed(tmp_path))), tmp_path)


def test_scifact_from_its_archive(tmp_path: Path) -> None:
    """The published archive, served over HTTP, gives the published numbers of documents, cases and judgements."""
    with serving((200, {}, shared_data("beir/scifact.zip").read_bytes())) as server:
        benchmark = BeirBenchmark("scifact", dataset_url=server.url)
        found = cases(benchmark, tmp_path)
    assert len(found) == 300
    assert sum(len(case.expected.evidence) for case in found) == 339
    assert found[0].query == "0-dimensional biomaterials show inductive properties."
    assert [item.reference_id for item in found[0].expected.evidence] == ["31715818"]
    texts = documents(benchmark, tmp_path)
    assert len(texts) == 5183
    assert (texts[0].document_id, (texts[0].data or b"")[:60]) == (
        "4983",
        b"Microstructural development of human newborn cerebral white ",
    )
    assert len(cases(BeirBenchmark("scifact", "train"), tmp_path)) == 809
