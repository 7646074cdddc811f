"""Scheduling by affinity under xdist: who has a knowledge base open goes on with it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

import pytest
from xdist.scheduler import LoadScheduling

from pytest_heta.plugin.affinity import Affinity

SMALLEST_SHARD = 16
SHARDS_PER_WORKER = 4
_KEPT_WAITING = 2
"""A worker starts an item only when it knows the next, so it must never hold fewer than two while there are more."""


@dataclass
class WorkQueue:
    """The chunks of items that no worker has yet, by affinity and in order."""

    groups: dict[Affinity | None, deque[list[int]]] = field(default_factory=dict)

    def add(self, affinity: Affinity | None, chunks: Iterable[list[int]]) -> None:
        """Put chunks at the end of their group."""
        self.groups.setdefault(affinity, deque()).extend(chunks)

    def give_back(self, affinity: Affinity | None, chunk: list[int]) -> None:
        """Put a chunk first in its group, as it was nearly run."""
        self.groups.setdefault(affinity, deque()).appendleft(chunk)

    def take(self, last: Affinity | None, busy: Iterable[Affinity | None]) -> tuple[Affinity | None, list[int]]:
        """Take a chunk for a worker: of its last unit, else of one that nobody has, else of the longest."""
        affinity = self._choose(last, set(busy))
        chunk = self.groups[affinity].popleft()
        if not self.groups[affinity]:
            del self.groups[affinity]
        return affinity, chunk

    def _choose(self, last: Affinity | None, busy: set[Affinity | None]) -> Affinity | None:
        if last in self.groups:
            return last
        free = next((affinity for affinity in self.groups if affinity not in busy), last)
        return free if free in self.groups else max(self.groups, key=lambda affinity: len(self.groups[affinity]))


def divide(affinities: Sequence[Affinity | None], workers: int) -> Iterator[tuple[Affinity | None, list[list[int]]]]:
    """Yield the items, by their indices, in chunks: small units whole, big shareable ones in contiguous shards.

    Items without affinity, the user's other tests, are divided like a shareable unit.
    """
    for affinity, run in groupby(range(len(affinities)), key=affinities.__getitem__):
        items = list(run)
        size = len(items)
        if affinity is None or affinity.shareable:
            size = min(size, max(SMALLEST_SHARD if affinity else 1, -(-size // (workers * SHARDS_PER_WORKER))))
        yield affinity, [items[start : start + size] for start in range(0, len(items), size)]


class AffinityScheduling(LoadScheduling):  # type: ignore[misc]
    """Gives workers chunk after chunk; built on xdist's own, which knows about workers that come and go."""

    collection: list[str] | None

    def __init__(self, config: pytest.Config, log: Any, affinity_of: Callable[[str], Affinity | None]) -> None:
        """Ask ``affinity_of`` for the affinity of a node id."""
        super().__init__(config, log)
        self._affinity_of = affinity_of
        self._queue = WorkQueue()
        self._last: dict[Any, Affinity | None] = {}

    @property
    def tests_finished(self) -> bool:
        """Tell whether every worker has what it needs to end."""
        if not self.collection_is_completed or self._queue.groups:
            return False
        return all(len(pending) < _KEPT_WAITING for pending in self.node2pending.values())

    @property
    def has_pending(self) -> bool:
        """Tell whether there are items that have not run."""
        return bool(self._queue.groups) or any(self.node2pending.values())

    def schedule(self) -> None:
        """Divide the collection at the first call; give every worker something to do at each."""
        if self.collection is None:
            if not self._check_nodes_have_same_collection():
                return
            self.collection = next(iter(self.node2collection.values()))
            affinities = [self._affinity_of(nodeid) for nodeid in self.collection]
            for affinity, chunks in divide(affinities, len(self.nodes)):
                self._queue.add(affinity, chunks)
        for node in self.nodes:
            self.check_schedule(node)

    def check_schedule(self, node: Any, duration: float = 0) -> None:
        """Give a worker that runs dry the next chunk, or let it end."""
        if node.shutting_down:
            return
        while self._queue.groups and len(self.node2pending[node]) < _KEPT_WAITING:
            affinity, chunk = self._queue.take(self._last.get(node), self._last.values())
            self._last[node] = affinity
            self.node2pending[node].extend(chunk)
            node.send_runtest_some(chunk)
        if not self._queue.groups:
            node.shutdown()

    def mark_test_pending(self, item: str) -> None:
        """Queue an item again."""
        assert self.collection is not None
        self._give_back([self.collection.index(item)])

    def remove_node(self, node: Any) -> str | None:
        """Forget a worker; what a dead one had is queued again but for the item that it died of, which is returned."""
        pending = self.node2pending.pop(node)
        self._last.pop(node, None)
        if not pending or self.collection is None:
            return None
        crashed = self.collection[pending.pop(0)]
        self._give_back(pending)
        return str(crashed)

    def _give_back(self, items: list[int]) -> None:
        nodeids = self.collection or []
        for affinity, run in groupby(items, key=lambda item: self._affinity_of(nodeids[item])):
            self._queue.give_back(affinity, list(run))
        for node in self.node2pending:
            self.check_schedule(node)
