"""LlamaIndex: indexes, retrievers and query engines, of the user's own or made of the benchmark's documents."""

from __future__ import annotations

from typing import Any

from pytest_heta.errors import RecipeError
from pytest_heta.integrations.documents import SourceDocument
from pytest_heta.integrations.framework import FrameworkRecipe, passage
from pytest_heta.knowledge.extras import require
from pytest_heta.records import QueryResponse, QueryResult

MODE = "llama_index"


def adapt(found: Any, where: str) -> LlamaIndexRecipe:
    """Return an index, retriever or query engine, with documents of its own, as a recipe.

    Raises:
        RecipeError: it is something else of LlamaIndex.
    """
    _refuse_others(found, where)
    return LlamaIndexRecipe(lambda: found, needs_documents=False)


class LlamaIndexRecipe(FrameworkRecipe):
    """Asks what ``build`` returns: an index, a retriever, or a query engine, whose answer and source nodes are scored.

    ``build`` gets LlamaIndex Documents with their ids; the nodes made of them keep ``document_id`` and ``source_key``
    in their metadata, which neither embeddings nor prompts see. Without ``needs_documents`` the metadata of the nodes,
    or the ids of their documents, must name the benchmark's documents.
    """

    kind = MODE
    libraries = ("llama-index-core",)

    def document(self, document: SourceDocument) -> Any:
        """Return a LlamaIndex Document."""
        hidden = list(document.ids)
        return require("llama_index.core.schema", "llama-index").Document(
            id_=document.document_id,
            text=document.text,
            metadata=dict(document.ids),
            excluded_embed_metadata_keys=hidden,
            excluded_llm_metadata_keys=hidden,
        )

    def knowledge_base(self, made: Any) -> LlamaIndexKnowledgeBase:
        """Return what asks an index, retriever or query engine.

        Raises:
            RecipeError: it is none of these.
        """
        _refuse_others(made, self.name)
        return LlamaIndexKnowledgeBase(made)


class LlamaIndexKnowledgeBase:
    """Asks one index, retriever or query engine."""

    available_queries = (MODE,)

    def __init__(self, engine: Any) -> None:
        self._engine = engine

    async def query(self, text: str, *, mode: str, top_k: int, **_: Any) -> QueryResponse:
        """Ask it once; a query engine retrieves as many nodes as it was made to."""
        engine, answer = self._engine, None
        if hasattr(engine, "as_retriever"):
            nodes = await engine.as_retriever(similarity_top_k=top_k).aretrieve(text)
        elif hasattr(engine, "aretrieve") and not hasattr(engine, "aquery"):
            nodes = await engine.aretrieve(text)
        else:
            response = await engine.aquery(text)
            nodes, answer = response.source_nodes, str(response)
        return QueryResponse(mode=MODE, results=tuple(map(_hit, nodes[:top_k])), answer=answer)


def _refuse_others(found: Any, where: str) -> None:
    if not any(hasattr(found, method) for method in ("as_retriever", "aretrieve", "aquery")):
        raise RecipeError(
            f"{where} is {type(found).__name__}; expected an index, a retriever or a query engine of LlamaIndex"
        )


def _hit(scored: Any) -> QueryResult:
    node = scored.node
    return passage(
        passage_id=node.node_id,
        text=node.get_content(),
        score=scored.score,
        metadata=node.metadata,
        document_id=node.ref_doc_id,
    )
