"""Checks that the families share of what a benchmark spec may say."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from pytest_heta.errors import UnknownNameError


def check_spec(
    family: str,
    *,
    split: str | None,
    options: Iterable[str],
    splits: tuple[str, ...] = ("all",),
    known: tuple[str, ...] = (),
) -> None:
    """Accept a spec whose options are all ``known`` and whose split is one of ``splits`` or not given.

    Raises:
        UnknownNameError: for another split or option.

    """
    if split is not None and split not in splits:
        raise UnknownNameError(f"split of {family}", split, splits)
    for key in options:
        if key not in known:
            raise UnknownNameError(f"option of {family}", key, known)


def below(root: Path, path: str | None) -> Path | None:
    """Return a path of a spec, relative to ``root`` unless it is absolute; None stays None."""
    return None if path is None else root / Path(path).expanduser()
