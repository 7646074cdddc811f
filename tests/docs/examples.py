"""The examples in a page of the documentation."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"

_EXAMPLE = re.compile(
    r"```python\n# (?P<file>\S+\.py)\n(?P<code>(?:(?!```).*\n)+)```\n\n"
    r"    \$ pytest (?P<args>.*)\n(?P<output>(?:    .+\n)+)"
)
_TOML = re.compile(r"```toml\n(.*?)```", re.S)


@dataclass(frozen=True)
class Example:
    """A file of Python, the arguments of the run that is shown below it, and the lines that it prints."""

    file: str
    code: str
    args: tuple[str, ...]
    output: tuple[str, ...]


def python_examples(page: str) -> list[Example]:
    """Return the examples of a page that name their file and their command."""
    return [
        Example(
            match["file"],
            match["code"],
            tuple(match["args"].split()),
            tuple(line.strip() for line in match["output"].splitlines()),
        )
        for match in _EXAMPLE.finditer((DOCS / page).read_text(encoding="utf-8"))
    ]


def toml_examples(page: str) -> list[str]:
    """Return the suite files in a page."""
    return _TOML.findall((DOCS / page).read_text(encoding="utf-8"))
