"""What a pytest start costs a project that does not use heta."""

from __future__ import annotations

import json

import pytest

HEAVY = ("pydantic", "numpy", "httpx", "huggingface_hub", "filelock", "asyncio", "bm25s", "wordllama", "onnxruntime")

PROBE = """
import json, sys
from pathlib import Path

def pytest_unconfigure():
    loaded = sorted(name for name in sys.modules if name.startswith("pytest_heta"))
    heavy = [name for name in {heavy!r} if name in sys.modules]
    Path("loaded.json").write_text(json.dumps([heavy, loaded]))
"""


def test_a_start_without_heta_imports_nothing_heavy(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """A session that names no benchmark loads hooks, fixtures and options of the plugin, and no library for them."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    pytester.makeconftest(PROBE.format(heavy=HEAVY))
    pytester.makepyfile("def test_own(): pass")
    result = pytester.runpytest_subprocess("-p", "heta")
    result.assert_outcomes(passed=1)
    heavy, loaded = json.loads((pytester.path / "loaded.json").read_text())
    assert heavy == []
    assert set(loaded) <= {
        "pytest_heta",
        "pytest_heta.plugin",
        "pytest_heta.plugin.fixtures",
        "pytest_heta.plugin.hookspecs",
        "pytest_heta.plugin.options",
        "pytest_heta.plugin.running",
    }
    assert "pytest_heta.plugin" in loaded
