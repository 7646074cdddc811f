"""Shards from machines that did not run the same thing are not merged, also where only their reports are left."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from pytest_heta.__main__ import main
from tests.plugin.noting import EVALUATION, ran, write_noting
from tests.plugin.project import Project


def _other_recipe(project: Project) -> None:
    project.write("r.py", (project.path / "r.py").read_text() + "SECONDS = 0\n")


def _other_texts(project: Project) -> None:
    path = project.path / "many/documents.jsonl"
    path.write_text(path.read_text().replace("text d1", "another text"))


def _other_gold(project: Project) -> None:
    path = project.path / "many/cases.jsonl"
    path.write_text(path.read_text().replace('"d0"', '"d1"'))


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (_other_recipe, "the recipe's file r.py"),
        (_other_texts, "the documents of run unit 'u0'"),
        (_other_gold, "the cases and gold labels"),
    ],
)
def test_reports_of_different_evaluations_are_not_merged(
    project: Project, capsys: pytest.CaptureFixture[str], change: Callable[[Project], None], what: str
) -> None:
    """What differs is named; without the change they are one run."""
    write_noting(project)
    parts = []
    for shard in (1, 2):
        ran(project.run(*EVALUATION, f"--heta-shard={shard}/2"))
        parts.append(str((project.path / "out.json").rename(project.path / f"part{shard}.json")))
    merge = ["merge", *parts, "--runs", str(project.path / ".heta/runs")]
    assert main(merge) == 0
    change(project)
    ran(project.run(*EVALUATION, "--heta-shard=2/2"))
    (project.path / "out.json").rename(parts[1])
    capsys.readouterr()
    assert main(merge) != 0
    assert f"is no shard of the same run as {parts[0]}: {what}: " in capsys.readouterr().err
