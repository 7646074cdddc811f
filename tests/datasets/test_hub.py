"""Files of data sets on the hub, from a stand-in on this machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_heta.datasets.hub import fetch_hub_file
from pytest_heta.errors import DownloadError
from tests.datasets.hub_server import file_server, use_hub

PATH = "/datasets/some/set/resolve/main/folder/file.txt"


def test_a_file_is_downloaded_once_and_then_comes_from_the_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """HF_ENDPOINT and HF_TOKEN are used, and the second request needs no server."""
    asked: list[tuple[str, str, str | None]] = []
    with file_server({PATH: b"content"}, asked) as address:
        use_hub(monkeypatch, tmp_path, address)
        monkeypatch.setenv("HF_TOKEN", "hf_secret")
        found = fetch_hub_file("some/set", "folder/file.txt")
    assert found.read_bytes() == b"content"
    assert ("GET", PATH, "Bearer hf_secret") in asked
    use_hub(monkeypatch, tmp_path, None)
    assert fetch_hub_file("some/set", "folder/file.txt", download=False).read_bytes() == b"content"


@pytest.mark.parametrize("switch", ["argument", "environment"])
def test_offline_nothing_is_asked_of_the_network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, switch: str) -> None:
    """With downloading off or HF_HUB_OFFLINE set, a file that the cache lacks is an error that names the cache."""
    asked: list[tuple[str, str, str | None]] = []
    with file_server({PATH: b"content"}, asked) as address:
        use_hub(monkeypatch, tmp_path, address)
        if switch == "environment":
            monkeypatch.setenv("HF_HUB_OFFLINE", "1")
        with pytest.raises(DownloadError, match="offline mode is on") as caught:
            fetch_hub_file("some/set", "folder/file.txt", download=switch != "argument")
    assert str(tmp_path) in str(caught.value)
    assert asked == []


def test_a_file_that_the_hub_lacks_is_an_error_that_says_what_was_tried(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The message has the file, the data set and the address."""
    with file_server({}, []) as address:
        use_hub(monkeypatch, tmp_path, address)
        with pytest.raises(DownloadError) as caught:
            fetch_hub_file("some/set", "folder/file.txt")
    assert "folder/file.txt of some/set" in str(caught.value)
    assert f"{address}/datasets/some/set" in str(caught.value)


def test_a_hub_that_does_not_answer_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A refused connection becomes a DownloadError that names HF_ENDPOINT."""
    use_hub(monkeypatch, tmp_path, None)
    monkeypatch.setattr("time.sleep", lambda seconds: None)  # the hub's client waits between its attempts
    with pytest.raises(DownloadError, match="HF_ENDPOINT"):
        fetch_hub_file("some/set", "folder/file.txt")
