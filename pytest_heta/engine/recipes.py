"""Finding the recipe that a specification names."""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_heta.calling import call
from pytest_heta.errors import HetaError, RecipeError, UsageError
from pytest_heta.integrations import as_recipe
from pytest_heta.integrations.function import FunctionRecipe
from pytest_heta.loading import describe_failure, load_object

DEFAULT_ATTRIBUTE, SEARCH_ATTRIBUTE = "recipe", "search"
_SPEC = re.compile(r"(.+\.py)(?::([^\W\d]\w*))?")


@dataclass(frozen=True)
class RecipeSpec:
    """``FILE.py[:attr]``, taken apart. ``attribute`` is None where the specification names none."""

    text: str
    path: Path
    attribute: str | None

    @property
    def label(self) -> str:
        """A short name: the file's, with the attribute where it is not the usual one."""
        named = self.attribute not in (None, DEFAULT_ATTRIBUTE)
        return f"{self.path.stem}.{self.attribute}" if named else self.path.stem


@dataclass(frozen=True)
class LoadedRecipe:
    """A recipe object, its name in reports, and the file that it came from."""

    recipe: Any
    name: str
    source_file: Path | None = None

    @property
    def manifest(self) -> dict[str, Any]:
        """What the recipe says of itself, with its name."""
        declared = getattr(self.recipe, "manifest", None)
        declared = declared() if callable(declared) else declared
        return {"name": self.name, **(dict(declared) if declared else {"type": type(self.recipe).__qualname__})}


def parse_recipe_spec(text: str, root: Path) -> RecipeSpec:
    """Take a recipe specification apart; a relative path starts at ``root``.

    Raises:
        UsageError: where there is no such file.

    """
    match = _SPEC.fullmatch(text.strip())
    if match is None:
        raise UsageError(f"recipe {text!r}: expected FILE.py or FILE.py:ATTRIBUTE")
    path = Path(root, match[1]).resolve()
    if not path.is_file():
        raise UsageError(f"recipe {text!r}: no such file: {path}")
    return RecipeSpec(text, path, match[2])


async def load_recipe(spec: RecipeSpec) -> LoadedRecipe:
    """Import the recipe's file and return the recipe in it; a function without parameters is called for it.

    Raises:
        RecipeError: where the file cannot be imported or holds no recipe under that name.

    """
    found = _find(spec)
    if inspect.isfunction(found) and not inspect.signature(found).parameters:
        try:
            found = await call(found)
        except Exception as failure:
            raise RecipeError(describe_failure(failure, spec.path)) from failure
    where = f"{spec.path}:{spec.attribute or DEFAULT_ATTRIBUTE}"
    try:
        recipe = as_recipe(found, where)
    except HetaError:
        raise
    except Exception as failure:  # such as that of the user's __init__
        raise RecipeError(f"{where}: {describe_failure(failure, spec.path)}") from failure
    # All search functions are called much the same: such a recipe goes by its file.
    named = None if isinstance(recipe, FunctionRecipe) else getattr(recipe, "name", None)
    return LoadedRecipe(recipe, str(named or spec.label), spec.path)


def _find(spec: RecipeSpec) -> Any:
    """Return the named object; a file that names no recipe may simply hold ``def search(query, top_k)``."""
    try:
        return load_object(spec.path, spec.attribute or DEFAULT_ATTRIBUTE, RecipeError)
    except RecipeError as error:
        # A file that fails has the failure as its cause; only a missing name is worth a second look.
        if spec.attribute is not None or error.__cause__ is not None:
            raise
        try:
            return load_object(spec.path, SEARCH_ATTRIBUTE, RecipeError)
        except RecipeError:
            raise error from None
