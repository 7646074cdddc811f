"""What a pytest start costs a project that does not use heta."""

from __future__ import annotations

import json

import pytest

HEAVY = ("pydantic", "numpy", "httpx", "huggingface_hub", "filelock", "asyncio", "bm25s", "wordllama", "onnxruntime")

PROBE = """
import json, os, sys
from pathlib import Path

def pytest_unconfigure():
    heavy = [name for name in {heavy!r} if name in sys.modules]
    loaded = sorted(name for name in sys.modules if name.startswith("pytest_heta."))
    Path(os.environ.get("PYTEST_XDIST_WORKER", "main") + ".json").write_text(json.dumps([heavy, loaded]))
"""

LIGHT = {
    f"pytest_heta.{name}" for name in ("plugin", *(f"plugin.{part}" for part in ("fixtures", "options", "running")))
}


@pytest.mark.parametrize(
    ("args", "more"),
    [(("-p", "no:xdist"), ()), (("-p", "xdist", "-n1"), ("identity", "workers"))],
    ids=["alone", "n1"],
)
def test_a_start_without_heta_imports_nothing_heavy(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, args: tuple[str, ...], more: tuple[str, ...]
) -> None:
    """A session that names no benchmark loads hooks, fixtures and options of the plugin, and no library for them."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    pytester.makeconftest(PROBE.format(heavy=HEAVY))
    pytester.makepyfile("def test_own(): pass")
    pytester.runpytest_subprocess("-p", "heta", *args).assert_outcomes(passed=1)
    found = {path.stem: json.loads(path.read_text()) for path in pytester.path.glob("*.json")}
    assert found.keys() == ({"main", "gw0"} if more else {"main"})
    assert [heavy for heavy, _ in found.values()] == [[]] * len(found)
    allowed = LIGHT | {f"pytest_heta.plugin.{name}" for name in ("hookspecs", *more)}
    assert all(LIGHT <= set(loaded) <= allowed for _, loaded in found.values()), found
