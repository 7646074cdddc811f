"""One entry of the KB cache on disk: a folder of files and the manifest that vouches for them.

{entry}/manifest.json   written last, while the folder is still private to its builder
{entry}/files/…         what the knowledge base saved
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from hashlib import file_digest, sha256
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from pytest_heta.errors import HetaError
from pytest_heta.records import Record

FORMAT = 1
"""Version of what lies in a cache entry; entries of another version are never opened."""

ALWAYS_HASHED = 256 * 2**20
"""Entries up to this size in bytes are hashed whole each time they are opened."""

FILES = "files"
MANIFEST = "manifest.json"


class DamagedEntryError(HetaError):
    """An entry that is not what its builder published. The message begins with the path of the offending file."""


class FileRecord(Record):
    """One file as its builder left it. Times are nanoseconds since the epoch, as ``os.stat`` gives them."""

    size: int
    sha256: str
    mtime_ns: int
    ctime_ns: int


class EntryManifest(Record):
    """What an entry holds. ``created`` is the epoch time in seconds; ``files`` maps posix paths below ``files/``."""

    format: int
    key: str
    created: float
    build_seconds: float
    label: dict[str, Any]
    files: dict[str, FileRecord]
    digest: str = ""

    @property
    def size(self) -> int:
        """The bytes of all files together."""
        return sum(record.size for record in self.files.values())

    def own_digest(self) -> str:
        """Return the sha256 of everything in this manifest but ``digest``."""
        return sha256(self.model_dump_json(exclude={"digest"}).encode()).hexdigest()


def seal(entry: Path, *, key: str, created: float, build_seconds: float, label: Mapping[str, Any]) -> EntryManifest:
    """Record all files of a finished build and write its manifest."""
    manifest = EntryManifest(
        format=FORMAT,
        key=key,
        created=created,
        build_seconds=build_seconds,
        label=dict(label),
        files={name: _record(path) for name, path in _files_below(entry / FILES).items()},
    )
    manifest = manifest.model_copy(update={"digest": manifest.own_digest()})
    (entry / MANIFEST).write_text(manifest.model_dump_json(indent=1), encoding="utf-8")
    return manifest


def read_manifest(entry: Path) -> EntryManifest:
    """Return the manifest of an entry.

    Raises:
        DamagedEntryError: it is missing, altered or of another format.

    """
    path = entry / MANIFEST
    try:
        manifest = EntryManifest.model_validate_json(path.read_bytes())
    except OSError as error:
        raise DamagedEntryError(f"{path}: {error.strerror}") from error
    except ValidationError as error:
        raise DamagedEntryError(f"{path}: not a manifest of a cache entry") from error
    if manifest.format != FORMAT:
        raise DamagedEntryError(f"{path}: has format {manifest.format}, not {FORMAT}")
    if manifest.digest != manifest.own_digest():
        raise DamagedEntryError(f"{path}: was altered")
    return manifest


def verify(entry: Path, key: str) -> EntryManifest:
    """Return the manifest of an entry that is as it was published.

    The set of files and their sizes are always compared. Contents are hashed always up to ALWAYS_HASHED bytes in all;
    in a larger entry only files whose modification or change time differs from the recorded one are, as reading tens
    of gigabytes costs more than it finds: whatever writes to a file moves its change time.

    Raises:
        DamagedEntryError: something is missing, added, altered or belongs to another key.

    """
    manifest = read_manifest(entry)
    if manifest.key != key:
        raise DamagedEntryError(f"{entry / MANIFEST}: belongs to another knowledge base ({manifest.key})")
    root = entry / FILES
    try:
        for name in _compare_stats(root, manifest):
            if _sha256(root / name) != manifest.files[name].sha256:
                raise DamagedEntryError(f"{root / name}: its content was altered (sha256 differs)")
    except OSError as error:
        raise DamagedEntryError(f"{error.filename}: {error.strerror}") from error
    return manifest


def _compare_stats(root: Path, manifest: EntryManifest) -> list[str]:
    """Compare names and sizes, and return the names of the files whose content must be hashed."""
    paths = _files_below(root)
    for name in sorted(paths.keys() ^ manifest.files.keys()):
        raise DamagedEntryError(f"{root / name}: {'was added' if name in paths else 'is missing'}")
    hash_all = manifest.size <= ALWAYS_HASHED
    doubtful = []
    for name, path in paths.items():
        found, recorded = path.stat(), manifest.files[name]
        if found.st_size != recorded.size:
            raise DamagedEntryError(f"{path}: has {found.st_size} bytes instead of {recorded.size}")
        if hash_all or (found.st_mtime_ns, found.st_ctime_ns) != (recorded.mtime_ns, recorded.ctime_ns):
            doubtful.append(name)
    return doubtful


def _files_below(root: Path) -> dict[str, Path]:
    found = (Path(folder, name) for folder, _, names in os.walk(root) for name in names)
    return dict(sorted((path.relative_to(root).as_posix(), path) for path in found))


def _record(path: Path) -> FileRecord:
    stat = path.stat()
    return FileRecord(size=stat.st_size, sha256=_sha256(path), mtime_ns=stat.st_mtime_ns, ctime_ns=stat.st_ctime_ns)


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()
