"""Other people's recipes: each module makes one foreign shape into a recipe of the protocol."""

from __future__ import annotations

from typing import Any

from pytest_heta.errors import RecipeError
from pytest_heta.integrations.function import FunctionRecipe
from pytest_heta.protocols import RecipeProtocol


def as_recipe(found: Any, where: str) -> RecipeProtocol:
    """Return ``found`` as a recipe: one that keeps the protocol as it is, a search function adapted.

    Raises:
        RecipeError: where it is neither; the message names ``where`` it was found.

    """
    if isinstance(found, type):
        found = found()
    if isinstance(found, RecipeProtocol):
        return found
    if callable(found):
        return FunctionRecipe(found)
    raise RecipeError(
        f"{where} is {type(found).__name__}, which is not a recipe: it needs build(name=, objects=, source_keys=), "
        "or must be a function search(query, top_k)"
    )
