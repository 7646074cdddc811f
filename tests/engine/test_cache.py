"""The KB cache within one process: when it builds, what it trusts, what it throws away."""

from __future__ import annotations

import errno
import json
import os
import shutil
import threading
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import pytest

from pytest_heta.engine import entry as entry_module
from pytest_heta.engine.cache import CacheEntry, KnowledgeBaseCache, StoredEntry, kb_key
from pytest_heta.errors import BuildError, UsageError

KEY = kb_key("documents", "recipe")


class Shop:
    """A cache, what it told, and how often it built."""

    def __init__(self, directory: Path, limit: int | None = None) -> None:
        self.notices: list[str] = []
        self.builds = 0
        self.cache = KnowledgeBaseCache(directory, limit_bytes=limit, notice=self.notices.append)

    def build(self, folder: Path) -> None:
        """Write a KB of two files, one in a folder."""
        self.builds += 1
        (folder / "vectors").mkdir()
        (folder / "vectors" / "0.npy").write_bytes(bytes(range(256)) * 4)
        (folder / "ids.json").write_text('["a", "b"]')

    def open(self, key: str = KEY, *, rebuild: bool = False) -> CacheEntry:
        """Open a key of the cache."""
        return self.cache.open(key, build=self.build, rebuild=rebuild, label={"recipe": "bm25.py"})


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    """A cache without a limit in an empty folder."""
    return Shop(tmp_path / "cache")


def test_built_once_then_opened(shop: Shop) -> None:
    """The first open builds, the next one opens the same files, and both know what the build took."""
    with shop.open() as first:
        assert first.built
    with shop.open() as second:
        assert not second.built
        assert second.path == first.path
        assert (second.path / "ids.json").read_text() == '["a", "b"]'
        assert second.build_seconds == first.build_seconds > 0
    assert shop.builds == 1
    assert shop.notices == []


def test_manifest_records_the_files(shop: Shop) -> None:
    """The manifest holds the key, the label, and size and sha256 of every file by its relative path."""
    with shop.open() as entry:
        manifest = entry.manifest
    assert (manifest.key, manifest.label, manifest.size) == (KEY, {"recipe": "bm25.py"}, 1034)
    assert {name: record.sha256 for name, record in manifest.files.items()} == {
        "ids.json": sha256(b'["a", "b"]').hexdigest(),
        "vectors/0.npy": sha256(bytes(range(256)) * 4).hexdigest(),
    }


def test_threads_build_once(shop: Shop) -> None:
    """Threads that open the same key at once build it once; another key is another build."""
    opened: list[CacheEntry] = []
    threads = [threading.Thread(target=lambda: opened.append(shop.open())) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(entry.built for entry in opened) == shop.builds == 1
    assert shop.open(kb_key("documents", "another recipe")).built


def test_key_depends_on_both_parts() -> None:
    """The key tells the documents from the recipe and does not confuse where one ends."""
    keys = {kb_key("a", "b"), kb_key("b", "a"), kb_key("ab", ""), kb_key("", "ab")}
    assert len(keys) == 4


def truncate(entry: Path) -> Path:
    """Cut the last byte off a file."""
    path = entry / "files" / "vectors" / "0.npy"
    path.write_bytes(path.read_bytes()[:-1])
    return path


def flip(entry: Path) -> Path:
    """Change one bit of a file and hide it from its modification time."""
    path = entry / "files" / "vectors" / "0.npy"
    before, data = path.stat(), bytearray(path.read_bytes())
    data[100] ^= 1
    path.write_bytes(data)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    return path


def add(entry: Path) -> Path:
    """Add a file."""
    path = entry / "files" / "vectors" / "1.npy"
    path.write_bytes(b"more")
    return path


def lose(entry: Path) -> Path:
    """Remove a file."""
    path = entry / "files" / "ids.json"
    path.unlink()
    return path


def lose_manifest(entry: Path) -> Path:
    """Remove the manifest."""
    path = entry / "manifest.json"
    path.unlink()
    return path


def empty_manifest(entry: Path) -> Path:
    """Empty the manifest, as a machine that lost its power may."""
    path = entry / "manifest.json"
    path.write_bytes(b"")
    return path


def alter_manifest(entry: Path) -> Path:
    """Change a figure in the manifest."""
    path = entry / "manifest.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"build_seconds": 0.125}))
    return path


def alter_format(entry: Path) -> Path:
    """Make the manifest one of a later version."""
    path = entry / "manifest.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"format": entry_module.FORMAT + 1}))
    return path


DAMAGES = [truncate, flip, add, lose, lose_manifest, empty_manifest, alter_manifest, alter_format]


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_entry_is_rebuilt(shop: Shop, damage: Callable[[Path], Path]) -> None:
    """An entry that is not as it was published is built again, with one notice that names the file."""
    with shop.open() as entry:
        path = damage(entry.path.parent)
    with shop.open() as again:
        assert again.built
        assert (again.path / "vectors" / "0.npy").read_bytes() == bytes(range(256)) * 4
    assert len(shop.notices) == 1
    assert shop.notices[0].startswith(f"a cached knowledge base is damaged and is built again: {path}: ")
    assert not shop.open().built
    assert len(shop.cache.list_entries()) == 1


def test_foreign_entry_is_rebuilt(shop: Shop) -> None:
    """A whole entry that belongs to another key is not opened."""
    with shop.open() as entry, shop.open("ab" * 32) as other:
        shutil.rmtree(entry.path.parent)
        shutil.copytree(other.path.parent, entry.path.parent)
    assert shop.open().built
    assert "belongs to another knowledge base" in shop.notices[0]


@pytest.mark.skipif(os.name == "nt", reason="Windows keeps no time of a file's last change of any kind")
def test_large_entry_is_hashed_where_it_changed(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of an entry above the size limit for hashing only the files that were touched are read, and damage is found."""
    monkeypatch.setattr(entry_module, "ALWAYS_HASHED", 100)
    hashed: list[str] = []
    real = entry_module._sha256

    def watched(path: Path) -> str:
        hashed.append(path.name)
        return real(path)

    monkeypatch.setattr(entry_module, "_sha256", watched)
    with shop.open() as entry:
        hashed.clear()
    assert not shop.open().built
    assert hashed == []
    flip(entry.path.parent)
    assert shop.open().built
    assert hashed[0] == "0.npy"


def test_failed_build_leaves_nothing(shop: Shop, tmp_path: Path) -> None:
    """What a build raises is raised, nothing of its work is kept, and the next one builds."""

    def fail(folder: Path) -> None:
        shop.build(folder)
        raise BuildError("model not found")

    with pytest.raises(BuildError, match="model not found"):
        shop.cache.open(KEY, build=fail, label={})
    assert [path for path in (tmp_path / "cache").rglob("*") if path.is_file()] == [
        tmp_path / "cache" / "locks" / f"{KEY}.lock"
    ]
    assert shop.open().built


def test_full_disk(shop: Shop) -> None:
    """A disk that fills up during a build is a BuildError that names the folder and the ways out."""

    def fill(folder: Path) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(folder / "0.npy"))

    with pytest.raises(BuildError, match=r"no space left .*cache .*cache gc --limit SIZE.*--heta-kb-cache=DIR"):
        shop.cache.open(KEY, build=fill, label={})


def test_unusable_folder(tmp_path: Path) -> None:
    """A cache folder that cannot be made or written is a UsageError that names the options."""
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match=r"file.*cannot be used.*--heta-kb-cache=DIR.*--heta-kb-cache=off"):
        Shop(tmp_path / "file" / "cache").open()


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="nothing is read-only for the superuser")
def test_read_only_folder(tmp_path: Path) -> None:
    """A cache folder without write permission is a UsageError."""
    tmp_path.chmod(0o500)
    with pytest.raises(UsageError, match="cannot be used"):
        Shop(tmp_path).open()


def test_rebuild(shop: Shop, tmp_path: Path) -> None:
    """``rebuild`` builds once in a session and again in the next one; the replaced entry goes."""
    assert shop.open().built
    assert not shop.open(rebuild=True).built
    later = Shop(tmp_path / "cache")
    with later.open(rebuild=True) as first, later.open(rebuild=True) as second:
        assert (first.built, second.built) == (True, False)
    assert shop.notices == later.notices == []


def test_least_recently_used_goes_first(tmp_path: Path) -> None:
    """Above the limit, the entry that was not used for the longest time is removed, not the oldest one."""
    shop = Shop(tmp_path / "cache")
    keys = [kb_key("documents", str(number)) for number in range(3)]
    for key in keys:
        shop.open(key).release()
    shop.open(keys[0]).release()
    per_entry = shop.cache.list_entries()[0].size
    tight = Shop(tmp_path / "cache", limit=3 * per_entry + 100)
    tight.open(KEY).release()
    assert {entry.key for entry in tight.cache.list_entries()} == {KEY, keys[0], keys[2]}


def test_eviction_is_not_tried_after_each_of_many_small_builds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The entries are looked through after the first build, and then once a hundredth of the limit was built."""
    shop = Shop(tmp_path / "cache", limit=100 * 3000)
    looked: list[int] = []

    def look() -> list[StoredEntry]:
        looked.append(shop.builds)
        return []

    monkeypatch.setattr(shop.cache, "list_entries", look)
    for number in range(7):
        shop.open(kb_key("documents", str(number))).release()
    assert looked == [1, 4, 7]


def test_open_entries_outlive_the_limit(tmp_path: Path) -> None:
    """Entries in use are kept whatever the limit, and go at the next collection after their release."""
    shop = Shop(tmp_path / "cache", limit=0)
    first, second = shop.open(), shop.open("ab" * 32)
    assert shop.cache.collect_garbage() == []
    assert shop.cache.remove("") == []
    first.release()
    assert [entry.key for entry in shop.cache.collect_garbage()] == [KEY]
    second.release()
    assert [entry.key for entry in shop.cache.remove("abab")] == ["ab" * 32]
    assert shop.cache.list_entries() == []


def test_released_by_another_thread(shop: Shop) -> None:
    """An entry opened in one thread is released by another; releasing it twice does nothing."""
    entry = shop.open()
    thread = threading.Thread(target=entry.release)
    thread.start()
    thread.join()
    entry.release()
    assert [shop.cache.in_use(stored) for stored in shop.cache.list_entries()] == [False]


def test_each_opening_counts(shop: Shop) -> None:
    """An entry opened twice stays in use until both have released it."""
    first, second = shop.open(), shop.open()
    first.release()
    assert [shop.cache.in_use(stored) for stored in shop.cache.list_entries()] == [True]
    second.release()
    assert [shop.cache.in_use(stored) for stored in shop.cache.list_entries()] == [False]


def test_unreadable_entries_are_garbage(shop: Shop) -> None:
    """An entry whose manifest cannot be read is listed without one and collected."""
    with shop.open() as entry:
        lose_manifest(entry.path.parent)
    assert [stored.manifest for stored in shop.cache.list_entries()] == [None]
    assert [stored.key for stored in shop.cache.collect_garbage()] == [KEY]


def test_cache_that_does_not_exist(tmp_path: Path) -> None:
    """A folder that is not there is an empty cache, and looking at it does not create it."""
    cache = Shop(tmp_path / "none").cache
    assert (cache.list_entries(), cache.remove(""), cache.collect_garbage()) == ([], [], [])
    assert not (tmp_path / "none").exists()
