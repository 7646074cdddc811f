"""Where the raw documents of a build lie while it goes on."""

from __future__ import annotations

import re
import shutil
import socket
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from uuid import uuid4

from filelock import FileLock, Timeout


@contextmanager
def raw_folder() -> Iterator[Path]:
    """Make a temporary folder that is removed at the end, after those that killed processes of this host have left.

    ``{name}.lock`` is locked before the folder ``{name}`` exists and until it is gone, so that a folder whose lock is
    free belongs to nobody.
    """
    root = Path(tempfile.gettempdir())
    prefix = f"heta-raw-{re.sub('[^A-Za-z0-9.-]', '_', socket.gethostname())}-"
    for left in root.glob(f"{prefix}*/"):
        _remove_if_free(left)
    folder = root / f"{prefix}{uuid4().hex}"
    try:
        with FileLock(_lock_of(folder), thread_local=False):  # entered in one thread, left in another
            folder.mkdir(mode=0o700)
            try:
                yield folder
            finally:
                shutil.rmtree(folder, ignore_errors=True)
    finally:
        with suppress(OSError):
            _lock_of(folder).unlink()


def _remove_if_free(folder: Path) -> None:
    with suppress(Timeout, OSError):
        with FileLock(_lock_of(folder), blocking=False):
            shutil.rmtree(folder)
        _lock_of(folder).unlink()


def _lock_of(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}.lock")
