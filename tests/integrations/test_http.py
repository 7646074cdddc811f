"""Deployed services: a real local server that is mapped, fed, slow, flaky and rate-limited."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import pytest

from pytest_heta.benchmarks.beir import BeirBenchmark
from pytest_heta.engine.config import RunnerConfig
from pytest_heta.errors import BuildError, QueryError, RecipeError
from pytest_heta.integrations.http import HttpRecipe
from pytest_heta.integrations.http_ingest import Ingest
from pytest_heta.integrations.web import Pace, seconds_to_wait
from pytest_heta.records import BenchmarkWorkspace, QueryResponse
from pytest_heta.runner import BenchmarkRunner
from tests.integrations.helpers import ZOO, ask, build, overlap, raw
from tests.integrations.server import Handler, Reply, Request, serving
from tests.shared_data import ROOT


class SearchService:
    """Keeps documents in named indexes and ranks them by shared words, as a service somewhere would."""

    def __init__(self) -> None:
        """Begin without documents."""
        self.indexes: dict[str, dict[str, str]] = {}
        self.requests: list[Request] = []
        self.refusals: list[Reply] = []

    async def __call__(self, request: Request) -> Reply:
        """Answer one request; while there are ``refusals``, with the next of them."""
        self.requests.append(request)
        if self.refusals:
            return self.refusals.pop(0)
        _, _, index, *rest = request.path.split("/")
        if request.method == "DELETE":
            return Reply({}, 200 if self.indexes.pop(index, None) is not None else 404)
        if rest == ["documents"]:
            for row in request.body if isinstance(request.body, list) else [request.body]:
                self.indexes.setdefault(index, {})[row["id"]] = row["text"]
            return Reply(status=202)
        return Reply(self._search(index, request.body["q"]["text"], request.body["size"]))

    def _search(self, index: str, query: str, size: int) -> Any:
        texts = self.indexes[index]
        ranked = sorted(texts, key=lambda name: -overlap(query, texts[name]))[:size]
        hits = [{"_id": name, "_score": overlap(query, texts[name]), "_source": texts[name]} for name in ranked]
        return {"took": 3, "hits": {"hits": hits}, "answers": [{"text": hits[0]["_source"]}]}


def recipe_for(url: str, **changes: Any) -> HttpRecipe:
    """Return how the service is asked."""
    settings: dict[str, Any] = {
        "request": {"q": {"text": "{query}"}, "size": "{top_k}"},
        "results": "hits.hits",
        "document_id": "_id",
        "score": "_score",
        "text": "_source",
        "answer": "answers.0.text",
        "metadata": {"took": "took"},
        "ingest": Ingest(f"{url}/indexes/{{index}}/documents", batch=2, delete_url=f"{url}/indexes/{{index}}"),
    }
    return HttpRecipe(f"{url}/indexes/{{index}}/search", **{**settings, **changes})


def outcome(handler: Handler, query: str = "q", **settings: Any) -> QueryResponse:
    """Ask a service with its own documents once, by GET."""
    with serving(handler) as url:

        async def work() -> QueryResponse:
            kb = await build(HttpRecipe(url + "/search", params={"q": "{query}", "k": "{top_k}"}, **settings))
            try:
                return await ask(kb, query)
            finally:
                await kb.aclose()

        return asyncio.run(work())


def always(reply: Reply) -> Handler:
    """Return a handler that says the same to all."""

    async def handler(request: Request) -> Reply:
        return reply

    return handler


def failure(reply: Reply, **settings: Any) -> QueryError:
    """Return the error that comes of a reply."""
    with pytest.raises(QueryError) as caught:
        outcome(always(reply), **settings)
    return caught.value


def test_documents_are_sent_found_and_deleted() -> None:
    """A service that takes documents in is filled in batches, asked with the mapping, and cleaned up in the end."""
    service = SearchService()

    async def work(url: str) -> None:
        kb = await build(recipe_for(url))
        response = await ask(kb, "where does the lion sleep")
        assert [(hit.id, hit.kind, hit.score) for hit in response.results] == [
            ("lion", "document", 2.0),
            ("otter", "document", 1.0),
        ]
        assert response.results[0].text == response.answer == ZOO["lion"]
        assert response.metadata == {"took": 3}
        assert [len(texts) for texts in service.indexes.values()] == [3]
        await kb.aclose()

    with serving(service) as url:
        asyncio.run(work(url))
    assert service.indexes == {}
    assert [request.method for request in service.requests] == ["POST", "POST", "POST", "DELETE"]


def test_knowledge_bases_have_indexes_of_their_own() -> None:
    """Two knowledge bases of one name on one service, as two workers build them, do not see each other."""
    service = SearchService()

    async def work(url: str) -> None:
        recipe = recipe_for(url)
        first = await build(recipe, {"lion": ZOO["lion"]})
        second = await build(recipe, {"otter": ZOO["otter"]})
        assert [hit.id for hit in (await ask(first, "the")).results] == ["lion"]
        await first.aclose()
        assert [hit.id for hit in (await ask(second, "the")).results] == ["otter"]
        await second.aclose()

    with serving(service) as url:
        asyncio.run(work(url))


def test_ingestion_tries_again_and_gives_up_with_the_document() -> None:
    """A busy service is asked again after the seconds that it wishes; one that refuses ends the build, cleaned up."""
    service = SearchService()
    busy = Reply({"error": "busy"}, 429, {"retry-after": "0"})

    async def work(url: str) -> None:
        single = Ingest(f"{url}/indexes/{{index}}/documents", delete_url=f"{url}/indexes/{{index}}")
        service.refusals = [busy, busy]
        kb = await build(recipe_for(url, ingest=single))
        assert [len(texts) for texts in service.indexes.values()] == [3]
        await kb.aclose()
        service.refusals = [Reply({"error": "too long"}, 413)]
        with pytest.raises(BuildError, match=r"did not take document 'lion'.*HTTP 413.*too long"):
            await build(recipe_for(url, ingest=single))

    with serving(service) as url:
        asyncio.run(work(url))
    assert service.requests[-1].method == "DELETE"


def test_the_query_is_encoded_in_addresses_and_parameters() -> None:
    """A query with any characters arrives as it is, in the path as in the parameters; top_k stays a number."""
    seen: list[Request] = []

    async def handler(request: Request) -> Reply:
        seen.append(request)
        return Reply({"results": []})

    query = "100% & more? {top_k}/ü"
    outcome(handler, query)
    assert seen[0].query == {"q": query, "k": "2"}
    with serving(handler) as url:
        recipe = HttpRecipe(f"{url}/search/{{query}}", request={"n": "{top_k}", "say": "{query}!"})
        asyncio.run(_asked_once(recipe, query))
    assert (seen[1].path, seen[1].body) == (f"/search/{query}", {"n": 2, "say": f"{query}!"})


async def _asked_once(recipe: HttpRecipe, query: str) -> None:
    kb = await build(recipe)
    await ask(kb, query)
    await kb.aclose()


def test_headers_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """A key is read from the environment when a knowledge base is built, is in no manifest, and is missed by name."""
    seen: list[Request] = []

    async def handler(request: Request) -> Reply:
        seen.append(request)
        return Reply({"results": []})

    headers = {"Authorization": "Bearer ${ZOO_TOKEN}"}
    with pytest.raises(RecipeError, match=r"'Authorization' needs the environment variable ZOO_TOKEN"):
        outcome(handler, headers=headers)
    monkeypatch.setenv("ZOO_TOKEN", "s3cret")
    outcome(handler, headers=headers)
    assert seen[0].headers["authorization"] == "Bearer s3cret"
    assert HttpRecipe("http://h/{query}", headers=headers).manifest["headers"] == headers


@pytest.mark.parametrize("status", [408, 429, 500, 503])
def test_passing_failures_are_marked_as_such(status: int) -> None:
    """A status that may pass is worth another try, after the seconds that the service asks for."""
    error = failure(Reply({"detail": "later"}, status, {"retry-after": "7"}))
    assert (error.retryable, error.retry_after) == (True, 7.0)
    assert f"HTTP {status}" in str(error)
    assert "later" in str(error)


def test_lasting_failures_are_not_retried() -> None:
    """A refusal, a redirect, a text instead of JSON are errors that say what came, and not worth another try."""
    refused = failure(Reply({"detail": "no such tenant"}, 403))
    assert not refused.retryable
    assert "no such tenant" in str(refused)
    moved = failure(Reply(None, 301, {"location": "https://new.example/search"}))
    assert "redirected to https://new.example/search" in str(moved)
    page = failure(Reply(text="<html>Sign in</html>"))
    assert not page.retryable
    assert "not JSON" in str(page)
    assert "Sign in" in str(page)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"items": []}, "no results at 'results': the response has no 'results' (it has: 'items')"),
        ({"results": {}}, "the results at 'results' are dict, not a list"),
        ({"results": [{"doc": "a"}]}, "no document id at 'id': the hit has no 'id' (it has: 'doc')"),
        ({"results": [{"id": "a", "score": "high"}]}, "the score at 'score' is 'high', not a number"),
        ({"results": [{"id": "a", "score": True}]}, "the score at 'score' is True, not a number"),
        ({"results": [{"id": None}]}, "the document id at 'id' is 'None', not a text or number"),
        ({"results": [{"id": {"x": 1}}]}, "the document id at 'id' is \"{'x': 1}\", not a text or number"),
        ({"results": [3]}, "no document id at 'id': the hit has no 'id' (it is '3')"),
    ],
)
def test_an_answer_that_does_not_fit_the_mapping_says_where(body: Any, message: str) -> None:
    """A response without what the recipe expects is an error that names the path and what is there instead."""
    error = failure(Reply(body))
    assert message in str(error)
    assert not error.retryable


def test_what_a_service_says_of_the_headers_is_masked(monkeypatch: pytest.MonkeyPatch) -> None:
    """A value from the environment, which may have any name and look, is not told though the service repeats it."""
    monkeypatch.setenv("ZOO_CODE", "hdrsecretvalue1")

    async def handler(request: Request) -> Reply:
        return Reply({"detail": f"bad header {request.headers['x-custom']}"}, 403)

    with pytest.raises(QueryError, match="bad header") as caught:
        outcome(handler, headers={"X-Custom": "Zoo ${ZOO_CODE}"})
    assert "hdrsecretvalue1" not in str(caught.value)


def test_a_slow_service_times_out() -> None:
    """A service that does not answer within ``timeout`` is a retryable error that says so."""

    async def handler(request: Request) -> Reply:
        await asyncio.sleep(0.5)
        return Reply({"results": []})

    with pytest.raises(QueryError, match=r"time-out: 0\.1 s") as caught:
        outcome(handler, timeout=0.1)
    assert caught.value.retryable


def test_a_service_that_is_not_there_is_worth_another_try() -> None:
    """A refused connection is a retryable error that names the address."""
    with serving(always(Reply())) as url:
        pass
    with pytest.raises(QueryError, match=url) as caught:
        asyncio.run(_asked_once(HttpRecipe(url + "/{query}"), "q"))
    assert caught.value.retryable


def test_requests_are_spaced_evenly() -> None:
    """With a rate of 50 a second, five requests that want to begin at once begin 20 ms apart."""
    begun: list[float] = []

    async def work() -> None:
        pace = Pace(50)

        async def one() -> None:
            await pace.turn()
            begun.append(time.monotonic())

        await asyncio.gather(*(one() for _ in range(5)))

    asyncio.run(work())
    assert begun[-1] - begun[0] >= 4 / 50 - 0.001


def test_raw_keys_are_document_ids_too() -> None:
    """A service may name its hits by raw key; a score is optional."""
    response = outcome(always(Reply({"results": [{"key": raw("lion")}]})), document_id="key", score=None)
    assert [(hit.id, hit.score) for hit in response.results] == [("lion", None)]


def test_a_chat_service_has_only_an_answer() -> None:
    """A service without hits, such as one behind the OpenAI chat API, is asked for its answer alone."""
    reply = {"choices": [{"message": {"content": "in the shade"}}], "usage": {"total_tokens": 12}}
    response = outcome(
        always(Reply(reply)),
        results=None,
        answer="choices.0.message.content",
        metadata={"tokens": "usage.total_tokens"},
    )
    assert (response.results, response.answer, response.metadata) == ((), "in the shade", {"tokens": 12})


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: HttpRecipe("http://h/search"), "holds {query}"),
        (lambda: HttpRecipe("http://h/{query}", params={"n": "{topk}"}), r"unknown placeholder {topk} (known: {query}"),
        (lambda: HttpRecipe("http://h/{query}", results=None), "nothing is read"),
        (lambda: Ingest("http://h", document={"id": "{id}"}), "unknown placeholder {id}"),
    ],
)
def test_a_mapping_that_cannot_work_is_refused_at_once(make: Callable[[], Any], message: str) -> None:
    """A recipe that sends no query, knows no such placeholder or reads nothing is refused when it is written."""
    with pytest.raises(RecipeError) as caught:
        make()
    assert message in str(caught.value)


def test_retry_after_may_be_a_date() -> None:
    """Retry-After is read as seconds or as a date; rubbish is as good as nothing."""
    soon = format_datetime(datetime.now(UTC) + timedelta(seconds=90), usegmt=True)
    assert 85 < (seconds_to_wait(soon) or 0) <= 90
    assert seconds_to_wait("Wed, 21 Oct 2015 07:28:00 GMT") == 0
    assert [seconds_to_wait(text) for text in ("2.5", "-1", "soon", "", None)] == [2.5, 0.0, None, None, None]


class LimitedService:
    """Finds nothing, refuses every third request, and all that begin while three others are under way."""

    def __init__(self) -> None:
        """Begin at rest."""
        self.count = self.busy = self.refused = 0

    async def __call__(self, request: Request) -> Reply:
        """Answer slowly, or refuse at once."""
        self.count += 1
        if self.busy >= 3 or self.count % 3 == 0:
            self.refused += 1
            return Reply({}, 503 if self.count % 2 else 429, {"retry-after": "0.02"})
        self.busy += 1
        await asyncio.sleep(0.005)
        self.busy -= 1
        return Reply({"results": [{"id": "leave-annual", "score": 1}]})


def test_a_run_survives_a_flaky_and_limited_service(tmp_path: Path) -> None:
    """A slow service that refuses many requests answers all 44 cases in the end; the bound on concurrency holds."""
    service = LimitedService()
    with serving(service) as url:
        recipe = HttpRecipe(url, params={"q": "{query}"}, max_concurrency=3)
        report = asyncio.run(
            BenchmarkRunner().run(
                benchmark=BeirBenchmark("handbook", data_root=ROOT / "benchmarks/handbook", download=False),
                recipe=recipe,
                knowledge_base_name="flaky",
                workspace=BenchmarkWorkspace.under(tmp_path),
                config=RunnerConfig(attempts=8),
            )
        )
    assert [case.error for case in report.cases if case.status != "finished"] == []
    assert len(report.cases) == 44
    assert service.refused >= 44 / 3
    # With three at once at the most, only every third request is refused.
    assert service.refused == service.count // 3
