"""What all recipes of this package check and say about their declarations."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from pytest_heta.errors import RecipeError
from pytest_heta.knowledge.modes import Fusion

_MODE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")


def check_modes(recipe: str, modes: Mapping[str, Any], kinds: tuple[type, ...]) -> None:
    """Check the query modes of a recipe; ``kinds`` are the ways to search that it knows, besides Fusion.

    Raises:
        RecipeError: no modes, a mode name that is no file name, or a fusion of modes that are not there.
    """
    if not modes:
        raise RecipeError(f"recipe {recipe!r} has no query modes")
    for name, declared in modes.items():
        if not _MODE_NAME.fullmatch(name):
            raise RecipeError(f"recipe {recipe!r}: {name!r} is no name for a mode; use letters, digits and ._-")
        if not isinstance(declared, (Fusion, *kinds)):
            raise RecipeError(f"recipe {recipe!r}: mode {name!r} is a {type(declared).__name__}, no way to search")
        for part in declared.modes if isinstance(declared, Fusion) else ():
            if isinstance(modes.get(part, declared), Fusion):
                known = ", ".join(mode for mode, each in modes.items() if not isinstance(each, Fusion))
                raise RecipeError(f"recipe {recipe!r}: {name!r} cannot fuse {part!r} (it can fuse: {known or 'none'})")


def canonical(value: Any) -> str:
    """Return the JSON of a value in the one form that equal values share."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"))
