"""Objects out of the user's Python files."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from pytest_heta.errors import HetaError, RecipeError, UsageError
from pytest_heta.loading import describe_failure, import_object, load_object


def _file(folder: Path, text: str, name: str = "mine.py") -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_the_attribute_of_a_file_comes_back(tmp_path: Path) -> None:
    """A file is imported once: two loads see the same objects, which know their module by its name."""
    path = _file(tmp_path, "class Recipe: pass\nrecipe = Recipe()\n")
    recipe = load_object(path, "recipe", UsageError)
    assert load_object(tmp_path / "." / "mine.py", "recipe", UsageError) is recipe
    assert sys.modules[type(recipe).__module__].recipe is recipe


def test_files_of_one_name_are_kept_apart(tmp_path: Path) -> None:
    """Two files called the same in two folders are two modules."""
    paths = [_file(tmp_path / name, f"value = {name!r}\n") for name in ("a", "b")]
    assert [load_object(path, "value", UsageError) for path in paths] == ["a", "b"]


def test_neighbours_can_be_imported(tmp_path: Path) -> None:
    """A file imports modules that lie beside it, and sys.path is afterwards what it was."""
    _file(tmp_path, "value = 42\n", "heta_test_neighbour.py")
    before = list(sys.path)
    path = _file(tmp_path, "from heta_test_neighbour import value\n")
    assert load_object(path, "value", UsageError) == 42
    assert sys.path == before


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    """No such file is the caller's error with the path."""
    with pytest.raises(RecipeError, match=r"none\.py: there is no such file"):
        load_object(tmp_path / "none.py", "recipe", RecipeError)


def test_a_file_that_is_no_python_is_named(tmp_path: Path) -> None:
    """A file without the ending .py is the caller's error with the path."""
    with pytest.raises(UsageError, match=r"notes\.txt: not a Python file"):
        load_object(_file(tmp_path, "x = 1", "notes.txt"), "x", UsageError)


def test_a_missing_attribute_lists_those_that_exist(tmp_path: Path) -> None:
    """An attribute that is not there is the caller's error with the public names of the file."""
    path = _file(tmp_path, "import os\n_hidden = 1\nrecipes = 2\n")
    with pytest.raises(UsageError, match=r"mine\.py: has no 'recipe' \(it has: os, recipes\)"):
        load_object(path, "recipe", UsageError)


@pytest.mark.parametrize(
    ("text", "message", "cause"),
    [
        ("x = 1\ndef f():\n    return {}['k']\n\nf()\n", "mine.py:3: KeyError: 'k'", KeyError),
        ("import json\njson.loads('{')\n", "mine.py:2: JSONDecodeError: Expecting property name", ValueError),
        ("x = (\n", "mine.py:1: SyntaxError: '(' was never closed", SyntaxError),
        (
            "\nimport not_there_at_all\n",
            "mine.py:2: ModuleNotFoundError: No module named 'not_there_at_all'",
            ImportError,
        ),
        ("import sys\nsys.exit('enough')\n", "mine.py:2: SystemExit: enough", SystemExit),
        ("import ast\n\nast.literal_eval('1 +')\n", "mine.py:3: SyntaxError: invalid syntax", SyntaxError),
    ],
)
def test_a_failing_file_is_one_error(tmp_path: Path, text: str, message: str, cause: type[BaseException]) -> None:
    """What the user's code raises becomes the caller's error with the place in that code, and its cause is kept."""
    path = _file(tmp_path, text)
    for _ in range(2):  # a failed import leaves no half module behind
        with pytest.raises(UsageError) as caught:
            load_object(path, "x", UsageError)
        assert message in str(caught.value)
        assert isinstance(caught.value.__cause__, cause)


def test_a_repaired_file_loads(tmp_path: Path) -> None:
    """After a failure the corrected file is imported anew."""
    path = _file(tmp_path, "raise ValueError\n")
    with pytest.raises(UsageError):
        load_object(path, "x", UsageError)
    _file(tmp_path, "x = 'a corrected file'\n")
    assert load_object(path, "x", UsageError) == "a corrected file"


def test_it_can_be_called_while_an_error_is_handled(tmp_path: Path) -> None:
    """An exception that is being handled by the caller does not touch the import."""
    path = _file(tmp_path, "x = object()\n")
    try:
        raise KeyError
    except KeyError:
        found = load_object(path, "x", UsageError)
    assert load_object(path, "x", UsageError) is found


def test_an_interrupt_passes(tmp_path: Path) -> None:
    """Ctrl-C during the import is not turned into an error of the file."""
    path = _file(tmp_path, "raise KeyboardInterrupt\n")
    with pytest.raises(KeyboardInterrupt):
        load_object(path, "x", UsageError)


def test_an_importable_module(tmp_path: Path) -> None:
    """An attribute of a module comes back, also of one that lies in the root folder."""
    _file(tmp_path, "value = 7\n", "heta_test_module.py")
    assert import_object("heta_test_module", "value", UsageError, root=tmp_path) == 7
    assert import_object("pytest_heta.errors", "HetaError", UsageError, root=tmp_path) is HetaError
    assert str(tmp_path) not in sys.path


def test_a_module_that_does_not_exist(tmp_path: Path) -> None:
    """A missing module is left to the caller; a module that fails for another missing one is an error."""
    with pytest.raises(ModuleNotFoundError):
        import_object("heta_test_nothing.inner", "x", UsageError, root=tmp_path)
    _file(tmp_path, "\nimport heta_test_absent\n", "heta_test_needy.py")
    with pytest.raises(UsageError, match=r"heta_test_needy: .*heta_test_needy\.py:2: .*heta_test_absent"):
        import_object("heta_test_needy", "x", UsageError, root=tmp_path)
    _file(tmp_path, "x = 1 / 0\n", "heta_test_failing.py")
    with pytest.raises(UsageError, match=r"heta_test_failing\.py:1: ZeroDivisionError"):
        import_object("heta_test_failing", "x", UsageError, root=tmp_path)


def test_a_failure_without_a_place_is_described() -> None:
    """An exception that was never raised has no place, only its words."""
    assert describe_failure(ValueError("odd")) == "ValueError: odd"
