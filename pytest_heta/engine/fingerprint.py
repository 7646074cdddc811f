"""What a knowledge base depends on, as digests: its documents, and everything that says how it is built."""

from __future__ import annotations

import inspect
import json
from hashlib import sha256
from importlib import metadata
from pathlib import Path
from typing import Any

from pytest_heta.engine import entry
from pytest_heta.engine.description import describe
from pytest_heta.engine.sources import RecipeSources
from pytest_heta.errors import RecipeError


class DocumentsDigest:
    """The digest of a sequence of documents, one at a time. Their order counts, as it may change what is built."""

    def __init__(self) -> None:
        self._hash = sha256()

    def update(self, document_id: str, name: str, media_type: str, data: bytes) -> None:
        """Add the next document."""
        for part in (document_id.encode(), name.encode(), media_type.encode(), data):
            self._hash.update(len(part).to_bytes(8, "big"))
            self._hash.update(part)

    def hexdigest(self) -> str:
        """Return the sha256 of the documents so far."""
        return self._hash.hexdigest()


def recipe_fingerprint(recipe: object, source_file: Path | None) -> str:
    """Return the sha256 of everything that changes what a recipe builds.

    That is: ``recipe.fingerprint()``, else its ``manifest``, else its attributes as they are now; the sources of the
    recipe's file and of the local modules it imports, directly or not (see RecipeSources); the versions of the
    distributions that these import or that ``recipe.libraries`` (names of distributions) lists; and the format of the
    KB cache. ``source_file`` None stands for the file that defines the recipe's class. Data files that a recipe
    reads, and modules that it imports by a computed name, are not seen: ``fingerprint()`` must stand for them.

    Raises:
        RecipeError: the manifest is not JSON, ``libraries`` is a text, or the recipe declares nothing and has no file.

    """
    return sha256(json.dumps(recipe_facts(recipe, source_file), sort_keys=True).encode()).hexdigest()


def recipe_facts(recipe: object, source_file: Path | None) -> dict[str, Any]:
    """Return what ``recipe_fingerprint`` is a digest of, as JSON has it.

    ``sources`` maps local files, relative to the recipe's folder, to their sha256, and ``libraries`` distributions to
    their versions, None where they are not installed.

    Raises:
        RecipeError: as for the fingerprint.

    """
    declared = _declared(recipe)
    file = source_file or _defining_file(type(recipe))
    if declared is None and file is None:
        raise RecipeError(
            f"{type(recipe).__name__}: cannot tell when this recipe changes, so its knowledge bases cannot be kept: "
            "give it a `manifest` or a `fingerprint()`, define it in a file, or use --heta-kb-cache=off"
        )
    sources = RecipeSources(file) if file else None
    libraries = {*_libraries(recipe), *(sources.distributions() if sources else ())}
    return {
        "format": entry.FORMAT,
        "recipe": describe(recipe) if declared is None else declared,
        "sources": sources.digests() if sources else {},
        "libraries": {name: _version(name) for name in libraries},
    }


def _declared(recipe: object) -> str | None:
    fingerprint = getattr(recipe, "fingerprint", None)
    if fingerprint is not None:
        return str(fingerprint())
    manifest: Any = getattr(recipe, "manifest", None)
    if manifest is None:
        return None
    try:
        return json.dumps(dict(manifest), sort_keys=True, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise RecipeError(f"{type(recipe).__name__}: the manifest must be a mapping of JSON ({error})") from error


def _libraries(recipe: object) -> tuple[str, ...]:
    libraries = getattr(recipe, "libraries", ())
    if isinstance(libraries, str):
        raise RecipeError(f"{type(recipe).__name__}: libraries must be a tuple of names, such as ({libraries!r},)")
    return tuple(libraries)


def _defining_file(recipe_class: type) -> Path | None:
    """Return the file of a recipe's class; one of pytest-heta's own says nothing about the recipe."""
    try:
        file = Path(inspect.getsourcefile(recipe_class) or "")
    except TypeError:
        return None
    return file if file.is_file() and not recipe_class.__module__.startswith("pytest_heta.") else None


def _version(distribution: str) -> str | None:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None
