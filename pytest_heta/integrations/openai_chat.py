"""A language model behind the OpenAI-compatible chat API (POST {base_url}/chat/completions), over plain HTTP."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path
from typing import Any

from pytest_heta.errors import QueryError
from pytest_heta.integrations.recordings import Recordings
from pytest_heta.integrations.templates import dig
from pytest_heta.integrations.web import JsonService

_DEFAULT_URL = "https://api.openai.com/v1"

Messages = Sequence[Mapping[str, str]]


@dataclass(frozen=True)
class ChatModel:
    """Which model is asked, where, and at what price.

    ``base_url`` None stands for the variable OPENAI_BASE_URL, else OpenAI's own; the key is in ``key_variable``. A
    server on this machine usually needs none. ``prices`` are currency units per million prompt and completion tokens.
    ``options`` are more fields of the request, such as ``{"max_tokens": 200, "seed": 1}``.

    ``recordings`` is a JSONL file: a request that is in it is answered from it, any other is sent and added. With the
    file checked in and no key set, a run needs no network, and a request that is not in it is an error.
    """

    model: str
    _: KW_ONLY
    base_url: str | None = None
    key_variable: str = "OPENAI_API_KEY"
    temperature: float | None = 0.0
    options: Mapping[str, Any] = field(default_factory=dict)
    prices: tuple[float, float] | None = None
    recordings: Path | None = None
    timeout: float = 120
    requests_per_second: float | None = None

    def open(self) -> ChatSession:
        """Return what asks it, in the running event loop."""
        return ChatSession(self)

    def declaration(self) -> dict[str, Any]:
        """Return everything that changes the answers, as JSON."""
        return {"model": self.model, "temperature": self.temperature, "options": dict(self.options)}


@dataclass(frozen=True)
class ChatReply:
    """What the model said, and ``metadata`` for the report: model, tokens, cost, and whether it was replayed."""

    text: str
    metadata: Mapping[str, Any]


class ChatSession:
    """Asks a model; the same question is asked only once."""

    def __init__(self, model: ChatModel) -> None:
        """Read the environment and the recordings; nothing is sent."""
        key = os.environ.get(model.key_variable)
        self._model, self._recordings = model, Recordings(model.recordings)
        self._url = (model.base_url or os.environ.get("OPENAI_BASE_URL") or _DEFAULT_URL).rstrip("/")
        self._keyless = not key and self._url == _DEFAULT_URL
        self._service = JsonService(
            headers={"Authorization": f"Bearer {key}"} if key else {},
            timeout=model.timeout,
            requests_per_second=model.requests_per_second,
        )

    async def reply(self, messages: Messages) -> ChatReply:
        """Return the model's reply.

        Raises:
            QueryError: the service fails or says nothing, or there is no key and no recorded response.
        """
        request = self._request(messages)
        response, replayed = await self._recordings.answer(request, lambda: self._ask(request))
        text = dig(response, "choices.0.message.content", "reply")
        usage = response.get("usage") or {}
        return ChatReply(
            text or "", {"model": response.get("model", self._model.model), **self._count(usage), "replayed": replayed}
        )

    def _request(self, messages: Messages) -> dict[str, Any]:
        temperature = {} if self._model.temperature is None else {"temperature": self._model.temperature}
        return {"model": self._model.model, "messages": list(messages), **temperature, **self._model.options}

    async def _ask(self, request: Mapping[str, Any]) -> Any:
        if self._keyless:
            where = f" and {self._model.recordings} holds no response to this request" if self._model.recordings else ""
            raise QueryError(f"{self._model.key_variable} is not set{where}")
        response = await self._service.ask("POST", f"{self._url}/chat/completions", body=request)
        dig(response, "choices.0.message", "reply")
        return response

    def _count(self, usage: Mapping[str, Any]) -> dict[str, Any]:
        tokens = {name: usage[name] for name in ("prompt_tokens", "completion_tokens") if name in usage}
        if self._model.prices is None or len(tokens) < 2:
            return tokens
        prompt, completion = self._model.prices
        return {**tokens, "cost": (tokens["prompt_tokens"] * prompt + tokens["completion_tokens"] * completion) / 1e6}

    async def aclose(self) -> None:
        """Close the connections."""
        await self._service.aclose()
