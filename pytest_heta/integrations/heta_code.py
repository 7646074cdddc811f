"""The user's own code in a recipe of heta-framework: a step, model or parser of a class that no package brings."""

from __future__ import annotations

import inspect
import sys
import sysconfig
from collections.abc import Iterable, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

_DEPTH = 5


def own_code(*parts: Any) -> dict[str, str]:
    """Return the sha256 of the file of each class of the user's own, by the class's name, in parts of a recipe."""
    found: dict[type, None] = {}
    _collect(parts, found, set(), _DEPTH)
    files = {owner: _own_file(owner) for owner in found}
    return {
        f"{owner.__module__}.{owner.__qualname__}": sha256(file.read_bytes()).hexdigest()
        for owner, file in sorted(files.items(), key=lambda item: item[0].__qualname__)
        if file is not None
    }


def _collect(thing: Any, found: dict[type, None], seen: set[int], depth: int) -> None:
    if depth == 0 or id(thing) in seen or isinstance(thing, str | bytes | int | float | None):
        return
    seen.add(id(thing))
    if isinstance(thing, Mapping):
        parts: Iterable[Any] = thing.values()
    elif isinstance(thing, list | tuple | set | frozenset):
        parts = thing
    else:
        found[type(thing)] = None
        parts = vars(thing).values() if hasattr(thing, "__dict__") else ()
    for part in list(parts):
        _collect(part, found, seen, depth - 1)


def _own_file(owner: type) -> Path | None:
    """Return the file of a class, None where it belongs to Python or an installed package."""
    if owner.__module__.partition(".")[0] in {"pytest_heta", *sys.stdlib_module_names}:
        return None
    try:
        file = Path(inspect.getfile(owner))
    except (TypeError, OSError):
        return None
    installed = (sysconfig.get_path("purelib"), sysconfig.get_path("platlib"))
    return None if str(file).startswith(installed) or not file.is_file() else file
