"""Haystack: an indexing and a query pipeline."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from pytest_heta.errors import RecipeError
from pytest_heta.integrations.documents import SourceDocument
from pytest_heta.integrations.framework import FrameworkRecipe, passage
from pytest_heta.knowledge.extras import require
from pytest_heta.records import QueryResponse, QueryResult

MODE = "haystack"
_QUERY_INPUTS = ("query", "text", "question")


def adapt(found: Any, where: str) -> HaystackRecipe:
    """Return a query pipeline over documents of its own as a recipe.

    Raises:
        RecipeError: it is something else of Haystack.
    """
    _refuse_others(found, where)
    return HaystackRecipe(lambda: found, needs_documents=False)


class HaystackRecipe(FrameworkRecipe):
    """Asks a query pipeline that ``build`` returns; it gets Haystack Documents.

    For most uses ``HaystackRecipe.of_pipelines`` is what is wanted: it fills an indexing pipeline first.

    The query goes into each open input ``query``, ``text`` or ``question`` of the pipeline, and ``top_k`` into each
    open ``top_k``. The last component with ``documents`` gives the hits; ``replies`` or ``answers`` the answer.
    """

    kind = MODE
    libraries = ("haystack-ai",)

    @classmethod
    def of_pipelines(
        cls, make: Callable[[], tuple[Any, Any]], *, name: str = MODE, max_concurrency: int | None = None
    ) -> HaystackRecipe:
        """Make a recipe of an indexing and a query pipeline, which ``make`` makes anew over one new document store.

        The documents go into the open input ``documents`` of the indexing pipeline.
        """

        def build(documents: list[Any]) -> Any:
            indexing, querying = make()
            _refuse_others(indexing, f"{name}: the indexing pipeline")
            indexing.run(_inputs(indexing, {"documents": documents}))
            return querying

        build.__qualname__ = getattr(make, "__qualname__", "make")
        return cls(build, name=name, max_concurrency=max_concurrency)

    def document(self, document: SourceDocument) -> Any:
        """Return a Haystack Document."""
        return require("haystack", "haystack").Document(
            id=document.document_id, content=document.text, meta=dict(document.ids)
        )

    def knowledge_base(self, made: Any) -> HaystackKnowledgeBase:
        """Return what asks a query pipeline.

        Raises:
            RecipeError: it is none.
        """
        _refuse_others(made, self.name)
        return HaystackKnowledgeBase(made)


class HaystackKnowledgeBase:
    """Asks a query pipeline."""

    available_queries = (MODE,)

    def __init__(self, pipeline: Any) -> None:
        self._pipeline = pipeline
        outputs = pipeline.outputs(include_components_with_connected_outputs=True)
        self._sources = {component for component, names in outputs.items() if "documents" in names}

    def query(self, text: str, *, mode: str, top_k: int, **_: Any) -> QueryResponse:
        """Run the pipeline once."""
        values = dict.fromkeys(_QUERY_INPUTS, text)
        given = _inputs(self._pipeline, {**values, "top_k": top_k}, needed=_QUERY_INPUTS)
        found = self._pipeline.run(given, include_outputs_from=self._sources)
        documents = [outputs["documents"] for name, outputs in found.items() if "documents" in outputs]
        return QueryResponse(
            mode=MODE,
            results=tuple(map(_hit, documents[-1][:top_k])) if documents else (),
            answer=next(_answers(found), None),
        )


def _inputs(pipeline: Any, values: Mapping[str, Any], needed: Sequence[str] = ("documents",)) -> dict[str, Any]:
    """Return the data for ``run``: each value for each component that has an open input of that name."""
    given = {
        component: {name: values[name] for name in inputs if name in values}
        for component, inputs in pipeline.inputs().items()
    }
    if not any(name in inputs for inputs in given.values() for name in needed):
        raise RecipeError(f"no component of the pipeline has an open input {' or '.join(map(repr, needed))}")
    return {component: inputs for component, inputs in given.items() if inputs}


def _answers(found: Mapping[str, Any]) -> Iterator[str]:
    for outputs in found.values():
        for reply in [*outputs.get("answers", ()), *outputs.get("replies", ())]:
            yield str(getattr(reply, "data", None) or getattr(reply, "text", None) or reply)


def _refuse_others(found: Any, where: str) -> None:
    if not callable(getattr(found, "inputs", None)) or not callable(getattr(found, "run", None)):
        raise RecipeError(f"{where} is {type(found).__name__}; expected a Pipeline of Haystack")


def _hit(document: Any) -> QueryResult:
    return passage(passage_id=document.id, text=document.content or "", score=document.score, metadata=document.meta)
