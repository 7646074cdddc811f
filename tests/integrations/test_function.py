"""Search functions, and classes that build their own index."""

from __future__ import annotations

import asyncio
import threading
from typing import Any, ClassVar

import pytest

from pytest_heta.errors import BuildError, ObjectNotFoundError, RecipeError
from pytest_heta.integrations import as_recipe
from pytest_heta.integrations.documents import SourceDocument, read_documents
from pytest_heta.integrations.function import BuilderRecipe, FunctionRecipe
from pytest_heta.knowledge import MemoryObjectStore, Recipe
from pytest_heta.records import QueryResponse, QueryResult
from tests.integrations.helpers import ZOO, ask, build, overlap, raw

LION = "where does the lion sleep"


class Overlap:
    """Counts shared words; the object is the index."""

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}
        self.closed = False

    def build(self, documents: list[SourceDocument]) -> None:
        """Keep the texts."""
        self.texts.update((document.document_id, document.text) for document in documents)

    def search(self, query: str, top_k: int) -> list[tuple[str, float]]:
        """Rank by shared words."""
        ranked = sorted(self.texts, key=lambda name: -overlap(query, self.texts[name]))
        return [(name, overlap(query, self.texts[name])) for name in ranked[:top_k]]

    def close(self) -> None:
        """Remember it."""
        self.closed = True


def found(recipe: Any, query: str = LION) -> QueryResponse:
    """Return what a recipe of the zoo finds."""

    async def work() -> QueryResponse:
        kb = await build(as_recipe(recipe, "here"))
        response = await ask(kb, query)
        await kb.aclose()
        return response

    return asyncio.run(work())


def test_a_function_of_pairs_is_a_recipe() -> None:
    """The ids and scores of ``search`` become document hits, in its order."""

    def search(query: str, top_k: int) -> list[tuple[str, float]]:
        return [(f"{query}-{number}", 1 / number) for number in range(1, top_k + 1)]

    response = found(search, "q")
    assert [(hit.id, hit.kind, hit.score) for hit in response.results] == [
        ("q-1", "document", 1.0),
        ("q-2", "document", 0.5),
    ]


def test_an_asynchronous_function_is_awaited_on_the_loop() -> None:
    """An ``async def search`` runs in the thread of the event loop."""
    threads = []

    async def search(query: str, top_k: int) -> list[str]:
        threads.append(threading.current_thread())
        return ["lion"]

    assert [hit.id for hit in found(search).results] == ["lion"]
    assert threads == [threading.main_thread()]


def test_an_object_with_an_asynchronous_call_is_awaited() -> None:
    """A callable object may be asynchronous too."""

    class Search:
        async def __call__(self, query: str, top_k: int) -> list[str]:
            return ["otter"]

    assert [hit.id for hit in found(Search()).results] == ["otter"]


def test_a_function_may_return_results_or_a_whole_response() -> None:
    """QueryResults are kept as they are, and a QueryResponse with its answer, in the recipe's own mode."""
    hit = QueryResult(id="c1", text="shade", source={"document_id": "lion"})
    assert found(lambda query, top_k: [hit]).results == (hit,)
    whole = found(lambda query, top_k: QueryResponse(mode="mine", results=(hit,), answer="in the shade"))
    assert (whole.mode, whole.results, whole.answer) == ("search", (hit,), "in the shade")


@pytest.mark.parametrize("returned", [None, 3, "lion", {"lion": 1.0}, [("lion", 1.0, "x")], [7]])
def test_anything_else_is_refused_by_its_type(returned: object) -> None:
    """What is no list of hits is an error that says what was expected."""
    with pytest.raises(RecipeError, match="expected"):
        found(lambda query, top_k: returned)


def test_a_function_needs_no_documents_and_may_bound_its_concurrency() -> None:
    """The recipe of a function asks for no documents, and takes over the function's ``max_concurrency``."""

    def search(query: str, top_k: int) -> list[str]:
        return []

    search.max_concurrency = 1  # type: ignore[attr-defined]
    recipe = as_recipe(search, "here")
    assert isinstance(recipe, FunctionRecipe)
    assert (recipe.needs_documents, recipe.max_concurrency, recipe.name) == (False, 1, "search")


def test_a_class_with_build_gets_the_documents() -> None:
    """A class with ``build(documents)`` and ``search`` finds documents by the ids that it was given."""
    response = found(Overlap)
    assert response.results[0].id == "lion"
    assert found(Overlap, "snow mouse").results[0].id == "owl=20barn"


@pytest.mark.parametrize("given", [Overlap, Overlap()])
def test_each_knowledge_base_has_its_own_object(given: Any) -> None:
    """Two knowledge bases of one class, or of one object, do not see each other's documents."""

    async def work() -> None:
        recipe = as_recipe(given, "here")
        first = await build(recipe, {"lion": ZOO["lion"]})
        second = await build(recipe, {"otter": ZOO["otter"]})
        assert [hit.id for hit in (await ask(first, "the")).results] == ["lion"]
        assert [hit.id for hit in (await ask(second, "the")).results] == ["otter"]

    asyncio.run(work())


def test_build_may_be_asynchronous_and_return_the_search() -> None:
    """What ``build`` returns is asked instead of the object: a function, or something with ``search``."""

    class Factory:
        async def build(self, documents: list[SourceDocument]) -> Any:
            overlapping = Overlap()
            overlapping.build(documents)
            return overlapping.search

    assert found(Factory).results[0].id == "lion"


def test_a_built_object_is_closed() -> None:
    """``close`` of the object is called when its knowledge base is closed."""
    made: list[Overlap] = []

    class Remembered(Overlap):
        def __init__(self) -> None:
            super().__init__()
            made.append(self)

    found(Remembered)
    assert [each.closed for each in made] == [True]


def test_a_class_that_cannot_be_made_says_what_it_needs() -> None:
    """A class whose __init__ needs arguments is refused in words, as is an object that cannot be copied."""

    class Needy(Overlap):
        def __init__(self, path: str) -> None:
            super().__init__()

    class Locked(Overlap):
        def __init__(self) -> None:
            super().__init__()
            self.lock = threading.Lock()

    for given in (Needy, Locked()):
        with pytest.raises(RecipeError, match="__init__ needs no arguments"):
            found(given)


def test_build_must_give_something_that_searches() -> None:
    """A ``build`` that returns what cannot search, in a class that cannot either, is an error."""

    class Wrong:
        def build(self, documents: list[SourceDocument]) -> int:
            return 3

    with pytest.raises(RecipeError, match="returned int, which cannot search"):
        found(Wrong)


def test_a_recipe_of_the_protocol_stays_as_it_is() -> None:
    """What has the protocol's ``build`` is not adapted; a class of it is made without arguments."""

    class Own:
        def build(self, *, name: str, objects: Any, source_keys: Any, progress: Any = None) -> Any:
            return None

    class Open:
        def build(self, **arguments: Any) -> Any:
            return None

    own, bm25 = Own(), Recipe.__new__(Recipe)
    assert as_recipe(own, "here") is own
    assert as_recipe(bm25, "here") is bm25
    assert isinstance(as_recipe(Own, "here"), Own)
    assert isinstance(as_recipe(Open, "here"), Open)


def test_what_is_no_recipe_is_named_with_its_place() -> None:
    """Any other object is refused with the place where it was found."""
    with pytest.raises(RecipeError, match=r"mine\.py:recipe is int, which is not a recipe"):
        as_recipe(3, "mine.py:recipe")


def test_the_manifest_is_what_the_object_says() -> None:
    """An object's own manifest is the recipe's; without one the class is named."""

    class Described(Overlap):
        manifest: ClassVar = {"k1": 1.2}

    assert as_recipe(Described, "here").manifest == {"k1": 1.2}  # type: ignore[attr-defined]
    plain = as_recipe(Overlap, "here")
    assert isinstance(plain, BuilderRecipe)
    assert plain.manifest == {"type": "class", "class": "Overlap"}


def test_documents_have_ids_names_bytes_and_texts() -> None:
    """A document knows its id, key and name; its text is read from the bytes, and a broken file is named."""

    async def work() -> list[SourceDocument]:
        objects = MemoryObjectStore()
        await objects.put(raw("a"), "Grüße".encode())
        await objects.put("raw/benchmarks/zoo/test/b/b.html", b"<h1>Hello</h1>")
        await objects.put("raw/benchmarks/zoo/test/c/c.pdf", b"")
        keys = [raw("a"), "raw/benchmarks/zoo/test/b/b.html", "raw/benchmarks/zoo/test/c/c.pdf"]
        return await read_documents(objects, keys)

    first, second, broken = asyncio.run(work())
    assert (first.document_id, first.name, first.text) == ("a", "a.txt", "Grüße")
    assert first.ids == {"document_id": "a", "source_key": raw("a")}
    assert (second.document_id, second.text) == ("b", "Hello")
    with pytest.raises(BuildError, match=r"c\.pdf"):
        broken.text  # noqa: B018


def test_documents_that_are_not_there_are_errors() -> None:
    """A key without an object and a key that is no raw key are errors that name it."""
    with pytest.raises(ObjectNotFoundError, match="lion"):
        asyncio.run(read_documents(MemoryObjectStore(), [raw("lion")]))
    with pytest.raises(RecipeError, match="'lion' is no raw key"):
        asyncio.run(read_documents(MemoryObjectStore(), ["lion"]))


def test_reading_documents_is_reported() -> None:
    """Progress counts the documents."""
    seen: list[tuple[str, int, int | None]] = []
    recipe = BuilderRecipe(Overlap)
    asyncio.run(build(recipe, progress=lambda stage, done, total: seen.append((stage, done, total))))
    assert seen == [("documents", 1, 3), ("documents", 2, 3), ("documents", 3, 3)]
