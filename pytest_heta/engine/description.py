"""A description of any object's settings, to tell apart recipes that declare nothing."""

from __future__ import annotations

import json
from collections.abc import Mapping, Set
from functools import partial
from pathlib import PurePath
from types import FunctionType, MethodType
from typing import Any


def describe(value: object, depth: int = 8) -> Any:
    """Return JSON that tells objects of different settings apart and is the same in every process.

    Objects become their class and attributes, functions their place and what they enclose; what has neither, such as
    an array, is known by its class alone, as is everything deeper than ``depth``.
    """
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float | bytes | PurePath):
        return [type(value).__name__, str(value)]
    if depth == 0:
        return type(value).__qualname__
    if isinstance(value, Mapping):
        return {"map": [[describe(key, depth - 1), describe(item, depth - 1)] for key, item in value.items()]}
    if isinstance(value, list | tuple):
        return [describe(item, depth - 1) for item in value]
    if isinstance(value, Set):
        return {"set": sorted(json.dumps(describe(item, depth - 1)) for item in value)}
    return {_name(value): describe(_parts(value), depth - 1)}


def _name(value: object) -> str:
    """Return the name of a class, function or module, else that of the object's class."""
    own = getattr(value, "__qualname__", None) or getattr(value, "__name__", None)
    return own if isinstance(own, str) else type(value).__qualname__


def _parts(value: object) -> object:
    if isinstance(value, type) or hasattr(value, "__spec__"):
        return None
    if isinstance(value, FunctionType):
        enclosed = [cell.cell_contents for cell in value.__closure__ or ()]
        return [value.__code__.co_firstlineno, enclosed, value.__defaults__, value.__kwdefaults__]
    if isinstance(value, MethodType):
        return value.__self__
    if isinstance(value, partial):
        return [value.func, value.args, value.keywords]
    slots = [name for base in type(value).__mro__ for name in base.__dict__.get("__slots__", ())]
    return {**getattr(value, "__dict__", {}), **{name: getattr(value, name) for name in slots if hasattr(value, name)}}
