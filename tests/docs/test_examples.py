"""What the documentation shows runs, and ends as it says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pytest_heta.plugin import hookspecs
from pytest_heta.plugin.options import OPTIONS
from tests.docs.examples import DOCS, ROOT, Example, python_examples, toml_examples
from tests.plugin.project import Project, clean

HOOKS = python_examples("hooks.md")
SUITES = toml_examples("gates.md")


@pytest.mark.parametrize("example", HOOKS, ids=[str(number) for number in range(len(HOOKS))])
def test_an_example_of_a_hook_runs(project: Project, example: Example) -> None:
    """The file of the example and the command below it give the output that stands there."""
    project.write(example.file, example.code)
    result = project.run(*example.args)
    clean(result)
    *lines, last = example.output
    assert re.fullmatch(rf"=* ?{re.escape(last)} in .*", result.outlines[-1]), result.outlines[-1]
    assert all(any(line in shown for shown in result.outlines) for line in lines)


def test_there_are_suites_in_the_documentation() -> None:
    """The examples are found, however the page is written."""
    assert len(SUITES) == 2


def test_every_hook_and_fixture_has_an_example() -> None:
    """Each hook is a heading with an example below it, and each block of Python is one."""
    text = (DOCS / "hooks.md").read_text(encoding="utf-8")
    hooks = [name for name in vars(hookspecs) if name.startswith("pytest_heta_")]
    assert len(hooks) == 5
    assert all(f"\n## {hook}(" in text for hook in hooks)
    code = "".join(example.code for example in HOOKS)
    assert all(f"def {hook}(" in code for hook in hooks)
    assert text.count("```python") == len(HOOKS) == 7


@pytest.mark.parametrize("suite", SUITES, ids=[str(number) for number in range(len(SUITES))])
def test_a_suite_in_the_documentation_runs(project: Project, suite: str) -> None:
    """A suite file that is shown can be read, and its gates are judged, whatever the verdict on the small benchmark."""
    project.labelled()
    project.write("shown.heta.toml", suite)
    result = project.run("shown.heta.toml")
    assert result.ret in (0, 1)
    assert "gates: " in clean(result)


@pytest.mark.parametrize(
    "page", [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))], ids=lambda page: str(page.relative_to(ROOT))
)
def test_no_page_names_an_option_that_is_not_there(page: Path) -> None:
    """Every --heta-… in the documentation is an option."""
    named = set(re.findall(r"--heta-[a-z-]+[a-z]", page.read_text(encoding="utf-8")))
    assert named <= {option.flag for option in OPTIONS}
