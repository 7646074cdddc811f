"""Engines are optional: how one is imported when it is first needed."""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from pytest_heta.errors import RecipeError


def require(module: str, extra: str) -> Any:
    """Import an engine.

    Raises:
        RecipeError: it is not installed; says which extra of pytest-heta brings it.
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name != module.partition(".")[0]:
            raise
        raise RecipeError(f"{module} is not installed: pip install 'pytest-heta[{extra}]'") from error


def installed_version(distribution: str) -> str:
    """Return the version of an installed distribution, or ``absent``."""
    try:
        return version(distribution)
    except PackageNotFoundError:
        return "absent"
