"""Checking a recipe: a tiny corpus goes through it, and what is wrong is said in plain words."""

from pytest_heta.checking.checker import check_recipe
from pytest_heta.checking.findings import Finding

__all__ = ["Finding", "check_recipe"]
