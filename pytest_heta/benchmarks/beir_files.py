"""Where the files of a BEIR data set lie, and how they get there."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

from pytest_heta.datasets.archive import unpack
from pytest_heta.datasets.download import download
from pytest_heta.errors import DataError, UnknownNameError, UsageError
from pytest_heta.protocols import ProgressCallback

DEFAULT_URL = "https://public.ukp.informatik.tu-darmstadt.de/thakur/BEIR/datasets/{dataset}.zip"

_CQADUPSTACK = "android english gaming gis mathematica physics programmers stats tex unix webmasters wordpress"
DATASETS = (
    "scifact",
    "nfcorpus",
    "fiqa",
    "hotpotqa",
    "arguana",
    "climate-fever",
    *(f"cqadupstack/{forum}" for forum in _CQADUPSTACK.split()),
    "dbpedia-entity",
    "fever",
    "msmarco",
    "nq",
    "quora",
    "scidocs",
    "trec-covid",
    "webis-touche2020",
)
"""The names under which the BEIR project publishes archives; the recommended four come first."""


def corpus_file(folder: Path) -> Path:
    """Return the path of the documents."""
    return folder / "corpus.jsonl"


def queries_file(folder: Path) -> Path:
    """Return the path of the queries."""
    return folder / "queries.jsonl"


def qrels_file(folder: Path, split: str) -> Path:
    """Return the path of one split's judgements."""
    return folder / "qrels" / f"{split}.tsv"


def check_layout(folder: Path, split: str) -> None:
    """See that the files which cases are read from exist. The corpus is not looked for.

    Raises:
        DataError: ``queries.jsonl`` or the split is missing; names the splits that there are.
    """
    if not queries_file(folder).is_file():
        raise DataError(
            f"{folder}: queries.jsonl is missing; a BEIR folder holds corpus.jsonl, queries.jsonl and qrels/SPLIT.tsv"
        )
    if not qrels_file(folder, split).is_file():
        splits = sorted(path.stem for path in (folder / "qrels").glob("*.tsv"))
        raise DataError(
            f"{folder}: no split {split!r}, qrels/{split}.tsv is missing (splits: {', '.join(splits) or 'none'})"
        )


def archive_url(dataset: str) -> str:
    """Return the address of the archive that holds the data set; ``name/part`` lies in the archive of ``name``."""
    return DEFAULT_URL.format(dataset=dataset.partition("/")[0])


def local_archive(url: str) -> Path | None:
    """Return the path that a ``file://`` address or a plain path names; None for an http(s) address.

    Raises:
        UsageError: the address is malformed or of another kind.
    """
    try:
        address = urlsplit(url)
    except ValueError as error:
        raise UsageError(f"dataset_url {url!r} is no address: {error}") from error
    if address.scheme in {"http", "https"}:
        return None
    if address.scheme == "file":
        return Path(url2pathname(address.path))
    if "://" in url:
        raise UsageError(f"dataset_url {url!r} must begin with http://, https:// or file://, or be the path of a zip")
    return Path(url)


def cached_folder(
    dataset: str, cache: Path, *, url: str | None, offline: bool, progress: ProgressCallback | None
) -> Path:
    """Return ``cache/{dataset}``, which is unpacked from its archive unless it is there.

    The archive is the local one that ``url`` names, else ``cache/{name}.zip``, which is downloaded if it is missing
    and in that case deleted after use. Processes that ask at the same time wait for the one that does it.

    Raises:
        DataError: the archive is broken or holds other data, or the cache holds something incomplete.
        DownloadError: the archive is not there and cannot be downloaded.
        UnknownNameError: it would have to come from BEIR, which has no data set of this name.
    """
    folder = cache / dataset
    if queries_file(folder).is_file():
        return folder
    from filelock import FileLock

    name = dataset.partition("/")[0]
    try:
        cache.mkdir(parents=True, exist_ok=True)
        with FileLock(cache / f".{name}.lock"):
            if not queries_file(folder).is_file():
                _fill(dataset, cache, url, offline, progress)
    except OSError as error:
        raise DataError(f"{dataset} cannot be prepared in {cache}: {error}") from error
    return folder


def _fill(dataset: str, cache: Path, url: str | None, offline: bool, progress: ProgressCallback | None) -> None:
    name = dataset.partition("/")[0]
    target = cache / name
    if target.is_dir() and any(target.iterdir()):
        raise DataError(f"{cache / dataset}: queries.jsonl is missing; complete {target} or delete it")
    publish = partial(unpack, destination=target, choose=partial(_content, dataset), progress=progress)
    given = local_archive(url) if url else None
    archive = given or cache / f"{name}.zip"
    if given or archive.exists():
        publish(archive)
        return
    if url is None and dataset not in DATASETS:
        raise UnknownNameError("BEIR data set", dataset, DATASETS)
    source = url or archive_url(dataset)
    download(source, archive, offline=offline, progress=progress)
    try:
        publish(archive)
    except DataError as error:
        archive.unlink()  # or every later run would meet it again
        raise DataError(f"{error}; it came from {source} and is deleted") from error
    archive.unlink()


def _content(dataset: str, unpacked: Path) -> Path:
    """Find the folder to publish: the one named as the archive, the only one, or all of it."""
    name, _, part = dataset.partition("/")
    children = list(unpacked.iterdir())
    content = unpacked
    if (unpacked / name).is_dir():
        content = unpacked / name
    elif len(children) == 1 and children[0].is_dir():
        content = children[0]
    if not queries_file(content / part).is_file():
        raise DataError(f"the archive of {dataset} holds no {(Path(name) / part / 'queries.jsonl').as_posix()}")
    return content
