"""A table that is being filled, and may be abandoned in the midst of it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from pytest_heta.errors import BuildError
from pytest_heta.knowledge.backends.table import Found, StoredChunk, Table

if TYPE_CHECKING:
    from pytest_heta.knowledge.vector import Matrix


class Draft:
    """Fills a table in one thread until another abandons it.

    A thread cannot be stopped: without this, one that is still embedding when its build is cancelled would afterwards
    make the table that was just dropped, as some engines make what is inserted into.
    """

    def __init__(self, table: Table) -> None:
        """Make nothing yet."""
        self._table = table
        self._lock = threading.Lock()
        self._made = self._abandoned = False

    def create(self) -> None:
        """Make the table."""
        self._do(self._create)

    def insert(self, chunks: Sequence[StoredChunk], vectors: Matrix | None) -> None:
        """Append chunks."""
        self._do(lambda: self._table.insert(chunks, vectors))

    def finish(self) -> None:
        """Build the indexes."""
        self._do(self._table.finish)

    def nearest(self, vectors: Matrix, k: int) -> list[Found]:
        """Search the finished table."""
        return self._table.nearest(vectors, k)

    def abandon(self) -> Exception | None:
        """Drop the table once what goes on with it has ended; return the error if that fails and there is a table."""
        try:
            with self._lock:
                self._abandoned = True
                self._table.drop()
        except Exception as error:
            return error if self._made else None
        finally:
            self._table.close()
        return None

    def _create(self) -> None:
        self._table.create()
        self._made = True

    def _do(self, work: Callable[[], None]) -> None:
        with self._lock:
            if self._abandoned:
                raise BuildError("the build was cancelled")
            work()
