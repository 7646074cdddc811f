"""Fetching files over the network, here from a server on this computer."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from subprocess import PIPE, Popen
from sys import executable

import pytest

from pytest_heta.datasets.download import download
from pytest_heta.errors import DownloadError
from tests.datasets.file_server import serving

BODY = bytes(range(256)) * 4096


def _visible(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if not path.name.endswith(".lock"))


def test_it_is_fetched_whole_with_progress(tmp_path: Path) -> None:
    """The file arrives in a folder that is made for it; progress counts its bytes up to all of them."""
    seen: list[tuple[str, int, int | None]] = []
    target = tmp_path / "cache" / "set.zip"
    with serving((200, {}, BODY)) as server:
        assert download(server.url, target, progress=lambda *step: seen.append(step)) == target
    assert target.read_bytes() == BODY
    assert {(stage, total) for stage, _, total in seen} == {("download set.zip", len(BODY))}
    assert [done for _, done, _ in seen] == sorted({done for _, done, _ in seen})
    assert seen[-1][1] == len(BODY)
    assert _visible(target.parent) == ["set.zip"]


def test_what_is_there_is_not_fetched(tmp_path: Path) -> None:
    """A file that exists is returned without any request, offline too."""
    target = tmp_path / "set.zip"
    target.write_bytes(b"mine")
    with serving((200, {}, BODY)) as server:
        download(server.url, target)
        download(server.url, target, offline=True)
        assert server.requests == 0
    assert target.read_bytes() == b"mine"


def test_offline_says_what_would_go_where(tmp_path: Path) -> None:
    """Offline, a missing file is an error that names the address and the path, and nothing is made."""
    target = tmp_path / "cache" / "set.zip"
    with pytest.raises(DownloadError) as caught:
        download("http://example.org/set.zip", target, offline=True)
    assert "http://example.org/set.zip" in str(caught.value)
    assert str(target) in str(caught.value)
    assert not target.parent.exists()


@pytest.mark.parametrize("status", [503, 500, 429])
def test_a_passing_failure_is_tried_again(tmp_path: Path, status: int) -> None:
    """After 5xx and 429 the same request is sent again."""
    with serving((status, {"Retry-After": "0"}, b"busy"), (status, {}, b"busy"), (200, {}, BODY)) as server:
        download(server.url, tmp_path / "set.zip", backoff=0.001)
        assert server.requests == 3
    assert (tmp_path / "set.zip").read_bytes() == BODY


def test_trying_again_has_an_end(tmp_path: Path) -> None:
    """After the last attempt the error names the address, the answer and the number of tries; nothing is left."""
    with serving((503, {}, b"busy")) as server:
        with pytest.raises(DownloadError, match=r"set\.zip: the server answered 503 .* \(tried 3 times\)$"):
            download(server.url, tmp_path / "set.zip", attempts=3, backoff=0.001)
        assert server.requests == 3
    assert _visible(tmp_path) == []


@pytest.mark.parametrize("status", [404, 403, 304])
def test_a_refusal_is_final(tmp_path: Path, status: int) -> None:
    """Another status than success fails at once with the address and the status."""
    with serving((status, {"Content-Length": "0"}, b"")) as server:
        with pytest.raises(DownloadError, match=rf"{server.url}: the server answered {status}"):
            download(server.url, tmp_path / "set.zip")
        assert server.requests == 1
    assert _visible(tmp_path) == []


def test_a_body_that_ends_early_is_not_published(tmp_path: Path) -> None:
    """A body shorter than its Content-Length is fetched again, and is never taken for the file."""
    short = (200, {"Content-Length": str(len(BODY))}, BODY[:1000])
    with serving(short, (200, {}, BODY)) as server:
        download(server.url, tmp_path / "set.zip", backoff=0.001)
        assert server.requests == 2
    assert (tmp_path / "set.zip").read_bytes() == BODY
    with serving(short) as server, pytest.raises(DownloadError, match=r"RemoteProtocolError: .*tried 2 times"):
        download(server.url, tmp_path / "other.zip", attempts=2, backoff=0.001)
    assert _visible(tmp_path) == ["set.zip"]


def test_a_redirect_is_followed(tmp_path: Path) -> None:
    """The file is found where the server says it has moved."""
    with serving((302, {"Location": "/elsewhere.zip"}, b""), (200, {}, b"moved")) as server:
        download(server.url, tmp_path / "set.zip")
    assert (tmp_path / "set.zip").read_bytes() == b"moved"


def test_no_server_is_an_error(tmp_path: Path) -> None:
    """A refused connection is tried again and then named."""
    with serving((200, {}, b"")) as gone:
        url = gone.url
    with pytest.raises(DownloadError, match=r"ConnectError: .* \(tried 2 times\)"):
        download(url, tmp_path / "set.zip", attempts=2, backoff=0.001)


@pytest.mark.parametrize("url", ["ftp://example.org/set.zip", "http://[", "no address"])
def test_an_address_that_is_none_is_an_error(tmp_path: Path, url: str) -> None:
    """An address that cannot be asked fails at once and is named."""
    with pytest.raises(DownloadError) as caught:
        download(url, tmp_path / "set.zip", attempts=1)
    assert str(caught.value).startswith(f"{url}: ")


def test_a_place_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    """Where the folder cannot be made, the error names the file."""
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(DownloadError, match=r"cannot be written to .*set\.zip"):
        download("http://127.0.0.1:1/set.zip", tmp_path / "file" / "set.zip")


def test_what_a_killed_process_left_does_no_harm(tmp_path: Path) -> None:
    """A part of the file from an earlier process is replaced."""
    (tmp_path / ".set.zip.part").write_bytes(b"half")
    with serving((200, {}, BODY)) as server:
        download(server.url, tmp_path / "set.zip")
    assert (tmp_path / "set.zip").read_bytes() == BODY
    assert _visible(tmp_path) == ["set.zip"]


def test_many_threads_download_once(tmp_path: Path) -> None:
    """Threads that ask for one file at the same time cause one request."""
    with serving((200, {}, BODY)) as server, ThreadPoolExecutor(8) as pool:
        for task in [pool.submit(download, server.url, tmp_path / "set.zip") for _ in range(8)]:
            assert task.result().read_bytes() == BODY
        assert server.requests == 1


def test_two_processes_download_once(tmp_path: Path) -> None:
    """Processes that ask for one file at the same time cause one request, and both find the file."""
    program = (
        "import sys; from pathlib import Path; from pytest_heta.datasets.download import download\n"
        "print('ready', flush=True); sys.stdin.readline()\n"
        "print(len(download(sys.argv[1], Path(sys.argv[2])).read_bytes()))"
    )
    with serving((200, {}, BODY)) as server:
        command = [executable, "-c", program, server.url, str(tmp_path / "set.zip")]
        processes = [Popen(command, stdin=PIPE, stdout=PIPE, text=True) for _ in range(2)]
        for process in processes:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
        outputs = [process.communicate("go\n", timeout=60)[0] for process in processes]
        assert outputs == [f"{len(BODY)}\n"] * 2
        assert server.requests == 1
