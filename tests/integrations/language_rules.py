"""A language model of a few rules: what heta-framework asks for is worked out from the capitalised names in the prompt.

``RuleModel`` is one inside the process; ``OpenAIStandIn`` answers the same over HTTP, as OpenAI's API does.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Callable, Sequence
from itertools import pairwise
from typing import Any

from heta_framework.common.models import ModelResult

from tests.integrations.heta_zoo import BagOfWords
from tests.integrations.server import Reply, Request

_NAME = re.compile(r"[A-Z][a-z]+(?: [A-Z][a-z]+)*")


def names(text: str) -> list[str]:
    """Return the capitalised names of a text, each once, in order."""
    return list(dict.fromkeys(_NAME.findall(text)))


def reply(prompt: str, system: str = "") -> str:
    """Return what the model says to a prompt."""
    for phrase, rule in _RULES.items():
        if phrase in prompt or phrase in system:
            answer = rule(prompt)
            return answer if isinstance(answer, str) else json.dumps(answer)
    return f"It is {names(prompt)[-1]}."


def _entities(prompt: str) -> Any:
    text = prompt.rpartition("Chunk text:")[2].strip()
    shared: dict[str, Any] = {"type": "thing", "subtype": None, "attributes": {}}
    return {"entities": [{"name": name, "description": text, **shared} for name in names(text)[:4]]}


def _relations(prompt: str) -> Any:
    entities = json.loads(prompt.partition("Entities:\n")[2].partition("\n\nChunk text:")[0])
    found = [entity["name"] for entity in entities]
    text = prompt.rpartition("Chunk text:")[2].strip()
    shared: dict[str, Any] = {"type": "link", "name": "goes with", "description": text, "attributes": {}}
    return {"relations": [{"source": a, "target": b, **shared} for a, b in pairwise(found)]}


def _merged(kind: str, heading: str) -> Callable[[str], Any]:
    def merge(prompt: str) -> Any:
        items = json.loads(prompt.partition(heading)[2])
        return {kind: {**items[0], "description": " ".join(item["description"] for item in items)}}

    return merge


def _judgement(prompt: str) -> Any:
    """Be content with what two rounds found; before, ask for the names that the first one came upon."""
    information = prompt.rpartition("Accumulated information:\n")[2]
    if len(re.findall(r"^- ", information, re.MULTILINE)) < 2:
        return {"judge": False, "next_query": " ".join(names(information))}
    return {"judge": True, "answer": "Halo Lamp" if "Halo Lamp" in information else "unknown"}


def _synthesis(prompt: str) -> Any:
    ids = re.findall(r'"evidence_id": ?"([^"]+)"', prompt)
    return {"answer": "Lumen Labs", "insights": [{"text": "The wiki says so.", "evidence_ids": ids[:1]}]}


_REPORT = {
    "title": "A community",
    "summary": "Things that go together.",
    "rating": 5,
    "rating_explanation": "It is a small one.",
    "findings": [{"summary": "They go together.", "explanation": "They are linked."}],
}

_RULES: dict[str, Callable[[str], Any]] = {
    "Extract knowledge graph entities": _entities,
    "Extract knowledge graph relations": _relations,
    "Merge duplicate knowledge graph entities": _merged("entity", "Entities:\n"),
    "Merge duplicate knowledge graph relations": _merged("relation", "Relations:\n"),
    "LightRAG relationship keywords": lambda _: {"keywords": "links"},
    "alternative search queries": lambda prompt: {"queries": [prompt.rpartition("User question: ")[2]]},
    "contains information useful": lambda prompt: {
        "usefulness": True,
        "information": " ".join(prompt.rpartition("Observation:\n")[2].split()),
    },
    "Judge whether": _judgement,
    "high_level_keywords": lambda _: {"high_level_keywords": ["links"], "low_level_keywords": ["Lumen Labs"]},
    "final answer for a private wiki": _synthesis,
    '"points"': lambda _: {"points": [{"description": "They go together.", "score": 50}]},
    "findings": lambda _: _REPORT,
    "wiki summaries": lambda prompt: prompt.rpartition("\n\n")[2],
}


class RuleModel:
    """A language model of heta-framework; ``asked`` counts the requests."""

    model_name = "rules"

    def __init__(self) -> None:
        """Begin with nothing asked."""
        self.asked = 0

    async def invoke(self, request: Any) -> Any:
        """Answer one request."""
        self.asked += 1
        return ModelResult(text=reply(request.prompt, request.system_prompt or ""), model_name=self.model_name)

    async def invoke_many(self, requests: Sequence[Any]) -> list[Any]:
        """Answer several."""
        return [await self.invoke(request) for request in requests]

    async def stream(self, request: Any) -> AsyncIterator[Any]:
        """Answer one in one piece."""
        yield await self.invoke(request)


class OpenAIStandIn:
    """Follows OpenAI's API: chat with and without tools, and embeddings; ``paths`` counts what was asked for."""

    def __init__(self) -> None:
        """Begin with nothing asked."""
        self.paths: list[str] = []
        self._embedding = BagOfWords()

    async def __call__(self, request: Request) -> Reply:
        """Answer one request."""
        self.paths.append(request.path)
        if request.headers.get("authorization") != "Bearer sk-zoo":
            return Reply({"error": {"message": "wrong key", "type": "invalid_request_error"}}, status=401)
        return Reply(self._embeddings(request.body) if request.path.endswith("/embeddings") else _chat(request.body))

    def _embeddings(self, body: Any) -> Any:
        texts = [body["input"]] if isinstance(body["input"], str) else body["input"]
        rows = [
            {"object": "embedding", "index": index, "embedding": self._embedding.vector(text)}
            for index, text in enumerate(texts)
        ]
        return {
            "object": "list",
            "model": body["model"],
            "data": rows,
            "usage": {"prompt_tokens": 9, "total_tokens": 9},
        }


def _chat(body: Any) -> Any:
    said: dict[str, str] = {message["role"]: message.get("content") or "" for message in body["messages"]}
    message: dict[str, Any] = {"role": "assistant", "content": None}
    if body.get("tools") and "tool" not in said:
        arguments = json.dumps({"query": said["user"].removeprefix("Question:\n")})
        function = {"name": "search_wiki", "arguments": arguments}
        message["tool_calls"] = [{"id": "call_1", "type": "function", "function": function}]
    elif body.get("tools"):
        message["content"] = "That is enough."
    else:
        message["content"] = reply(said["user"], said.get("system", ""))
    reason = "tool_calls" if "tool_calls" in message else "stop"
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1_700_000_000,
        "model": body["model"],
        "choices": [{"index": 0, "message": message, "finish_reason": reason}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120},
    }
