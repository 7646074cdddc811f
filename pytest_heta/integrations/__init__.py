"""Other people's recipes: each module makes one foreign shape into a recipe of the protocol."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Any

from pytest_heta.errors import RecipeError
from pytest_heta.integrations.function import BuilderRecipe, FunctionRecipe, builds_documents
from pytest_heta.integrations.http_address import is_address, recipe_of_address
from pytest_heta.protocols import RecipeProtocol

_FRAMEWORKS = {
    "heta_framework": "heta_framework",
    "langchain_core": "langchain",
    "llama_index": "llama_index",
    "haystack": "haystack",
}
"""Which module of ours adapts the objects whose classes, or a base of them, come from which package."""


def as_recipe(found: Any, where: str) -> RecipeProtocol:
    """Return ``found`` as a recipe: one that keeps the protocol as it is, anything else adapted.

    Adapted are a search function, a class with ``build(documents)``, the address of a service, and what heta-framework,
    LangChain, LlamaIndex or Haystack make.

    Raises:
        RecipeError: where it is none of these; the message names ``where`` it was found.
        UsageError: where an address cannot be used.

    """
    framework = next(_frameworks_of(found), None)
    if framework is not None:
        recipe: RecipeProtocol = import_module(f"{__name__}.{framework}").adapt(found, where)
        return recipe
    if builds_documents(found):
        return BuilderRecipe(found)
    if isinstance(found, str) and is_address(found):
        return recipe_of_address(found)
    if isinstance(found, type):
        found = found()
    if isinstance(found, RecipeProtocol):
        return found
    if callable(found):
        return FunctionRecipe(found)
    raise RecipeError(
        f"{where} is {type(found).__name__}, which is not a recipe: it needs build(name=, objects=, source_keys=) or "
        "build(documents), or must be a function search(query, top_k)"
    )


def as_benchmark(found: Any) -> Any:
    """Return a benchmark of heta-framework as one of ours, any other object as it is."""
    return _by_heta(found, "HetaBenchmark") if hasattr(found, "run_units") else found


def as_evaluator(found: Any) -> Any:
    """Return an evaluator of heta-framework as one of ours, any other object as it is."""
    return _by_heta(found, "HetaEvaluator") if hasattr(found, "evaluate") else found


def _by_heta(found: Any, adapter: str) -> Any:
    if "heta_framework" not in _frameworks_of(found):
        return found
    return getattr(import_module(f"{__name__}.heta_benchmarks"), adapter)(found)


def _frameworks_of(found: Any) -> Iterator[str]:
    for base in type(found).__mro__:
        package = base.__module__.partition(".")[0]
        if package in _FRAMEWORKS:
            yield _FRAMEWORKS[package]
