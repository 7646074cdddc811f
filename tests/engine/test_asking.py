"""Queries are asked within their bounds, and each error finds its case."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from pytest_heta.engine.asking import Asker, Outcome
from pytest_heta.engine.config import RunnerConfig
from pytest_heta.engine.depth import Depth
from pytest_heta.engine.loop import LoopThread
from pytest_heta.engine.retry import RetryPolicy
from pytest_heta.errors import QueryError
from pytest_heta.records import QueryResponse
from tests.engine.toys import MODE, BatchKnowledgeBase, ToyKnowledgeBase, case, cases, response

TWO = Depth(2)


@pytest.fixture(autouse=True)
def _no_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """Retries follow each other at once."""
    monkeypatch.setattr(RetryPolicy, "wait", lambda *_: 0.0)


def ask(kb: Any, depth: Depth = TWO, **config: Any) -> Outcome:
    """Ask one query."""

    async def one() -> Outcome:
        return await Asker(RunnerConfig(**config), depth).ask(kb, case("c0"), MODE)

    return asyncio.run(one())


def ask_many(kb: Any, count: int, depth: Depth = TWO, **config: Any) -> list[Outcome]:
    """Ask a batch."""

    async def many() -> list[Outcome]:
        return await Asker(RunnerConfig(**config), depth).ask_many(kb, cases(count), MODE)

    return asyncio.run(many())


def refuse(*texts: str) -> Callable[[str, int], Any]:
    """Answer every query but these."""

    def answer(text: str, top_k: int) -> QueryResponse:
        if text in texts:
            raise QueryError(f"cannot answer {text}")
        return response("d0", "d1")

    return answer


def test_an_answer_comes_with_its_times() -> None:
    """Wall time of the query, and when it was asked."""
    before = time.time()
    outcome = ask(ToyKnowledgeBase())
    assert outcome.response == response("d0", "d1")
    assert outcome.error is None
    assert outcome.asked_at is not None
    assert before <= outcome.asked_at <= time.time()
    assert outcome.latency_ms is not None
    assert outcome.latency_ms >= 0
    assert (outcome.amortised, outcome.shallow) == (False, False)


@pytest.mark.parametrize(
    ("error", "kind", "attempts"),
    [(ConnectionResetError("gone"), "ConnectionResetError", 3), (ValueError("bad"), "ValueError", 1)],
)
def test_an_error_is_an_outcome(error: Exception, kind: str, attempts: int) -> None:
    """With its type and the number of tries, as many as were made."""

    def fail(text: str, top_k: int) -> Any:
        raise error

    kb = ToyKnowledgeBase(fail)
    outcome = ask(kb, attempts=3)
    assert outcome.response is None
    assert outcome.error is not None
    assert (outcome.error.error_type, outcome.error.attempts, len(kb.asked)) == (kind, attempts, attempts)
    assert outcome.latency_ms is not None


def test_a_query_that_hangs_times_out() -> None:
    """After each try's bound."""
    outcome = ask(ToyKnowledgeBase(lambda text, top_k: asyncio.sleep(60)), timeout=0.01, attempts=2)
    assert outcome.error is not None
    assert (outcome.error.message, outcome.error.attempts) == ("no answer within 0.01 s", 2)


def test_what_is_no_response_is_an_error_of_its_case() -> None:
    """Not tried again."""
    outcome = ask(ToyKnowledgeBase(lambda text, top_k: "text"))
    assert outcome.error is not None
    assert (outcome.error.error_type, outcome.error.attempts) == ("RecipeError", 1)


def test_chunks_that_collapse_are_asked_deeper() -> None:
    """Until there are documents enough; the time is that of all queries together."""
    corpus = ["a"] * 5 + ["b", "c", "d"]
    kb = ToyKnowledgeBase(lambda text, top_k: response(*corpus[:top_k]))
    outcome = ask(kb, Depth(2, documents=2))
    assert kb.depths == [2, 8]
    assert outcome.response == response(*corpus)
    assert not outcome.shallow


def test_what_stays_collapsed_is_shallow() -> None:
    """There is an end to going deeper; a depth that the user chose is not left at all."""
    kb = ToyKnowledgeBase(lambda text, top_k: response(*["a"] * top_k))
    assert ask(kb, Depth(2, documents=2)).shallow
    assert kb.depths == [2, 8, 32, 128]
    kb.depths.clear()
    assert ask(kb, Depth(2, documents=2, fixed=True)).shallow
    assert kb.depths == [2]


def test_a_knowledge_base_with_nothing_more_is_not_shallow() -> None:
    """It has said all that it knows."""
    assert not ask(ToyKnowledgeBase(lambda text, top_k: response("a")), Depth(2, documents=2)).shallow


def test_an_error_on_the_way_down_is_an_error_of_the_case() -> None:
    """Half a ranking is no response."""

    def answer(text: str, top_k: int) -> QueryResponse:
        if top_k > 2:
            raise QueryError("too deep")
        return response("a", "a")

    for outcome in (ask(ToyKnowledgeBase(answer), Depth(2, 2)), *ask_many(BatchKnowledgeBase(answer), 2, Depth(2, 2))):
        assert outcome.response is None
        assert outcome.error is not None
        assert outcome.error.message == "too deep"


def test_a_batch_is_one_call_and_its_time_is_shared() -> None:
    """All of its outcomes say so, and follow each other in time."""
    kb = BatchKnowledgeBase(lambda text, top_k: QueryResponse(mode=MODE, answer=text))
    outcomes = ask_many(kb, 3)
    assert (kb.batches, kb.asked) == ([3], [])
    assert [one.response.answer for one in outcomes if one.response] == ["query c0", "query c1", "query c2"]
    assert {one.latency_ms for one in outcomes} == {outcomes[0].latency_ms}
    assert all(one.amortised for one in outcomes)
    starts = [one.asked_at for one in outcomes if one.asked_at is not None]
    assert starts == sorted(starts)


def test_where_a_batch_fails_each_error_finds_its_case() -> None:
    """The others have their answers, and times of their own."""
    kb = BatchKnowledgeBase(refuse("query c1"))
    outcomes = ask_many(kb, 3)
    assert [one.error.message if one.error else None for one in outcomes] == [None, "cannot answer query c1", None]
    assert [one.response for one in outcomes] == [response("d0", "d1"), None, response("d0", "d1")]
    assert not any(one.amortised for one in outcomes)


@pytest.mark.parametrize("batch", [lambda texts: [response("d0")], lambda texts: [response("d0")] * 4, lambda texts: 5])
def test_a_batch_of_the_wrong_size_is_not_guessed_at(batch: Callable[[Sequence[str]], list[Any]]) -> None:
    """Each query is asked on its own instead."""
    kb = BatchKnowledgeBase(batch=batch)
    outcomes = ask_many(kb, 3)
    assert [one.response for one in outcomes] == [response("d0", "d1")] * 3
    assert len(kb.asked) == 3


def test_a_collapsed_member_of_a_batch_is_asked_deeper_alone() -> None:
    """The batch is not asked again."""
    kb = BatchKnowledgeBase(lambda text, top_k: response(*(["a", "a", "b"] if "c1" in text else ["a", "b"])[:top_k]))
    outcomes = ask_many(kb, 3, Depth(2, documents=2))
    assert kb.asked == ["query c1"]
    assert [len(one.response.results) for one in outcomes if one.response] == [2, 3, 2]
    assert all(one.amortised for one in outcomes)


def test_a_batch_may_take_as_long_as_its_queries() -> None:
    """Its bound is that of one query for each."""

    class Slow(BatchKnowledgeBase):
        async def query_many(self, texts: Sequence[str], *, mode: str, top_k: int) -> list[Any]:
            await asyncio.sleep(0.1)
            return await super().query_many(texts, mode=mode, top_k=top_k)

    kb = Slow()
    assert all(one.response for one in ask_many(kb, 64, timeout=0.05))
    assert kb.asked == []


class Counting:
    """A knowledge base that knows how many queries it had at once, at most; synchronous if told so."""

    def __init__(self, synchronous: bool) -> None:
        self._guard = threading.Lock()
        self._now = self.most = 0
        self.query = self._sync if synchronous else self._async

    def _enter(self, by: int) -> None:
        with self._guard:
            self._now += by
            self.most = max(self.most, self._now)

    def _sync(self, text: str, *, mode: str, top_k: int) -> QueryResponse:
        self._enter(1)
        time.sleep(0.01)
        self._enter(-1)
        return response("d0")

    async def _async(self, text: str, *, mode: str, top_k: int) -> QueryResponse:
        self._enter(1)
        await asyncio.sleep(0.01)
        self._enter(-1)
        return response("d0")


@pytest.mark.parametrize("synchronous", [True, False])
@pytest.mark.parametrize(("concurrency", "own", "most"), [(4, None, 4), (8, 1, 1), (2, 5, 2)])
def test_no_more_queries_at_once_than_allowed(synchronous: bool, concurrency: int, own: int | None, most: int) -> None:
    """The smaller of the run's bound and the recipe's own holds, in threads as on the loop; and it is made use of."""
    kb = Counting(synchronous)

    async def ask_all() -> int:
        asker = Asker(RunnerConfig(concurrency=concurrency), Depth(2), own)
        await asyncio.gather(*(asker.ask(kb, one, MODE) for one in cases(12)))
        return asker.concurrency

    loop = LoopThread()
    try:
        assert loop.run(ask_all()) == most
    finally:
        loop.close()
    assert kb.most == most
