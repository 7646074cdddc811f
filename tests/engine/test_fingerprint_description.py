"""Descriptions of objects tell different settings apart and are the same in every process."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_heta.engine.description import describe


@dataclass
class Settings:
    """An object with attributes."""

    value: Any = None

    def method(self) -> None:
        """Do nothing."""


@dataclass(frozen=True, slots=True)
class Slotted:
    """An object without a __dict__."""

    value: Any = None


def enclosing(value: object) -> Callable[[], object]:
    """Return a function that encloses a value."""
    return lambda: value


DIFFERENT: list[Any] = [
    *(None, True, 1, 1.0, "1", b"1", Path("1")),
    *([1], [[1]], {"a": 1}, {"a": 2}, {"b": 1}, {1, 2}, {1, 3}),
    *(Settings(1), Settings(2), Settings(Settings(1)), Settings(Settings(2)), Slotted(1), Slotted(2)),
    *(enclosing(1), enclosing(2), Settings, sys, len, min),
    *(functools.partial(enclosing, 1), functools.partial(enclosing, 2), Settings(1).method, Settings(2).method),
]


def test_describe_tells_settings_apart() -> None:
    """Values, containers, objects, functions and classes that differ have descriptions that differ."""
    described = [repr(describe(value)) for value in DIFFERENT]
    assert len(set(described)) == len(DIFFERENT)
    assert not any(" at 0x" in text for text in described)


def test_describe_ends() -> None:
    """An object that contains itself is described down to a bounded depth."""
    settings = Settings()
    settings.value = settings
    assert len(repr(describe(settings))) < 1000
