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


@pytest.mark.parametrize("args", [("-p", "no:xdist"), ("-p", "xdist", "-n1")], ids=["alone", "n1"])
def test_a_start_without_heta_imports_nothing_heavy(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, args: tuple[str, ...]
) -> None:
    """A session that names no benchmark loads no library, and of the package the plugin and the exceptions only."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)  # of the run that runs this test
    pytester.makeconftest(PROBE.format(heavy=HEAVY))
    pytester.makepyfile("def test_own(): pass")
    pytester.runpytest_subprocess("-p", "heta", *args).assert_outcomes(passed=1)
    found = {path.stem: json.loads(path.read_text()) for path in pytester.path.glob("*.json")}
    assert found.keys() == ({"main", "gw0"} if "-n1" in args else {"main"})
    for heavy, loaded in found.values():
        assert heavy == []
        assert "pytest_heta.plugin" in loaded
        assert {name for name in loaded if not name.startswith("pytest_heta.plugin")} <= {"pytest_heta.errors"}
