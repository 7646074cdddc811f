"""Files from the network: each is fetched once, whole or not at all."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_heta.errors import DownloadError
from pytest_heta.protocols import ProgressCallback

if TYPE_CHECKING:
    import httpx

_TIMEOUT_SECONDS = 30.0
_LONGEST_WAIT_SECONDS = 60.0
_BLOCK = 1 << 18


class _TransientError(Exception):
    """A failure that another try may not meet; ``wait`` is the pause in seconds that the server asked for."""

    def __init__(self, message: str, wait: float = 0.0) -> None:
        super().__init__(message)
        self.wait = wait


def download(
    url: str,
    destination: Path,
    *,
    offline: bool = False,
    progress: ProgressCallback | None = None,
    attempts: int = 4,
    backoff: float = 0.5,
) -> Path:
    """Fetch ``url`` to the file ``destination`` unless it is there already, and return it.

    The body is streamed to a temporary file beside the destination, which it replaces atomically; a lock beside it
    lets many processes ask at once while one of them downloads. Connection errors, a body that ends early, and
    answers 429 and 5xx are tried again, ``attempts`` times in all, after ``backoff`` * 2**n seconds or what the
    server's ``Retry-After`` asks for, at most a minute. ``progress`` gets the stage ``download {file name}`` and bytes.

    Raises:
        DownloadError: the file is not there and ``offline`` is set, or it could not be fetched or written.
    """
    if destination.exists():
        return destination
    if offline:
        raise DownloadError(f"{destination} is not there and downloading is switched off; put {url} there by hand")
    from filelock import FileLock

    try:
        destination.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(destination.with_name(f".{destination.name}.lock")):
            if not destination.exists():
                _fetch(url, destination, progress, attempts, backoff)
    except OSError as error:
        raise DownloadError(f"{url}: cannot be written to {destination}: {error}") from error
    return destination


def _fetch(url: str, destination: Path, progress: ProgressCallback | None, attempts: int, backoff: float) -> None:
    # The lock makes this name ours, and what a killed process left under it is overwritten.
    partial = destination.with_name(f".{destination.name}.part")
    try:
        for attempt in range(1, attempts + 1):
            try:
                _stream(url, partial, f"download {destination.name}", progress)
                break
            except _TransientError as error:
                if attempt == attempts:
                    raise DownloadError(f"{url}: {error} (tried {attempts} times)") from error
                time.sleep(min(max(backoff * 2 ** (attempt - 1), error.wait), _LONGEST_WAIT_SECONDS))
        os.replace(partial, destination)
    finally:
        partial.unlink(missing_ok=True)


def _stream(url: str, partial: Path, stage: str, progress: ProgressCallback | None) -> None:
    import httpx

    # Content-Length counts the bytes on the wire; unpacked on the way they could not be compared with it.
    headers = {"Accept-Encoding": "identity"}
    try:
        with httpx.stream("GET", url, headers=headers, follow_redirects=True, timeout=_TIMEOUT_SECONDS) as response:
            _check_status(url, response)
            _save(response, partial, stage, progress)
    except (httpx.NetworkError, httpx.TimeoutException, httpx.RemoteProtocolError) as error:
        raise _TransientError(f"{type(error).__name__}: {error}") from error
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise DownloadError(f"{url}: {type(error).__name__}: {error}") from error


def _check_status(url: str, response: httpx.Response) -> None:
    message = f"the server answered {response.status_code} {response.reason_phrase}"
    if response.status_code == 429 or response.is_server_error:
        asked = response.headers.get("Retry-After", "")
        raise _TransientError(message, float(asked) if asked.isdecimal() else 0.0)
    if not response.is_success:
        raise DownloadError(f"{url}: {message}")


def _save(response: httpx.Response, partial: Path, stage: str, progress: ProgressCallback | None) -> None:
    # A body shorter than this is a RemoteProtocolError of httpx.
    length = response.headers.get("Content-Length", "")
    total = int(length) if length.isdecimal() else None
    with partial.open("wb") as file:
        for block in response.iter_raw(_BLOCK):
            file.write(block)
            if progress:
                progress(stage, file.tell(), total)
