"""Unpacking zip archives."""

from __future__ import annotations

import stat
import zipfile
from pathlib import Path

import pytest

from pytest_heta.datasets.archive import unpack
from pytest_heta.errors import DataError


def _zip(path: Path, members: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return path


def test_members_are_published_as_a_folder(tmp_path: Path) -> None:
    """Files and empty folders of the archive are in the destination, and progress counts their bytes."""
    seen: list[tuple[str, int, int | None]] = []
    archive = _zip(tmp_path / "a.zip", {"top/x.txt": b"one", "top/sub/y.txt": b"three", "empty/": b""})
    unpack(archive, tmp_path / "out", progress=lambda *step: seen.append(step))
    assert (tmp_path / "out/top/x.txt").read_bytes() == b"one"
    assert (tmp_path / "out/top/sub/y.txt").read_bytes() == b"three"
    assert (tmp_path / "out/empty").is_dir()
    assert seen == [("unpack a.zip", 3, 8), ("unpack a.zip", 8, 8)]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.zip", "out"]


def test_one_folder_of_it_can_be_published(tmp_path: Path) -> None:
    """``choose`` picks the folder inside; the rest is thrown away."""
    archive = _zip(tmp_path / "a.zip", {"top/x.txt": b"one", "other/y.txt": b"two"})
    unpack(archive, tmp_path / "out", choose=lambda folder: folder / "top")
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["x.txt"]


@pytest.mark.parametrize("name", ["../out.txt", "top/../../out.txt", "/out.txt", "C:/out.txt", "top\\..\\..\\out.txt"])
def test_no_member_leaves_the_folder(tmp_path: Path, name: str) -> None:
    """A member that points out of the folder is an error with its name, and nothing is unpacked."""
    archive = _zip(tmp_path / "a.zip", {"top/fine.txt": b"fine", name: b"bad"})
    with pytest.raises(DataError, match=r"a\.zip: member .*out\.txt' points out of the folder"):
        unpack(archive, tmp_path / "deep" / "out")
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["a.zip", "deep"]


def test_a_symbolic_link_is_refused(tmp_path: Path) -> None:
    """A link could lead later members out of the folder, so it is an error with its name."""
    link = zipfile.ZipInfo("top/link")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr(link, "/etc")
        archive.writestr("top/link/passwd", "x")
    with pytest.raises(DataError, match=r"a\.zip: member 'top/link' is a symbolic link"):
        unpack(tmp_path / "a.zip", tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("keep", [0, 100, -1])
def test_a_truncated_archive_is_an_error(tmp_path: Path, keep: int) -> None:
    """An archive that lacks its end is a DataError with its name, and nothing is published."""
    archive = _zip(tmp_path / "a.zip", {"top/x.txt": b"one" * 1000})
    archive.write_bytes(archive.read_bytes()[:keep])
    with pytest.raises(DataError, match=r"a\.zip: cannot be read as a zip archive"):
        unpack(archive, tmp_path / "out")
    assert [path.name for path in tmp_path.iterdir()] == ["a.zip"]


def test_damaged_content_is_an_error(tmp_path: Path) -> None:
    """Bytes that changed inside a member are noticed."""
    archive = _zip(tmp_path / "a.zip", {"x.txt": bytes(range(256)) * 40})
    damaged = bytearray(archive.read_bytes())
    damaged[60:80] = b"\xff" * 20
    archive.write_bytes(damaged)
    with pytest.raises(DataError, match=r"a\.zip: cannot be read as a zip archive"):
        unpack(archive, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_missing_archive_is_an_error(tmp_path: Path) -> None:
    """An archive that is not there is a DataError with its name."""
    with pytest.raises(DataError, match=r"a\.zip cannot be unpacked to .*: .*No such file"):
        unpack(tmp_path / "a.zip", tmp_path / "out")


def test_a_full_destination_is_kept(tmp_path: Path) -> None:
    """A destination that holds something is left as it is."""
    (tmp_path / "out").mkdir()
    (tmp_path / "out/mine.txt").write_bytes(b"mine")
    with pytest.raises(DataError, match="cannot be unpacked to"):
        unpack(_zip(tmp_path / "a.zip", {"x.txt": b"one"}), tmp_path / "out")
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["mine.txt"]


def test_what_a_killed_process_left_does_no_harm(tmp_path: Path) -> None:
    """Half an earlier try does not get into the destination."""
    (tmp_path / ".out.unpacking").mkdir()
    (tmp_path / ".out.unpacking/old.txt").write_bytes(b"old")
    unpack(_zip(tmp_path / "a.zip", {"x.txt": b"one"}), tmp_path / "out")
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["x.txt"]
    assert not (tmp_path / ".out.unpacking").exists()
