"""Answers by a language model: a local server that follows the OpenAI chat API stands in for one."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_heta.benchmarks.registry import resolve_benchmark
from pytest_heta.engine.config import RunnerConfig
from pytest_heta.engine.recipes import load_recipe, parse_recipe_spec
from pytest_heta.errors import QueryError, RecipeError
from pytest_heta.integrations.openai_chat import ChatModel
from pytest_heta.integrations.rag import PROMPT, RagRecipe
from pytest_heta.integrations.recordings import Recordings
from pytest_heta.knowledge import Bm25, Recipe
from pytest_heta.records import BenchmarkWorkspace, QueryResponse, QueryResult
from pytest_heta.runner import BenchmarkRunner
from tests.integrations.helpers import ZOO, ask, build
from tests.integrations.server import Reply, Request, serving
from tests.shared_data import ROOT

SHADE = "In the shade [1]."


class ChatServer:
    """Follows the API of POST /chat/completions; says ``text``, after the ``refusals``."""

    def __init__(self, text: str | None = SHADE) -> None:
        """Begin with nothing asked."""
        self.text, self.requests, self.refusals = text, list[Request](), list[Reply]()

    async def __call__(self, request: Request) -> Reply:
        """Answer one request."""
        self.requests.append(request)
        if self.refusals:
            return self.refusals.pop(0)
        message = {"role": "assistant", "content": self.text}
        return Reply(
            {
                "id": "chatcmpl-1",
                "object": "chat.completion",
                "model": "zoo-1-2026",
                "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
                "usage": {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120},
            }
        )


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ChatServer]:
    """Serve a model, with its address and key in the environment."""
    chat = ChatServer()
    with serving(chat) as url:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{url}/v1/")
        monkeypatch.setenv("OPENAI_API_KEY", "sk-zoo")
        yield chat


@pytest.fixture
def no_service(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have neither key nor address."""
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


def search(query: str, top_k: int) -> list[QueryResult]:
    """Find all of the zoo, in order."""
    return [QueryResult(id=name, text=text, kind="document") for name, text in ZOO.items()][:top_k]


def answered(recipe: RagRecipe, query: str = "where does the lion sleep") -> QueryResponse:
    """Ask once."""

    async def work() -> QueryResponse:
        kb = await build(recipe)
        try:
            return await ask(kb, query)
        finally:
            await kb.aclose()

    return asyncio.run(work())


def test_the_model_reads_what_was_found(server: ChatServer) -> None:
    """The request follows the API: key, model, temperature, options, and the numbered passages with the question."""
    model = ChatModel("zoo-1", options={"max_tokens": 9})
    answered(RagRecipe(search, model, depth=1))
    (request,) = server.requests
    assert (request.method, request.path) == ("POST", "/v1/chat/completions")
    assert request.headers["authorization"] == "Bearer sk-zoo"
    content = PROMPT.format(passages=f"[1] {ZOO['lion']}", query="where does the lion sleep")
    assert request.body == {
        "model": "zoo-1",
        "messages": [{"role": "user", "content": content}],
        "temperature": 0.0,
        "max_tokens": 9,
    }


def test_answer_citations_tokens_and_cost_are_in_the_response(server: ChatServer) -> None:
    """The reply becomes the answer without its references, which become citations; tokens are counted and priced."""
    server.text = "In the shade [1], not [2][7]."
    response = answered(RagRecipe(search, ChatModel("zoo-1", prices=(0.5, 2.0))))
    assert response.answer == "In the shade, not."
    assert response.citations == ("lion", "otter")
    assert [hit.id for hit in response.results] == ["lion", "otter"]
    assert response.metadata == {
        "model": "zoo-1-2026",
        "prompt_tokens": 100,
        "completion_tokens": 20,
        "cost": pytest.approx((100 * 0.5 + 20 * 2.0) / 1e6),
        "replayed": False,
    }


def test_a_model_that_says_nothing_has_no_answer(server: ChatServer) -> None:
    """An empty message is no answer, not an error."""
    server.text = None
    assert answered(RagRecipe(search, ChatModel("zoo-1"))).answer is None


def test_failures_of_the_model_are_failures_of_the_query(server: ChatServer) -> None:
    """A rate limit is a retryable error with the wait; an answer that is no completion is an error that says so."""
    server.refusals = [Reply({"error": {"message": "slow down"}}, 429, {"retry-after": "3"}), Reply({"choices": []})]
    recipe = RagRecipe(search, ChatModel("zoo-1"))
    with pytest.raises(QueryError, match="slow down") as caught:
        answered(recipe)
    assert (caught.value.retryable, caught.value.retry_after) == (True, 3.0)
    with pytest.raises(QueryError, match=r"no reply at 'choices\.0\.message'"):
        answered(recipe)


def test_responses_are_recorded_and_replayed(
    server: ChatServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was recorded once is answered without key and server, tokens included; any other question is an error."""
    recipe = RagRecipe(search, ChatModel("zoo-1", recordings=tmp_path / "kept" / "answers.jsonl"))
    first = answered(recipe)
    monkeypatch.delenv("OPENAI_BASE_URL")
    monkeypatch.delenv("OPENAI_API_KEY")
    again = answered(recipe)
    assert again.answer == first.answer == "In the shade."
    assert again.metadata == {**first.metadata, "replayed": True}
    assert len(server.requests) == 1
    with pytest.raises(QueryError, match=r"OPENAI_API_KEY is not set and .*answers\.jsonl holds no response"):
        answered(recipe, "who hears the mouse")


@pytest.mark.usefixtures("no_service")
def test_without_a_key_nothing_is_sent_to_openai() -> None:
    """With neither a key nor an address of another server, the query says what is missing."""
    with pytest.raises(QueryError, match="OPENAI_API_KEY is not set"):
        answered(RagRecipe(search, ChatModel("zoo-1")))


def test_the_same_question_is_asked_once(server: ChatServer) -> None:
    """Asking again, or twice at once, as when results are asked for deeper, costs one request."""

    async def work() -> None:
        kb = await build(RagRecipe(search, ChatModel("zoo-1"), depth=1))
        await asyncio.gather(*(ask(kb, "lion?", top_k=top_k) for top_k in (1, 2, 3)))
        assert (await ask(kb, "lion?")).metadata["replayed"] is False
        await kb.aclose()

    asyncio.run(work())
    assert len(server.requests) == 1


def test_a_broken_recording_is_named(tmp_path: Path) -> None:
    """A line that is no recording is an error with file and line."""
    path = tmp_path / "answers.jsonl"
    path.write_text('{"key": "k", "response": {}}\n\n{"key": \n')
    with pytest.raises(RecipeError, match=r"answers\.jsonl:3: not a recorded response"):
        Recordings(path)


@pytest.mark.usefixtures("no_service")
def test_hits_without_texts_cannot_be_read() -> None:
    """A retriever that returns bare ids is refused before anything is paid for."""
    with pytest.raises(RecipeError, match="no texts for the model to read"):
        answered(RagRecipe(lambda query, top_k: ["lion"], ChatModel("zoo-1")))


def test_the_prompt_must_hold_both_parts() -> None:
    """A prompt without query or passages is refused; braces in a passage are text."""
    with pytest.raises(RecipeError, match=r"must hold \{query\} and \{passages\}"):
        RagRecipe(search, ChatModel("zoo-1"), prompt="{query}")


def test_a_retriever_that_can_be_kept_is_kept(server: ChatServer, tmp_path: Path) -> None:
    """With a retriever whose knowledge bases can be saved and loaded, those that answer can, too."""
    recipe = RagRecipe(Recipe("bm25", modes={"words": Bm25()}), ChatModel("zoo-1"))

    async def work() -> QueryResponse:
        kb = await build(recipe)
        kb.save(tmp_path)
        await kb.aclose()
        loaded = await recipe.load(tmp_path, name="zoo")
        response = await ask(loaded, "lion shade", mode="words")
        await loaded.aclose()
        return response

    response = asyncio.run(work())
    assert response.answer == "In the shade."
    assert response.results[0].source["document_id"] == "lion"
    assert recipe.available_queries == ("words",)
    assert not hasattr(RagRecipe(search, ChatModel("zoo-1")), "load")


def test_the_recipe_file_answers_a_benchmark_and_replays_it(
    server: ChatServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """recipes/rag_openai.py gives the same scores and costs in a second run without server, from the recordings."""
    monkeypatch.setenv("OPENAI_RECORDINGS", str(tmp_path / "answers.jsonl"))
    first = _scores(tmp_path)
    assert len(server.requests) == 2
    monkeypatch.delenv("OPENAI_BASE_URL")
    monkeypatch.delenv("OPENAI_API_KEY")
    again = _scores(tmp_path)
    assert len(server.requests) == 2
    assert again == first
    assert first == {
        "scores": {"full_text_search.answer_contains": 0.5},
        "costs": [pytest.approx((100 * 0.15 + 20 * 0.60) / 1e6)] * 2,
    }


def _scores(folder: Path) -> dict[str, Any]:
    data = folder / "zoo"
    data.mkdir(exist_ok=True)
    _write(data / "documents.jsonl", [{"document_id": name, "name": f"{name}.txt", "text": ZOO[name]} for name in ZOO])
    cases = [("lion", "where does the lion sleep", "the shade"), ("owl", "what does the owl hear", "a mouse")]
    rows = [{"case_id": name, "query": query, "expected": {"answers": [gold]}} for name, query, gold in cases]
    _write(data / "cases.jsonl", rows)
    # A copy, as a recipe file is imported once in a process, and this one reads the environment.
    shutil.copy(ROOT / "recipes/rag_openai.py", folder)
    recipe = asyncio.run(load_recipe(parse_recipe_spec("rag_openai.py", folder))).recipe
    report = asyncio.run(
        BenchmarkRunner().run(
            benchmark=resolve_benchmark(f"jsonl:{data}", root=folder),
            recipe=recipe,
            knowledge_base_name="zoo",
            workspace=BenchmarkWorkspace.under(folder),
            config=RunnerConfig(),
        )
    )
    return {"scores": report.score_summary, "costs": [case.metadata["cost"] for case in report.cases]}


def _write(path: Path, rows: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
