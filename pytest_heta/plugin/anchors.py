"""Anchors: the files with which node ids begin, and that pytest collects. An address gets one that stands for it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from os.path import relpath
from pathlib import Path

from pytest_heta.engine.recipes import AddressSpec, AnySpec, parse_recipe_specs
from pytest_heta.errors import HetaError, UsageError
from pytest_heta.integrations.http_address import is_address
from pytest_heta.plugin.options import ADDRESS_SUFFIX

_CONTENTS = (
    "Node ids of a recipe that is the address of a service begin with this file.\n"
    "pytest-heta wrote it, and writes it again where it is missing.\n"
)


def anchor_of(recipe: AnySpec, root: Path) -> Path:
    """Return the file that a recipe's cases are found below; ``root`` is the root folder of the run."""
    return _address_file(recipe, root).resolve() if isinstance(recipe, AddressSpec) else recipe.path


def node_path(anchor: Path, root: Path) -> str:
    """Return what stands for an anchor at the beginning of node ids."""
    folder = _address_folder(root)
    # The folder may be a link to where all of a team keep their runs.
    inside = folder / anchor.name if anchor.parent == folder.resolve() else anchor
    return Path(relpath(inside, root)).as_posix()


def write_anchors(recipes: Iterable[AnySpec], root: Path) -> None:
    """Write what is missing of the files that stand for addresses.

    Raises:
        UsageError: where one cannot be written.

    """
    for path in {anchor_of(recipe, root) for recipe in recipes if isinstance(recipe, AddressSpec)}:
        try:
            if not path.is_file():
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(_CONTENTS, encoding="utf-8")
        except OSError as error:
            raise UsageError(f"an address as a recipe takes a file below {root / '.heta'}: {error}") from error


def anchor_arguments(recipes: Sequence[str], given: Sequence[str], root: Path) -> list[str]:
    """Return the files to collect beside the paths that were given.

    None where a given path already leads into one of them: then a part of the run was chosen by node id.
    """
    try:
        addresses = iter(parse_recipe_specs(filter(is_address, recipes), root))
    except HetaError:  # told where the options are read, before anything is collected
        return []
    files = dict.fromkeys(
        str(_address_file(next(addresses), root)) if is_address(recipe) else _file_of(recipe) for recipe in recipes
    )
    named = {Path(argument.split("::", 1)[0]).resolve() for argument in given}
    return [] if any(Path(file).resolve() in named for file in files) else list(files)


def _address_file(recipe: AnySpec, root: Path) -> Path:
    return _address_folder(root) / f"{recipe.label}{ADDRESS_SUFFIX}"


def _address_folder(root: Path) -> Path:
    """Return a folder inside the root folder, so that its files have ids in pytest, and the conftest.py there holds."""
    return root / ".heta" / "recipes"


def _file_of(recipe: str) -> str:
    head, colon, attribute = recipe.rpartition(":")
    return head if colon and head.endswith(".py") and attribute.isidentifier() else recipe
