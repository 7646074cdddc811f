"""A recipe specification names an object, a factory or a search function in a file."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from pytest_heta.engine.recipes import AddressSpec, LoadedRecipe, load_recipe, parse_recipe_spec, parse_recipe_specs
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
        ("ftp://h/{query}", r"expected FILE.py or FILE.py:ATTRIBUTE, or https://HOST/…\?q=\{query\}"),
        ("https://h/", r"recipe 'https://h/': neither the address nor request holds \{query\}"),
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


@pytest.mark.parametrize(
    ("text", "name", "label"),
    [
        ("https://search.example/{query}", "search.example", "search.example"),
        ("http://127.0.0.1:8000/{query}", "127.0.0.1:8000", "127.0.0.1-8000"),
        ("http://[::1]:8000/{query}", "[::1]:8000", "1-8000"),
        ("https://h/{query}#name=live/1 ü", "live/1 ü", "live-1-ü"),
        ("https://h/{query}#name=..", "..", "e155e12e"),
    ],
)
def test_an_address_goes_by_its_name_or_host(tmp_path: Path, text: str, name: str, label: str) -> None:
    """In ids and file names it has no character that is special there."""
    spec = parse_recipe_spec(f" {text} ", tmp_path)
    assert isinstance(spec, AddressSpec)
    assert (spec.text, spec.name, spec.label) == (text, name, label)


def test_the_recipe_of_an_address_comes_from_no_file(tmp_path: Path) -> None:
    """Its name stands in its manifest, which says all of it."""
    loaded = asyncio.run(load_recipe(parse_recipe_spec("https://h/{query}#results=hits", tmp_path)))
    assert (loaded.name, loaded.source_file) == ("h", None)
    assert {key: loaded.manifest[key] for key in ("name", "url", "results")} == {
        "name": "h",
        "url": "https://h/{query}",
        "results": "hits",
    }


def test_addresses_of_one_name_are_told_apart(tmp_path: Path) -> None:
    """Each gets a digest of its own, whatever their order and beside whatever else; the same address stays one."""
    (tmp_path / "h.py").touch()
    texts = ["https://h/a?q={query}", "h.py", "https://H/b?q={query}", "https://h/a?q={query}", "https://k/{query}"]
    specs = parse_recipe_specs(texts, tmp_path)
    assert [spec.label for spec in specs] == ["h-f9c413d6", "h", "h-2b58a468", "h-f9c413d6", "k"]
    assert parse_recipe_specs(reversed(texts), tmp_path) == specs[::-1]
    assert asyncio.run(load_recipe(specs[0])).manifest["name"] == "h-f9c413d6"


def test_a_recipe_file_may_hold_an_address(tmp_path: Path) -> None:
    """It goes by its host, and changes with its file."""
    loaded = load(tmp_path, "recipe = 'https://search.example/{query}#results=hits'")
    assert (loaded.name, loaded.source_file, loaded.recipe.results) == (
        "search.example",
        tmp_path / "mine.py",
        "hits",
    )
