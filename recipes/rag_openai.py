"""Retrieval by BM25, and answers by a language model behind an OpenAI-compatible API. Needs pytest-heta[bm25].

Set OPENAI_API_KEY; OPENAI_BASE_URL for a server other than OpenAI's (vLLM, Ollama, llama.cpp, a gateway), where no key
may be needed; OPENAI_MODEL for another model; and OPENAI_RECORDINGS to a JSONL file in which the responses are kept and
from which they are replayed, so that the next run needs neither key nor network.
"""

import os
from pathlib import Path

from pytest_heta.integrations.openai_chat import ChatModel
from pytest_heta.integrations.rag import RagRecipe
from pytest_heta.knowledge import Bm25, Recipe, TokenChunker

recordings = os.environ.get("OPENAI_RECORDINGS")

recipe = RagRecipe(
    Recipe("bm25", chunker=TokenChunker(size=200, overlap=40), modes={"full_text_search": Bm25()}),
    ChatModel(
        os.environ.get("OPENAI_MODEL", "gpt-4o-mini"),
        prices=(0.15, 0.60),  # dollars per million prompt and completion tokens
        recordings=Path(recordings) if recordings else None,
    ),
    name="rag_openai",
    depth=5,
)
