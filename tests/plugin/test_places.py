"""Recipes and suites are found wherever they lie, and their cases are reported from there."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.plugin.project import N2, Project

ARGS = ("--heta-benchmark=data", "--heta-report=out.json", "--heta-min=ndcg@1=0.5")
BELOW = "::beir_data@test::corpus::"


def check(project: Project, anchor: str, *args: str) -> None:
    """See that all cases run below ``anchor``, that a node id can be pasted, and that each run has its report."""
    first = f"{anchor}{BELOW}q1[search]"
    assert project.collected(*args)[0] == first
    project.run(*args).assert_outcomes(passed=5)
    assert project.report().cases[0].node_id == first
    project.run(*args, first).assert_outcomes(passed=2)
    assert [result.case_id for result in project.report().cases] == ["q1"]


def test_a_recipe_in_an_odd_folder(project: Project) -> None:
    """A folder with spaces and letters of any kind may hold the recipe."""
    (project.path / "my recipes ö").mkdir()
    (project.path / "r.py").rename(project.path / "my recipes ö/r.py")
    check(project, "my recipes ö/r.py", *ARGS, "--heta-recipe=my recipes ö/r.py")


def test_a_recipe_behind_a_link(project: Project) -> None:
    """A link to a recipe is a name of its own for the same recipe."""
    (project.path / "link.py").symlink_to(project.path / "r.py")
    check(project, "link.py", *ARGS, "--heta-recipe=link.py")


@pytest.mark.parametrize("spread", [("-p", "no:xdist"), N2], ids=["no-xdist", "n2"])
def test_a_recipe_outside_the_root_folder(
    project: Project, monkeypatch: pytest.MonkeyPatch, spread: tuple[str, ...]
) -> None:
    """Node ids lead there from the root folder, and gates and report are not lost."""
    project.spread = spread
    root = project.path / "root"
    root.mkdir()
    (project.path / "pytest.ini").rename(root / "pytest.ini")
    (project.path / "data").rename(root / "data")
    monkeypatch.chdir(root)
    check(project, "../r.py", *ARGS[:1], "--heta-report=../out.json", ARGS[2], "--heta-recipe=../r.py")


def test_a_suite_outside_the_root_folder(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same holds for a suite file, named itself or by its folder."""
    root = project.path / "root"
    root.mkdir()
    (project.path / "pytest.ini").rename(root / "pytest.ini")
    project.write("suites/a.heta.toml", 'benchmark = "../data"\nrecipe = "../r.py"\n')
    monkeypatch.chdir(root)
    for place in ("../suites", "../suites/a.heta.toml"):
        assert project.collected(place, "-c", "pytest.ini")[0] == f"../suites/a.heta.toml{BELOW}q1[search]"
        project.run(place, "-c", "pytest.ini", *ARGS[1:]).assert_outcomes(passed=5)
        assert Path("out.json").exists()
        Path("out.json").unlink()


def test_paths_start_where_pytest_is_called(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """Below the root folder paths on the command line start at the current folder, node ids at the root folder."""
    project.write("below/r.py", (project.path / "r.py").read_text())
    monkeypatch.chdir(project.path / "below")
    args = ("--heta-benchmark=../data", "--heta-recipe=r.py", "--heta-report=../out.json")
    assert project.collected(*args)[0] == f"below/r.py{BELOW}q1[search]"
    project.run(*args, f"r.py{BELOW}q1[search]").assert_outcomes(passed=1)
    assert project.report().cases[0].node_id == f"below/r.py{BELOW}q1[search]"
    assert (project.path / ".heta").is_dir()
