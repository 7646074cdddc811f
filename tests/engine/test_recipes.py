"""A recipe specification names an object, a factory or a search function in a file."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from pytest_heta.engine.recipes import LoadedRecipe, load_recipe, parse_recipe_spec
from pytest_heta.errors import RecipeError, UsageError

RECIPE = """
class Recipe:
    available_queries = ("search",)
    manifest = {"size": 3}
    def build(self, *, name, objects, source_keys, progress=None): ...
"""


def load(folder: Path, code: str, attribute: str = "") -> LoadedRecipe:
    """Load a recipe from a file of this code."""
    (folder / "mine.py").write_text(code, encoding="utf-8")
    return asyncio.run(load_recipe(parse_recipe_spec(f"mine.py{attribute}", folder)))


def test_a_specification_is_a_file_and_perhaps_an_attribute(tmp_path: Path) -> None:
    """The label is the file's name, with the attribute where it is not the usual one."""
    (tmp_path / "mine.py").touch()
    labels = [parse_recipe_spec(f"mine.py{rest}", tmp_path).label for rest in ("", ":recipe", ":other")]
    assert labels == ["mine", "mine", "mine.other"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("gone.py", r"recipe 'gone\.py': no such file: .*gone\.py"),
        ("mine.txt", r"recipe 'mine\.txt': expected FILE\.py or FILE\.py:ATTRIBUTE"),
        ("mine.py:1st", "expected FILE.py or FILE.py:ATTRIBUTE"),
        ("", "expected FILE.py or FILE.py:ATTRIBUTE"),
    ],
)
def test_another_text_is_refused(tmp_path: Path, text: str, message: str) -> None:
    """It says what was expected."""
    (tmp_path / "mine.py").touch()
    with pytest.raises(UsageError, match=message):
        parse_recipe_spec(text, tmp_path)


@pytest.mark.parametrize(
    "line",
    [
        "recipe = Recipe()",
        "recipe = Recipe",
        "def recipe(): return Recipe()",
        "async def recipe(): return Recipe()",
        "recipe = lambda: Recipe()",
    ],
)
def test_a_recipe_may_be_an_object_a_class_or_a_factory(tmp_path: Path, line: str) -> None:
    """All of them give the same recipe; its manifest is what it declares, with its name."""
    loaded = load(tmp_path, f"{RECIPE}\n{line}\n")
    assert loaded.manifest == {"name": "mine", "size": 3}
    assert loaded.source_file == tmp_path / "mine.py"


def test_a_recipe_may_name_itself(tmp_path: Path) -> None:
    """And a manifest may be a function."""
    code = f"{RECIPE}\nrecipe = Recipe()\nrecipe.name = 'best'\nrecipe.manifest = lambda: {{'a': 1}}\n"
    assert load(tmp_path, code).manifest == {"name": "best", "a": 1}


def test_a_file_may_simply_hold_a_search_function(tmp_path: Path) -> None:
    """Under the name ``search``, or under any that the specification gives; in reports it goes by its file."""
    code = "def search(query, top_k): return []\ndef other(query, top_k): return []\n"
    assert load(tmp_path, code).recipe.available_queries == ("search",)
    assert load(tmp_path, code).name == "mine"
    assert load(tmp_path, code, ":other").name == "mine.other"


@pytest.mark.parametrize(
    ("code", "attribute", "message"),
    [
        ("x = 1", "", r"mine\.py: has no 'recipe' \(it has: x\)"),
        ("x = 1", ":other", "has no 'other'"),
        ("recipe = 5", "", r"mine\.py:recipe is int, which is not a recipe"),
        ("1/0", "", r"mine\.py:1: ZeroDivisionError"),
        ("def f(:", "", r"mine\.py:1: SyntaxError"),
        ("import sys; sys.exit(2)", "", r"mine\.py:1: SystemExit: 2"),
        ("import sys\ndef recipe(): sys.exit(2)", "", r"recipe ended with sys\.exit\(2\)"),
        ("def recipe():\n    return 1/0", "", r"mine\.py:2: ZeroDivisionError"),
    ],
)
def test_a_file_without_a_recipe_says_so(tmp_path: Path, code: str, attribute: str, message: str) -> None:
    """One message with the place of the failure."""
    with pytest.raises(RecipeError, match=message):
        load(tmp_path, code, attribute)
