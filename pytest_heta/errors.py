"""The exceptions of pytest-heta.

Each message says what happened, where (``file:line``, id) and what to do; the plugin prints it without a traceback.

    HetaError
    ├── UsageError             an option, spec string, threshold or suite file that cannot be used (pytest exit code 4)
    │   └── UnknownNameError   a benchmark, metric, mode or subset that does not exist; lists those that do
    ├── DataError              benchmark data that is missing or malformed (``file:line``)
    ├── DownloadError          a resource that could not be fetched; says what was tried
    ├── RecipeError            a recipe that cannot be loaded or does not keep the recipe protocol
    ├── ObjectNotFoundError    a key that an object store does not hold
    ├── BuildError             a knowledge base that could not be built
    ├── QueryError             a query that failed; knows whether trying again can help
    └── ReportError            a report that cannot be written or read
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from pathlib import Path


class HetaError(Exception):
    """Base of every error that pytest-heta raises on purpose."""


class UsageError(HetaError):
    """What the user asked for cannot be done as it was written."""


class UnknownNameError(UsageError):
    """A name that does not exist, with the names that do."""

    def __init__(self, kind: str, name: str, known: Iterable[str]) -> None:
        """Say that ``name`` is no ``kind`` and list ``known``, the nearest first if one is near."""
        self.kind, self.name, self.known = kind, name, tuple(known)
        near = difflib.get_close_matches(name, self.known, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        super().__init__(f"unknown {kind} {name!r}{hint} (known: {', '.join(self.known) or 'none'})")


class DataError(HetaError):
    """Benchmark data that is missing or malformed."""

    @classmethod
    def at(cls, path: Path | str, line: int | None, message: str) -> DataError:
        """Make the error for one place in one file: ``path:line: message``."""
        return cls(f"{path}: {message}" if line is None else f"{path}:{line}: {message}")


class DownloadError(HetaError):
    """A resource that could not be fetched."""


class RecipeError(HetaError):
    """A recipe that cannot be loaded or does not keep the recipe protocol."""


class ObjectNotFoundError(HetaError):
    """A key that an object store does not hold."""


class BuildError(HetaError):
    """A knowledge base that could not be built."""


class QueryError(HetaError):
    """A query that failed.

    ``retryable`` says whether the same query may succeed later; ``retry_after`` is the wait in seconds that the
    service asked for, if it did.
    """

    def __init__(self, message: str, *, retryable: bool = False, retry_after: float | None = None) -> None:
        """Keep the message and what is known about trying again."""
        super().__init__(message)
        self.retryable = retryable
        self.retry_after = retry_after


class ReportError(HetaError):
    """A report that cannot be written or read."""
