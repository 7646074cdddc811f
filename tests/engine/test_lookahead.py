"""The look-ahead works cases before they are asked for, never far beyond, and never leaves anyone waiting."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Sequence

import pytest

from pytest_heta.engine.lookahead import BATCH, WINDOW, LookAhead
from pytest_heta.engine.loop import LoopThread
from pytest_heta.records import BenchmarkCase
from tests.engine.toys import cases, ids, quiet, settled


class Worker:
    """Answers with the id of the case; fails for some; waits for ``gate`` where it has one."""

    def __init__(self, *failing: str, gate: asyncio.Event | None = None) -> None:
        self.failing, self.gate = failing, gate
        self.done: list[str] = []
        self.batches: list[int] = []
        self.now = self.most = 0

    async def one(self, case: BenchmarkCase) -> str:
        """Work one case."""
        self.now += 1
        self.most = max(self.most, self.now)
        try:
            await asyncio.sleep(0)
            if self.gate is not None:
                await self.gate.wait()
            self.done.append(case.case_id)
            if case.case_id in self.failing:
                raise ValueError(case.case_id)
            return f"answer {case.case_id}"
        finally:
            self.now -= 1

    async def many(self, batch: Sequence[BenchmarkCase]) -> list[str]:
        """Work a batch, which fails as a whole."""
        self.batches.append(len(batch))
        return [await self.one(case) for case in batch]


def test_every_case_has_its_own_outcome() -> None:
    """In whatever order they are asked for, one by one or in batches, and each is worked once."""

    async def ask(batches: bool, order: int) -> None:
        worker, all_cases = Worker(), cases(150)
        ahead = LookAhead(all_cases, worker.one, worker.many if batches else None)
        for case_id in ids(all_cases)[::order]:
            assert await ahead.outcome(case_id) == f"answer {case_id}"
        await quiet()
        assert sorted(worker.done) == sorted(ids(all_cases))

    for batches in (False, True):
        for order in (1, -1):
            asyncio.run(ask(batches, order))


def test_never_further_than_the_window() -> None:
    """A case that nobody asks for, nor for one shortly before it, is never worked."""

    async def ask() -> tuple[list[str], list[str]]:
        worker = Worker()
        ahead = LookAhead(cases(100), worker.one)
        await ahead.outcome("c0")
        await quiet()
        first = list(worker.done)
        await ahead.outcome("c1")
        await quiet()
        return first, worker.done[len(first) :]

    first, second = asyncio.run(ask())
    assert first == [f"c{place}" for place in range(WINDOW)]
    assert second == [f"c{WINDOW}"]


def test_never_further_than_the_next_batch() -> None:
    """Asking for a case in the middle starts the rest of its batch and one more."""

    async def ask() -> Worker:
        worker = Worker()
        ahead = LookAhead(cases(5 * BATCH), worker.one, worker.many)
        await ahead.outcome("c10")
        await quiet()
        return worker

    worker = asyncio.run(ask())
    assert worker.batches == [BATCH - 10, BATCH]
    assert worker.done[-1] == f"c{2 * BATCH - 1}"


def test_so_many_at_once() -> None:
    """And no more."""

    async def ask() -> int:
        worker = Worker()
        ahead = LookAhead(cases(40), worker.one, concurrency=3)
        await asyncio.gather(*(ahead.outcome(case_id) for case_id in ids(cases(40))))
        return worker.most

    assert asyncio.run(ask()) == 3


def test_a_case_may_be_asked_for_while_it_waits_in_the_queue() -> None:
    """It is not worked twice."""

    async def ask() -> tuple[str, list[str]]:
        worker = Worker(gate=asyncio.Event())
        ahead = LookAhead(cases(10), worker.one, concurrency=1)
        first = asyncio.create_task(ahead.outcome("c0"))
        last = asyncio.create_task(ahead.outcome("c7"))
        await settled(lambda: worker.now == 1)
        assert worker.gate is not None
        worker.gate.set()
        await first
        return await last, worker.done

    outcome, done = asyncio.run(ask())
    assert outcome == "answer c7"
    assert done.count("c7") == 1


@pytest.mark.parametrize("concurrency", [1, 3])
def test_an_error_belongs_to_its_case_alone(concurrency: int) -> None:
    """The cases behind it in the queue have their outcomes, and nobody waits for ever."""

    async def ask() -> list[object]:
        worker = Worker("c0", "c2", "c3")
        ahead = LookAhead(cases(6), worker.one, concurrency=concurrency)
        async with asyncio.timeout(5):
            return await asyncio.gather(*map(ahead.outcome, ids(cases(6))), return_exceptions=True)

    found = asyncio.run(ask())
    assert [str(one) for one in found] == ["c0", "answer c1", "c2", "c3", "answer c4", "answer c5"]
    assert [isinstance(one, ValueError) for one in found] == [True, False, True, True, False, False]


def test_a_batch_that_fails_fails_all_of_its_cases() -> None:
    """And no others."""

    async def ask() -> list[object]:
        worker = Worker("c5")
        ahead = LookAhead(cases(BATCH + 2), worker.one, worker.many)
        async with asyncio.timeout(5):
            return await asyncio.gather(*map(ahead.outcome, ids(cases(BATCH + 2))), return_exceptions=True)

    found = asyncio.run(ask())
    assert [str(one) for one in found] == ["c5"] * BATCH + [f"answer c{BATCH}", f"answer c{BATCH + 1}"]


def test_a_case_that_is_asked_for_again_is_worked_again() -> None:
    """Outcomes are not kept; also one that failed gets another chance."""

    async def ask() -> list[str]:
        worker = Worker("c0")
        ahead = LookAhead(cases(2), worker.one)
        with pytest.raises(ValueError, match="c0"):
            await ahead.outcome("c0")
        worker.failing = ()
        assert await ahead.outcome("c0") == await ahead.outcome("c0") == "answer c0"
        return worker.done

    assert asyncio.run(ask()).count("c0") == 3


@pytest.mark.parametrize("batches", [False, True])
def test_cancelling_stops_everything(batches: bool) -> None:
    """Whoever waits is told, also for a case that waits in the queue, and nothing goes on."""

    async def ask() -> tuple[list[object], Worker]:
        worker = Worker(gate=asyncio.Event())
        ahead = LookAhead(cases(20), worker.one, worker.many if batches else None, concurrency=2)
        waiting = [asyncio.create_task(ahead.outcome(case_id)) for case_id in ("c0", "c15")]
        await settled(lambda: worker.now == (1 if batches else 2))
        await ahead.cancel()
        async with asyncio.timeout(5):
            return await asyncio.gather(*waiting, return_exceptions=True), worker

    found, worker = asyncio.run(ask())
    assert all(isinstance(one, asyncio.CancelledError) for one in found)
    assert (worker.done, worker.now) == ([], 0)


def test_one_who_gives_up_waiting_disturbs_nobody() -> None:
    """As after an interrupt or a time-out: the others go on, and the case can be asked for again."""

    async def ask() -> tuple[str, str]:
        worker = Worker(gate=asyncio.Event())
        ahead = LookAhead(cases(3), worker.one, concurrency=1)
        impatient = asyncio.create_task(ahead.outcome("c0"))
        await settled(lambda: worker.now == 1)
        impatient.cancel()
        await asyncio.gather(impatient, return_exceptions=True)
        assert worker.gate is not None
        worker.gate.set()
        return await ahead.outcome("c1"), await ahead.outcome("c0")

    assert asyncio.run(ask()) == ("answer c1", "answer c0")


@pytest.mark.parametrize("batches", [False, True])
def test_another_thread_finds_outcomes_ready(batches: bool) -> None:
    """Most cases need no turn of the loop, and taking them keeps the look-ahead ahead; each is handed out once."""
    all_cases, loop, worker = cases(3 * BATCH), LoopThread(), Worker()

    async def make() -> LookAhead[str]:
        return LookAhead(all_cases, worker.one, worker.many if batches else None)

    async def asked(case_id: str) -> str:
        return await ahead.outcome(case_id)

    try:
        ahead = loop.run(make())
        assert ahead.ready("c0") is None
        found, waits = [], 0
        for case_id in ids(all_cases):
            outcome = ahead.ready(case_id)
            if outcome is None:
                waits += 1
                outcome = loop.run(asked(case_id))
                time.sleep(0.005)
            found.append(outcome)
        assert found == [f"answer {case_id}" for case_id in ids(all_cases)]
        assert waits < len(all_cases) / 4
        assert ahead.ready("c0") is None
        assert sorted(worker.done) == sorted(ids(all_cases))
    finally:
        loop.close()


def test_an_error_is_never_ready() -> None:
    """It is raised to the one who waits for it."""
    loop, worker = LoopThread(), Worker("c1")
    done = threading.Event()

    async def make() -> LookAhead[str]:
        ahead = LookAhead(cases(2), worker.one, concurrency=1)
        await ahead.outcome("c0")
        await quiet()
        done.set()
        return ahead

    async def asked() -> str:
        return await ahead.outcome("c1")

    try:
        ahead = loop.run(make())
        assert done.wait(5)
        assert ahead.ready("c1") is None
        with pytest.raises(ValueError, match="c1"):
            loop.run(asked())
    finally:
        loop.close()


def test_what_others_will_ask_for_is_left_to_them() -> None:
    """Only cases that are due are worked ahead, one by one or in batches; what is asked for all the same is worked."""

    async def ask(batches: bool) -> None:
        worker, all_cases = Worker(), cases(100)
        due = {"c0", "c1", "c4"}
        ahead = LookAhead(all_cases, worker.one, worker.many if batches else None, due=lambda: due)
        await ahead.outcome("c0")
        await quiet()
        assert worker.done == ["c0", "c1", "c4"]
        due.add("c6")
        assert ahead.ready("c1") == "answer c1"
        await quiet()
        assert worker.done == ["c0", "c1", "c4", "c6"]
        assert await ahead.outcome("c99") == "answer c99"
        assert worker.done == ["c0", "c1", "c4", "c6", "c99"]

    for batches in (False, True):
        asyncio.run(ask(batches))
