"""Where a report comes from: code, command and machine. Nothing secret leaves through it."""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pytest_heta.masking import MASK, is_secret_name, mask, mask_text
from pytest_heta.records import EvaluationError, EvaluationReport


def mask_command(arguments: Sequence[str]) -> list[str]:
    """Return a command line without secrets, also where a secret follows its option: ``--token SECRET``."""
    masked, after_secret = [], False
    for argument in arguments:
        masked.append(MASK if after_secret else mask_text(argument))
        after_secret = not after_secret and argument.startswith("-") and is_secret_name(argument)
    return masked


def mask_report(report: EvaluationReport) -> EvaluationReport:
    """Return the report without secrets in what comes from recipes, knowledge bases, the run and its errors.

    Queries, answers, labels and hits belong to the data and stay as they are.
    """
    bases = tuple(
        base.model_copy(update={"manifest": mask(base.manifest), "error": _mask_error(base.error)})
        for base in report.knowledge_bases
    )
    cases = tuple(
        case if case.error is None else case.model_copy(update={"error": _mask_error(case.error)})
        for case in report.cases
    )
    open_places = {name: mask(getattr(report, name)) for name in ("recipe", "selection", "metadata")}
    return report.model_copy(update={**open_places, "knowledge_bases": bases, "cases": cases})


def _mask_error(error: EvaluationError | None) -> EvaluationError | None:
    return None if error is None else error.model_copy(update={"message": mask_text(error.message)})


def provenance(root: Path, command: Sequence[str]) -> dict[str, Any]:
    """Return what to note of a run in the report's metadata: ``command``, ``host``, and ``git`` in a repository.

    ``command`` is masked. ``git`` holds ``commit``, ``branch`` (None where detached) and ``dirty`` (files that differ
    from the commit or are not in it) of the repository around ``root``.
    """
    found: dict[str, Any] = {"command": mask_command(command)}
    git = git_state(root)
    return found | ({"git": git} if git else {}) | {"host": host()}


def host() -> dict[str, Any]:
    """Return the machine: ``name``, ``system``, ``machine``, ``cpus``."""
    return {
        "name": platform.node(),
        "system": f"{platform.system()} {platform.release()}",
        "machine": platform.machine(),
        "cpus": os.cpu_count(),
    }


def git_state(root: Path) -> dict[str, Any] | None:
    """Return commit, branch and dirtiness of the repository around ``root``; None where git knows of none."""
    commit = _git(root, "rev-parse", "HEAD")
    if not commit:
        return None
    branch = _git(root, "symbolic-ref", "--short", "--quiet", "HEAD")
    changes = _git(root, "status", "--porcelain")
    return {"commit": commit, "branch": branch or None, "dirty": changes is None or bool(changes)}


def _git(root: Path, *arguments: str) -> str | None:
    # Without optional locks, as another git may be at work here.
    command = ["git", "--no-optional-locks", "-C", str(root), *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True, errors="replace")
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()
