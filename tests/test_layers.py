"""Imports go one way: each part of the package imports only what lies below it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import pytest_heta

ROOT = Path(pytest_heta.__file__).parent

LAYERS = (
    {"errors", "locations", "masking"},
    {"records"},
    {"keys"},
    {"protocols", "loading", "calling"},
    {"datasets", "evaluators"},
    {"benchmarks", "knowledge"},
    {"integrations"},
    {"engine"},
    {"checking", "reports"},
    {"runner"},
    {"plugin", "cli"},
    {"__main__"},
)
"""From the bottom up. What shares a layer does not import each other; ``__init__`` names what is public."""

LEVEL = {part: level for level, layer in enumerate(LAYERS) for part in layer}
TEST_RUNNERS = {"pytest", "xdist", "pluggy"}


def part_of(file: Path) -> str:
    """Return the first name below the package: a folder, or a module without its suffix."""
    return file.relative_to(ROOT).parts[0].removesuffix(".py")


def imports_of(file: Path) -> Iterator[tuple[int, str]]:
    """Yield the line and dotted name of everything that a file imports, anywhere in it; texts that name modules too."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}:{node.lineno}: imports are absolute"
            yield from ((node.lineno, f"{node.module}.{alias.name}") for alias in node.names)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.startswith("pytest_heta."):
            yield node.lineno, node.value


def broken_rules(file: Path) -> Iterator[str]:
    """Yield a line for each import of a file that it must not have."""
    part = part_of(file)
    for line, name in imports_of(file):
        package, _, rest = name.partition(".")
        imported = rest.partition(".")[0].partition(":")[0]
        place = f"{file.relative_to(ROOT.parent)}:{line} imports {name}"
        if package == "_pytest" or (package in TEST_RUNNERS and part != "plugin"):
            yield f"{place}: only plugin/ knows pytest, and nobody its insides"
        elif package == ROOT.name and imported == "plugin" and part != "plugin":
            yield f"{place}: nobody needs the plugin"
        elif package == ROOT.name and imported != part and LEVEL.get(imported, -1) >= LEVEL.get(part, len(LAYERS)):
            yield f"{place}: {imported} does not lie below {part}"


FILES = sorted(ROOT.rglob("*.py"))


@pytest.mark.parametrize("part", sorted({part_of(file) for file in FILES}))
def test_imports_go_one_way(part: str) -> None:
    """No file of this part imports what lies beside or above it, and only the plugin imports pytest."""
    assert [rule for file in FILES if part_of(file) == part for rule in broken_rules(file)] == []


def test_every_part_has_a_layer() -> None:
    """A new folder or module gets its place here."""
    assert {part_of(file) for file in FILES} == {*LEVEL, "__init__"}


def test_a_wrong_import_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The rules catch what they are for."""
    monkeypatch.setattr("tests.test_layers.ROOT", tmp_path / "pytest_heta")
    file = tmp_path / "pytest_heta" / "engine" / "bad.py"
    file.parent.mkdir(parents=True)
    file.write_text(
        "import pytest\n"
        "import _pytest.nodes\n"
        "def later():\n"
        "    from pytest_heta.reports import gates\n"
        "    from pytest_heta import plugin\n"
        "    from pytest_heta.records import BenchmarkCase\n"
    )
    assert [rule.split(" imports ")[0].rsplit(":", 1)[1] for rule in broken_rules(file)] == ["1", "2", "4", "5"]
