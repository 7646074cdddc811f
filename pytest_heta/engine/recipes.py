"""Finding the recipe that a specification names."""

from __future__ import annotations

import inspect
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from pytest_heta.calling import call
from pytest_heta.errors import HetaError, RecipeError, UsageError
from pytest_heta.integrations import as_recipe
from pytest_heta.integrations.function import FunctionRecipe
from pytest_heta.integrations.http_address import is_address, recipe_of_address
from pytest_heta.loading import describe_failure, load_object
from pytest_heta.masking import mask_text

DEFAULT_ATTRIBUTE, SEARCH_ATTRIBUTE = "recipe", "search"
_SPEC = re.compile(r"(.+\.py)(?::([^\W\d]\w*))?")
_UNFIT = re.compile(r"[^\w.-]+")


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
class AddressSpec:
    """The address of a service, with its options, and the name that it has in reports."""

    text: str
    name: str

    @property
    def label(self) -> str:
        """The name, fit for node ids and the names of files."""
        return _UNFIT.sub("-", self.name).strip("-.") or self._digest

    def told_apart(self) -> AddressSpec:
        """Return the same address under a name that no other one has."""
        return replace(self, name=f"{self.name}-{self._digest}")

    @property
    def _digest(self) -> str:
        return sha256(self.text.encode("utf-8", "surrogatepass")).hexdigest()[:8]


AnySpec = RecipeSpec | AddressSpec


@dataclass(frozen=True)
class LoadedRecipe:
    """A recipe object, its name in reports, and the file that it came from, if it came from one."""

    recipe: Any
    name: str
    source_file: Path | None = None

    @property
    def manifest(self) -> dict[str, Any]:
        """What the recipe says of itself, with its name."""
        declared = getattr(self.recipe, "manifest", None)
        declared = declared() if callable(declared) else declared
        return {"name": self.name, **(dict(declared) if declared else {"type": type(self.recipe).__qualname__})}


def parse_recipe_specs(texts: Iterable[str], root: Path) -> list[AnySpec]:
    """Take recipe specifications apart; addresses that would have the same name get a digest each to tell them apart.

    Raises:
        UsageError: where one of them cannot be used.

    """
    specs = [parse_recipe_spec(text, root) for text in texts]
    # As in file systems where LIVE and live are one name.
    uses = Counter(spec.label.casefold() for spec in set(specs) if isinstance(spec, AddressSpec))
    return [
        spec.told_apart() if isinstance(spec, AddressSpec) and uses[spec.label.casefold()] > 1 else spec
        for spec in specs
    ]


def parse_recipe_spec(text: str, root: Path) -> AnySpec:
    """Take a recipe specification apart; the relative path of a file starts at ``root``.

    Raises:
        UsageError: where there is no such file, or an address cannot be used.

    """
    text = text.strip()
    if is_address(text):
        return AddressSpec(text, recipe_of_address(text).name)
    match = _SPEC.fullmatch(text)
    if match is None:
        raise UsageError(
            f"recipe {mask_text(text)!r}: expected FILE.py or FILE.py:ATTRIBUTE, or https://HOST/…?q={{query}}"
        )
    path = Path(root, match[1]).resolve()
    if not path.is_file():
        raise UsageError(f"recipe {text!r}: no such file: {path}")
    return RecipeSpec(text, path, match[2])


async def load_recipe(spec: AnySpec) -> LoadedRecipe:
    """Return the recipe of a specification: what an address stands for, or what is in a file, which is imported.

    A function without parameters that is found in the file is called for the recipe.

    Raises:
        RecipeError: where the file cannot be imported or holds no recipe under that name.

    """
    if isinstance(spec, AddressSpec):
        return LoadedRecipe(replace(recipe_of_address(spec.text), name=spec.name), spec.name)
    return await _load_file(spec)


async def _load_file(spec: RecipeSpec) -> LoadedRecipe:
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
