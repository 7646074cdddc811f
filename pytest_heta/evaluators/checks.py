"""What the evaluators ask of their parameters, and the two ways to count: as an official script does, or strictly."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

from pytest_heta.errors import UnknownNameError, UsageError

ScoringMode = Literal["official", "strict"]
SCORING_MODES: tuple[ScoringMode, ...] = get_args(ScoringMode)


def check_known(kind: str, name: str, known: Sequence[str]) -> None:
    """Refuse a name that is not among the known ones.

    Raises:
        UnknownNameError: It is not; the error lists those that are.
    """
    if name not in known:
        raise UnknownNameError(kind, str(name), known)


def check_mode(mode: str) -> None:
    """Refuse a mode that is neither ``official`` nor ``strict``.

    Raises:
        UnknownNameError: It is neither.
    """
    check_known("scoring mode", mode, SCORING_MODES)


def check_cutoff(metric: str, k: int) -> None:
    """Refuse a cut-off that is not positive.

    Raises:
        UsageError: It is not.
    """
    if k < 1:
        raise UsageError(f"{metric}: k must be at least 1, not {k}")


def suffix_of(mode: ScoringMode) -> str:
    """Return what a metric's name ends in, so that a report names the mode: nothing where it is the official one."""
    return "_strict" if mode == "strict" else ""
