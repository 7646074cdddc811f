"""Zip archives, unpacked so that nothing gets out of its folder and nobody sees a half of it."""

from __future__ import annotations

import os
import shutil
import stat
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path, PurePosixPath, PureWindowsPath

from pytest_heta.errors import DataError
from pytest_heta.protocols import ProgressCallback

_BROKEN = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError)


def unpack(
    archive: Path,
    destination: Path,
    *,
    choose: Callable[[Path], Path] = lambda folder: folder,
    progress: ProgressCallback | None = None,
) -> None:
    """Unpack a zip and publish it as the folder ``destination``, atomically.

    ``choose`` gets the temporary folder with the members and returns the folder to publish: it, or one inside it; what
    it raises leaves ``destination`` as it was. Only one process at a time may unpack to a destination: callers hold a
    lock. ``progress`` gets the stage ``unpack {file name}`` and bytes.

    Raises:
        DataError: the archive cannot be read, is broken, or has a member that points out of the folder; or the
            destination exists and is not empty.
    """
    staging = destination.with_name(f".{destination.name}.unpacking")
    shutil.rmtree(staging, ignore_errors=True)
    try:
        staging.mkdir(parents=True)
        try:
            _extract(archive, staging, progress)
        except _BROKEN as error:
            raise DataError.at(archive, None, f"cannot be read as a zip archive: {error}") from error
        os.replace(choose(staging), destination)
    except OSError as error:
        raise DataError(f"{archive} cannot be unpacked to {destination}: {error}") from error
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def _extract(archive: Path, folder: Path, progress: ProgressCallback | None) -> None:
    done = 0
    with zipfile.ZipFile(archive) as source:
        members = source.infolist()
        total = sum(member.file_size for member in members)
        for member in members:
            target = folder / _inner_path(archive, member)
            if member.is_dir():
                target.mkdir(parents=True, exist_ok=True)
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            with source.open(member) as packed, target.open("wb") as file:
                shutil.copyfileobj(packed, file, 1 << 20)
            done += member.file_size
            if progress:
                progress(f"unpack {archive.name}", done, total)


def _inner_path(archive: Path, member: zipfile.ZipInfo) -> PurePosixPath:
    name = member.filename
    # A zip made on Windows may use backslashes and drive letters, and Windows would follow them.
    windows = PureWindowsPath(name)
    if stat.S_ISLNK(member.external_attr >> 16):
        raise DataError.at(archive, None, f"member {name!r} is a symbolic link; nothing was unpacked")
    if windows.drive or windows.root or ".." in windows.parts:
        raise DataError.at(archive, None, f"member {name!r} points out of the folder; nothing was unpacked")
    return PurePosixPath(name)
