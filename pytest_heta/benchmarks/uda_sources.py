"""Where the files of UDA-Benchmark lie: given, or beside the documents, or downloaded from the official places."""

from __future__ import annotations

import unicodedata
from os.path import isfile  # unlike Path.is_file it takes a name that is too long for one that does not exist
from pathlib import Path

from pytest_heta.benchmarks.uda_subsets import Subset
from pytest_heta.datasets.archive import unpack
from pytest_heta.datasets.download import download as fetch
from pytest_heta.datasets.hub import fetch_hub_file
from pytest_heta.errors import DataError, UsageError
from pytest_heta.protocols import ProgressCallback

GITHUB = "https://raw.githubusercontent.com/qinchuanhui/UDA-Benchmark/main/dataset"
HUB_DATASET = "qinchuanhui/UDA-QA"
MEDIA_TYPES = {".pdf": "application/pdf", ".html": "text/html", ".htm": "text/html", ".txt": "text/plain"}
"""The kinds of source document, the preferred first."""


def qa_file(subset: Subset) -> str:
    """Return where the QA file lies below ``dataset/`` of the official repository."""
    return f"qa/{subset.name}_qa.csv"


def extended_file(subset: Subset) -> str:
    """Return where the extended file lies below ``dataset/`` of the official repository."""
    return f"extended_qa_info_bench/bench_{subset.name}_qa.json"


def archive_file(subset: Subset) -> str:
    """Return where the zip of the source documents lies in the hub's data set."""
    return f"src_doc_files/{subset.folder}.zip"


def question_files(
    subset: Subset,
    cache: Path,
    *,
    source_root: Path | None,
    qa_path: Path | None,
    extended_info_path: Path | None,
    download: bool,
    progress: ProgressCallback | None = None,
) -> tuple[Path, Path | None]:
    """Return the QA file and the extended file.

    A given path wins, then the official layout around ``source_root``, then a download into ``cache``. Where the QA
    file is local and no extended file is, there is none: other people's questions have no official extended items.

    Raises:
        DownloadError: a file is not local and cannot be downloaded.

    """
    dataset = source_root.absolute().parent if source_root else None
    local_qa = qa_path or _existing(dataset, qa_file(subset))
    local_extended = extended_info_path or _existing(dataset, extended_file(subset))
    if local_qa:
        return local_qa, local_extended
    qa = _official(qa_file(subset), cache, download, progress)
    return qa, local_extended or _official(extended_file(subset), cache, download, progress)


def _existing(dataset: Path | None, relative: str) -> Path | None:
    return dataset / relative if dataset and (dataset / relative).is_file() else None


def _official(relative: str, cache: Path, download: bool, progress: ProgressCallback | None) -> Path:
    return fetch(f"{GITHUB}/{relative}", cache / relative, offline=not download, progress=progress)


def source_folder(
    subset: Subset,
    cache: Path,
    *,
    source_root: Path | None,
    download: bool,
    progress: ProgressCallback | None = None,
) -> Path:
    """Return the folder of the source documents: the subset's in ``source_root``, else the unpacked download.

    Raises:
        UsageError: ``source_root`` does not hold the folder of the subset.
        DownloadError: the archive is neither in the hub's cache nor can it be downloaded.
        DataError: the archive is broken.

    """
    if source_root:
        folder = source_root / subset.folder
        if not folder.is_dir():
            raise UsageError(f"source_root {source_root} has no folder {subset.folder}, which uda:{subset.name} needs")
        return folder
    folder = cache / "source_documents"
    if not folder.is_dir():
        _unpack_documents(subset, folder, download, progress)
    return folder


def _unpack_documents(subset: Subset, folder: Path, download: bool, progress: ProgressCallback | None) -> None:
    from filelock import FileLock

    folder.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(folder.with_name(f".{folder.name}.lock")):
        if not folder.is_dir():
            archive = fetch_hub_file(HUB_DATASET, archive_file(subset), download=download)
            unpack(archive, folder, progress=progress)


def find_document(subset: Subset, folder: Path, doc_name: str) -> Path | None:
    """Return the file named ``doc_name``, letter by letter, with a known extension, PDF first; None without one.

    A name matches in either Unicode normal form, and none that holds a path separator does.
    """
    if "/" in doc_name or "\\" in doc_name:
        return None
    names = [f"{name}{extension}" for extension in MEDIA_TYPES for name in _spellings(doc_name)]
    places = _places(subset, folder)
    found = (place / name for name in names for place in places)
    return next((path for path in found if isfile(path)), None)


def missing_document(subset: Subset, folder: Path, doc_name: str) -> DataError:
    """Return the error for a document without a file, which names the places looked at."""
    names = ", ".join(f"{doc_name}{extension}" for extension in MEDIA_TYPES)
    places = ", ".join(str(place) for place in _places(subset, folder)) or f"{folder}, which is not there"
    return DataError(
        f"uda:{subset.name}: the document {doc_name!r} is missing: looked for {names} in {places}; "
        f"add one of them, or leave its cases out with missing_documents=skip"
    )


def _places(subset: Subset, folder: Path) -> list[Path]:
    """Return the folders that may hold documents; an archive may or may not have its own name as the top folder."""
    below = [folder / top / kind for top in ("", subset.folder) for kind in ("", "pdfs", "htmls")]
    return [place for place in below if place.is_dir()]


def _spellings(name: str) -> list[str]:
    forms = dict.fromkeys((name, *(unicodedata.normalize(form, name) for form in ("NFC", "NFD"))))
    # A zip without the flag for UTF-8 names is unpacked with each name read as code page 437.
    return [*forms, *(form.encode().decode("cp437") for form in forms if not form.isascii())]
