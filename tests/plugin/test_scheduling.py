"""Scheduling by affinity: who gets which items, and what happens when workers come and go."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from pytest_heta.plugin.affinity import Affinity
from pytest_heta.plugin.scheduling import AffinityScheduling, WorkQueue, divide

A, B, C = Affinity("a", True), Affinity("b", True), Affinity("c", True)
LONELY = Affinity("lonely", False)


def chunks(affinities: Sequence[Affinity | None], workers: int) -> list[tuple[Affinity | None, list[int]]]:
    """Divide, and list each chunk with its affinity."""
    return [(affinity, chunk) for affinity, found in divide(affinities, workers) for chunk in found]


def test_small_units_stay_whole() -> None:
    """Up to 16 cases of a unit are one chunk, however many workers there are."""
    assert chunks([A] * 16 + [B] * 3, 8) == [(A, list(range(16))), (B, [16, 17, 18])]


def test_a_big_shareable_unit_becomes_contiguous_shards() -> None:
    """About four a worker, so that all help and none waits long for the last."""
    found = chunks([A] * 300, 2)
    assert [len(chunk) for _, chunk in found] == [38] * 7 + [34]
    assert [item for _, chunk in found for item in chunk] == list(range(300))


def test_a_unit_whose_knowledge_base_cannot_be_shared_stays_whole() -> None:
    """However big it is."""
    assert chunks([LONELY] * 1000, 8) == [(LONELY, list(range(1000)))]


def test_other_tests_are_divided_finely() -> None:
    """The user's own tests, which have no unit, go one by one where they are few."""
    found = chunks([A, None, None, None, B], 8)
    assert found == [(A, [0]), (None, [1]), (None, [2]), (None, [3]), (B, [4])]


def test_every_item_is_in_one_chunk() -> None:
    """In the order of the collection."""
    mixed = [A] * 40 + [None] * 9 + [LONELY] * 30 + [B]
    assert [item for _, chunk in chunks(mixed, 3) for item in chunk] == list(range(80))


def queue_of(*groups: tuple[Affinity | None, list[list[int]]]) -> WorkQueue:
    """A queue with these groups."""
    queue = WorkQueue()
    for affinity, found in groups:
        queue.add(affinity, found)
    return queue


def test_a_worker_goes_on_with_its_unit() -> None:
    """In order, for it has the knowledge base open."""
    queue = queue_of((A, [[0], [1]]), (B, [[2]]))
    assert queue.take(B, [A, B]) == (B, [2])
    assert queue.take(A, [A, B]) == (A, [0])


def test_else_a_worker_takes_a_unit_that_nobody_has() -> None:
    """So that each unit is opened by few."""
    queue = queue_of((A, [[0], [1], [2]]), (B, [[3]]))
    assert queue.take(None, [A]) == (B, [3])


def test_else_a_worker_helps_where_most_is_left() -> None:
    """The longest group is the one that would end last."""
    queue = queue_of((A, [[0]]), (B, [[1], [2]]))
    assert queue.take(C, [A, B]) == (B, [1])


def test_what_is_given_back_comes_first() -> None:
    """As it was nearly run; an empty group is gone."""
    queue = queue_of((A, [[5]]))
    queue.give_back(A, [3, 4])
    assert [queue.take(A, []) for _ in range(2)] == [(A, [3, 4]), (A, [5])]
    assert not queue.groups


class Worker:
    """What the scheduler knows of a worker."""

    def __init__(self) -> None:
        """It has nothing yet."""
        self.sent: list[int] = []
        self.shutting_down = False
        self.gateway = SimpleNamespace(id="gw")

    def send_runtest_some(self, items: list[int]) -> None:
        """Note what is sent."""
        assert not self.shutting_down
        self.sent += items

    def shutdown(self) -> None:
        """Take no more."""
        self.shutting_down = True


def configured(workers: int, told: list[pytest.CollectReport] | None = None) -> Any:
    """What xdist's scheduler asks of a config."""
    options = {"tx": ["popen"] * workers, "maxschedchunk": None}
    hook = SimpleNamespace(pytest_collectreport=lambda report: [] if told is None else told.append(report))
    return SimpleNamespace(getoption=options.__getitem__, getvalue=options.__getitem__, hook=hook)


class Run:
    """A scheduler with workers that run what they are sent, one item after the other."""

    def __init__(self, affinities: Sequence[Affinity | None], workers: int) -> None:
        """Collect items ``0``, ``1``, … in each worker, and schedule."""
        self.names = [str(number) for number in range(len(affinities))]
        self.scheduler = AffinityScheduling(configured(workers), None, lambda name: affinities[int(name)])
        self.workers = [self.join() for _ in range(workers)]
        self.scheduler.schedule()

    def join(self) -> Worker:
        """Let a worker come."""
        worker = Worker()
        self.scheduler.add_node(worker)
        self.scheduler.add_node_collection(worker, self.names)
        return worker

    def finish(self, worker: Worker) -> list[int]:
        """Let a worker run until it has nothing more: as xdist's, it holds its last item back until it is shut down."""
        done = []
        pending = self.scheduler.node2pending[worker]
        while len(pending) > 1 or (pending and worker.shutting_down):
            done.append(pending[0])
            self.scheduler.mark_test_complete(worker, pending[0])
        return done

    def finish_all(self) -> list[int]:
        """Let all workers run to the end."""
        return [item for _ in range(2) for worker in self.scheduler.nodes for item in self.finish(worker)]


def test_all_items_run_once_and_the_workers_end() -> None:
    """Whatever the mixture."""
    run = Run([*[A] * 50, *[None] * 7, *[LONELY] * 30, B], 3)
    before = run.scheduler.tests_finished
    assert sorted(run.finish_all()) == list(range(88))
    assert (before, run.scheduler.tests_finished) == (False, True)
    assert not run.scheduler.has_pending
    assert all(worker.shutting_down for worker in run.workers)


def test_units_are_spread_over_the_workers() -> None:
    """Each worker begins with a unit of its own."""
    run = Run([*[A] * 5, *[B] * 5, *[C] * 5], 3)
    assert [worker.sent for worker in run.workers] == [[0, 1, 2, 3, 4], [5, 6, 7, 8, 9], [10, 11, 12, 13, 14]]


def test_more_workers_than_items() -> None:
    """Those that get nothing end at once."""
    run = Run([A, A], 4)
    assert [worker.sent for worker in run.workers] == [[0, 1], [], [], []]
    assert sorted(run.finish_all()) == [0, 1]
    assert run.scheduler.tests_finished


def test_no_items_at_all() -> None:
    """All workers end."""
    run = Run([], 2)
    assert run.scheduler.tests_finished
    assert all(worker.shutting_down for worker in run.workers)


def test_what_a_dead_worker_had_goes_to_others() -> None:
    """But for the item that it died of."""
    run = Run([A] * 200, 2)
    dead, other = run.workers
    assert run.scheduler.remove_node(dead) == "0"
    replacement = run.join()
    run.scheduler.schedule()
    assert dead not in run.scheduler.nodes
    done = run.finish_all()
    assert sorted(done) == list(range(1, 200))
    assert replacement.sent
    assert other.sent


def test_a_replacement_takes_over_when_all_others_have_ended() -> None:
    """A worker that dies at the very end leaves its items to the one that replaces it."""
    run = Run([*[LONELY] * 20, A, A], 2)
    dead, other = run.workers
    assert run.finish(other) == [20, 21]
    assert other.shutting_down
    assert run.scheduler.remove_node(dead) == "0"
    before = run.scheduler.tests_finished
    replacement = run.join()
    run.scheduler.schedule()
    assert run.finish(replacement) == list(range(1, 20))
    assert (before, run.scheduler.tests_finished) == (False, True)


def test_a_worker_that_ends_in_peace_leaves_nothing() -> None:
    """There is no item that it died of."""
    run = Run([A] * 4, 1)
    run.finish_all()
    assert run.scheduler.remove_node(run.workers[0]) is None


def test_an_item_can_be_queued_again() -> None:
    """As plugins do that run a crashed item once more."""
    run = Run([A] * 40, 1)
    run.scheduler.mark_test_pending("0")
    done = run.finish_all()
    assert done.count(0) == 2
    assert sorted(set(done)) == list(range(40))


def test_workers_that_collect_differently_are_refused() -> None:
    """Nothing is scheduled where indices would mean different items."""
    told: list[pytest.CollectReport] = []
    scheduler = AffinityScheduling(configured(2, told), None, lambda name: A)
    for names in (["0", "1"], ["1", "0"]):
        worker = Worker()
        scheduler.add_node(worker)
        scheduler.add_node_collection(worker, names)
    scheduler.schedule()
    assert [report.outcome for report in told] == ["failed"]
    assert scheduler.collection is None
