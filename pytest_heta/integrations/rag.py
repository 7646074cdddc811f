"""Retrieval by any recipe, and answers by a language model that reads what was found."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pytest_heta.calling import call, close
from pytest_heta.errors import RecipeError
from pytest_heta.integrations.openai_chat import ChatModel, ChatSession
from pytest_heta.protocols import ObjectStoreProtocol, ProgressCallback
from pytest_heta.records import QueryResponse, QueryResult

PROMPT = """\
Answer the question from the numbered passages alone. Answer with as few words as possible, without explanation, and
put the number of the passage that says so behind it, like [2]. If the passages do not say, answer: unknown

{passages}

Question: {query}"""

_REFERENCE = re.compile(r"\s*\[(\d+)\]")


class RagRecipe:
    """Answers in every mode of another recipe.

    ``retriever`` is anything that may stand in a recipe file; its hits must have texts. The first ``depth`` of them
    stand for ``{passages}`` in ``prompt``, which is one user message. References such as [2] in a reply become
    ``citations`` and leave the answer. ``metadata`` of a response has model, tokens and cost.
    """

    def __init__(
        self, retriever: Any, model: ChatModel, *, name: str = "rag", prompt: str = PROMPT, depth: int = 5
    ) -> None:
        """Check the declaration; nothing is opened.

        Raises:
            RecipeError: the retriever is no recipe, or the prompt lacks the query or the passages.
        """
        from pytest_heta.integrations import as_recipe

        if "{query}" not in prompt or "{passages}" not in prompt:
            raise RecipeError(f"recipe {name!r}: the prompt must hold {{query}} and {{passages}}")
        self._retriever: Any = as_recipe(retriever, f"the retriever of {name!r}")
        self.name, self._model, self._prompt, self._depth = name, model, prompt, depth
        self.needs_documents: bool = getattr(self._retriever, "needs_documents", True)
        self.max_concurrency: int | None = getattr(self._retriever, "max_concurrency", None)
        if hasattr(self._retriever, "load"):
            self.load = self._load

    @property
    def available_queries(self) -> Sequence[str]:
        """The retriever's modes."""
        return tuple(self._retriever.available_queries)

    @property
    def manifest(self) -> dict[str, Any]:
        """The retriever's manifest, the model, the prompt."""
        return {
            "name": self.name,
            "type": "rag",
            "retriever": dict(getattr(self._retriever, "manifest", None) or {}),
            "model": self._model.declaration(),
            "prompt": self._prompt,
            "depth": self._depth,
        }

    async def build(
        self,
        *,
        name: str,
        objects: ObjectStoreProtocol,
        source_keys: Sequence[str],
        progress: ProgressCallback | None = None,
    ) -> RagKnowledgeBase:
        """Build the retriever's knowledge base."""
        kb = await call(self._retriever.build, name=name, objects=objects, source_keys=source_keys, progress=progress)
        return self._answering(kb)

    async def _load(self, directory: Path, *, name: str) -> RagKnowledgeBase:
        return self._answering(await call(self._retriever.load, directory, name=name))

    def _answering(self, kb: Any) -> RagKnowledgeBase:
        return RagKnowledgeBase(kb, self._model.open(), self._prompt, self._depth)


class RagKnowledgeBase:
    """Asks the retriever's knowledge base, then the model."""

    def __init__(self, kb: Any, chat: ChatSession, prompt: str, depth: int) -> None:
        """Use both; both are closed in the end."""
        self._kb, self._chat, self._prompt, self._depth = kb, chat, prompt, depth
        self.available_queries: Sequence[str] = tuple(kb.available_queries)
        self.manifest: Mapping[str, Any] = getattr(kb, "manifest", None) or {}
        if hasattr(kb, "save"):
            self.save = kb.save

    async def query(self, text: str, *, mode: str, top_k: int, **_: Any) -> QueryResponse:
        """Return what was found, and the model's answer to it.

        Raises:
            RecipeError: the hits have no texts to answer from.
            QueryError: the model cannot be asked.
        """
        found: QueryResponse = await call(self._kb.query, text, mode=mode, top_k=top_k)
        read = found.results[: self._depth]
        if read and not any(result.text for result in read):
            raise RecipeError("the hits have no texts for the model to read: the retriever must return QueryResults")
        reply = await self._chat.reply([{"role": "user", "content": _filled(self._prompt, text, read)}])
        return found.model_copy(
            update={
                "answer": _REFERENCE.sub("", reply.text).strip() or None,
                "citations": _cited(reply.text, read),
                "metadata": {**found.metadata, **reply.metadata},
            }
        )

    async def aclose(self) -> None:
        """Close the retriever's knowledge base and the connections."""
        try:
            await close(self._kb)
        finally:
            await self._chat.aclose()


def _filled(prompt: str, query: str, results: Sequence[QueryResult]) -> str:
    passages = "\n\n".join(f"[{number}] {result.text}" for number, result in enumerate(results, 1))
    # One pass, so that braces in a passage are text.
    parts = {"{query}": query, "{passages}": passages}
    return re.sub(r"\{query\}|\{passages\}", lambda match: parts[match[0]], prompt)


def _cited(reply: str, results: Sequence[QueryResult]) -> tuple[str, ...]:
    numbers = dict.fromkeys(int(number) for number in _REFERENCE.findall(reply))
    return tuple(results[number - 1].id for number in numbers if 1 <= number <= len(results))
