"""A recipe of heta-framework (its KnowledgeRecipe), run as it is."""

from __future__ import annotations

import os
import uuid
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import fields, replace
from hashlib import sha256
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from pytest_heta.calling import call
from pytest_heta.errors import RecipeError
from pytest_heta.integrations.documents import SourceDocument, read_documents
from pytest_heta.integrations.heta_code import own_code
from pytest_heta.integrations.heta_failures import is_whole, lost_parts, refuse_failed
from pytest_heta.integrations.heta_footprint import Footprint
from pytest_heta.integrations.heta_hits import response_of
from pytest_heta.integrations.heta_stores import (
    UnitStores,
    any_lasts,
    described_stores,
    outlives_the_process,
    store_named,
)
from pytest_heta.knowledge.extras import require
from pytest_heta.protocols import ObjectStoreProtocol, ProgressCallback
from pytest_heta.records import QueryResponse


def adapt(found: Any, where: str) -> HetaRecipe:
    """Return a KnowledgeRecipe as a recipe of ours.

    Raises:
        RecipeError: it is something else of heta-framework.
    """
    if not isinstance(found, require("heta_framework.kb", "heta").KnowledgeRecipe):
        raise RecipeError(f"{where} is heta-framework's {type(found).__name__}; expected its KnowledgeRecipe")
    return HetaRecipe(found)


class HetaRecipe:
    """Builds knowledge bases with a KnowledgeRecipe, or with what a function makes of the name of each.

    The documents go to the recipe's own object store under their raw keys, and stay there; what the steps derive goes
    to a place of its own below ``_pytest_heta/`` for each knowledge base. In-memory stores are made anew for each one,
    as they hold one at a time, and cannot be opened again. Other stores are used as they are: a knowledge base of the
    same documents and recipe is opened again, any other one that was built in them for this is deleted first, and
    tables or collections that hold something else are refused. They too hold one at a time, so that benchmarks with
    several run units, and parallel runs, need a function of the name that gives each its own collections.

    ``options`` go with each query, such as ``{"generate_answer": True}``. A build whose steps went on without more than
    ``max_failed`` chunks or groups, for which a language model failed, is an error.
    """

    libraries = ("heta-framework", "litellm")

    def __init__(
        self,
        recipe: Any,
        *,
        name: str = "heta_framework",
        options: Mapping[str, Any] | None = None,
        max_concurrency: int | None = None,
        max_failed: int = 0,
    ) -> None:
        """Take a KnowledgeRecipe, or a function (sync or async) from a KB name to one."""
        self._kb = require("heta_framework.kb", "heta")
        self._make: Callable[[str], Any] | None = None if isinstance(recipe, self._kb.KnowledgeRecipe) else recipe
        self._recipe = recipe if self._make is None else None
        self.name, self._options, self.max_concurrency = name, dict(options or {}), max_concurrency
        self._max_failed = max_failed

    @property
    def available_queries(self) -> tuple[str, ...]:
        """The modes that its knowledge bases will offer; none are known where a function makes the recipe."""
        if self._recipe is None:
            return ()
        assets = self._kb.SearchAssetCollection(_assets(self._recipe))
        return tuple(sorted(self._kb.QueryEngineRegistry.defaults().available_modes_for(self._recipe, assets)))

    @property
    def manifest(self) -> dict[str, Any]:
        """What the recipe says of itself."""
        declared = {} if self._recipe is None else _description(self._recipe)
        return {"name": self.name, "type": "heta-framework", "options": self._options, "recipe": declared}

    async def build(
        self,
        *,
        name: str,
        objects: ObjectStoreProtocol,
        source_keys: Sequence[str],
        progress: ProgressCallback | None = None,
        rebuild: bool = False,
    ) -> HetaKnowledgeBase:
        """Build a knowledge base, or open the same one of an earlier run unless that is to be made anew.

        Raises:
            BuildError: a step failed, or the stores are in use.
            RecipeError: the recipe has no object store.
        """
        recipe: Any = self._recipe if self._make is None else await call(self._make, name)
        if recipe.stores.objects is None:
            raise RecipeError(f"{self.name}: the KnowledgeRecipe has no stores.objects to put the documents into")
        _use_bundled_tokenizer()
        documents, copies = _distinct(await read_documents(objects, source_keys, progress))
        async with AsyncExitStack() as closing:
            place = _Place(self._kb, name, recipe, documents, self._max_failed)
            kb = await self._open(place, rebuild, closing)
            return HetaKnowledgeBase(kb, self._options, copies, closing.pop_all(), reopened=place.reopened)

    async def _open(self, place: _Place, rebuild: bool, closing: AsyncExitStack) -> Any:
        if not any_lasts(place.recipe.stores):
            stores = place.at(f"_pytest_heta/{uuid.uuid4().hex}/")
            closing.push_async_callback(stores.clear)
            return await place.create(stores)
        return await place.reopen("stores" if self._make is None else place.name, self.name, rebuild, closing)


class _Place:
    """Where and of what one knowledge base is made."""

    def __init__(self, kb: Any, name: str, recipe: Any, documents: Sequence[SourceDocument], max_failed: int) -> None:
        self._kb, self.name, self.recipe, self._documents = kb, name, recipe, documents
        self._max_failed, self.reopened = max_failed, False

    def at(self, place: str) -> UnitStores:
        """Return the stores whose private place this is."""
        return UnitStores(self.recipe.stores, place, [document.source_key for document in self._documents])

    async def create(self, stores: UnitStores) -> Any:
        """Store the documents and build.

        heta-framework does not raise where a step fails: it returns a knowledge base that cannot be asked.
        """
        keys = tuple(document.source_key for document in self._documents)
        for document in self._documents:
            await stores.objects.put(document.source_key, document.data)
        kb = await self._kb.KnowledgeBase.create(
            recipe=self._with(stores),
            name=self.name,
            initial_artifacts={"source_keys": keys, "benchmark_document_keys": keys},
        )
        refuse_failed(kb.run_record, self._max_failed)
        return kb

    async def reopen(self, scope: str, label: str, rebuild: bool, closing: AsyncExitStack) -> Any:
        """Open the knowledge base of the same recipe and documents, else, or to ``rebuild``, delete what is there.

        Raises:
            BuildError: the stores are in use, or hold what is not ours.
        """
        digest = sha256(repr(_description(self.recipe)).encode())
        for document in self._documents:
            digest.update(f"{document.source_key} {sha256(document.data).hexdigest()}\n".encode())
        footprint = Footprint(self._kb, self.name, self.recipe)
        closing.callback(footprint.lock(label).close)
        folder = f"_pytest_heta/{sha256(scope.encode()).hexdigest()[:16]}-{footprint.addresses}/"
        stores = self.at(own := f"{folder}{digest.hexdigest()[:16]}/")
        listed = await self.recipe.stores.objects.list(folder)
        places = {"/".join(info.key.split("/")[:3]) + "/" for info in listed}
        if own in places and not rebuild and self._outlives_the_process():
            kb = await self._load(stores, self.name)
            if kb is not None and is_whole(kb.run_record, self._max_failed):
                self.reopened = True
                return kb
        # A place is there from the first step on: what the stores hold is what was built, or half built, for it.
        await (footprint.clear(label) if places else footprint.refuse_strangers(label))
        for place in places:
            await self.at(place).clear()
        return await self.create(stores)

    def _outlives_the_process(self) -> bool:
        named = {asset.store for asset in _assets(self.recipe)} - {None}
        return all(outlives_the_process(store_named(self._kb, self.recipe, name)) for name in named)

    async def _load(self, stores: UnitStores, name: str) -> Any:
        try:
            return await self._kb.KnowledgeBase.load(recipe=self._with(stores), name=name)
        except (self._kb.KnowledgeBaseNotFoundError, self._kb.KnowledgeBaseNotReadyError):
            return None

    def _with(self, stores: UnitStores) -> Any:
        return replace(self.recipe, stores=stores.stores)


class HetaKnowledgeBase:
    """Asks a knowledge base of heta-framework; ``copies`` are the keys of left-out documents by that of their equal."""

    def __init__(
        self,
        kb: Any,
        options: Mapping[str, Any],
        copies: Mapping[str, Sequence[str]],
        closing: AsyncExitStack,
        *,
        reopened: bool,
    ) -> None:
        self._kb, self._options, self._copies, self._closing = kb, options, copies, closing
        self.available_queries, self.reopened = tuple(sorted(kb.available_queries)), reopened
        self.manifest = {
            "run_id": kb.run_record.run_id,
            "equal_documents": sum(map(len, copies.values())),
            "failed_parts": lost_parts(kb.run_record),
        }

    async def query(
        self, text: str, *, mode: str, top_k: int, options: Mapping[str, Any] | None = None, trace: bool = False
    ) -> QueryResponse:
        """Ask it; see ``response_of`` for what becomes of its hits."""
        found = await self._kb.query(
            text, mode=mode, top_k=top_k, options={**self._options, **(options or {})}, trace=trace
        )
        if found.metadata.get("answer_generation") == "missing_language_model" and _wants_answers(found.metadata):
            raise RecipeError(f"mode {mode!r} is to generate answers, but the KnowledgeRecipe has no language model")
        return response_of(found, self._copies, top_k, trace=trace)

    async def aclose(self) -> None:
        """Remove what cannot be opened again, and let the stores go."""
        await self._closing.aclose()


def _wants_answers(metadata: Mapping[str, Any]) -> bool:
    """Tell whether an option asked for them; modes that generate them anyway do without where they cannot."""
    return bool(metadata.get("answer_generation_requested"))


def _distinct(documents: Sequence[SourceDocument]) -> tuple[list[SourceDocument], dict[str, list[str]]]:
    """Return the first of all documents of the same bytes, and the keys of the others by the key of the first.

    heta-framework makes the ids of documents and chunks out of their contents, and cannot index the same id twice.
    """
    first: dict[bytes, SourceDocument] = {}
    copies: defaultdict[str, list[str]] = defaultdict(list)
    for document in documents:
        known = first.setdefault(sha256(document.data).digest(), document)
        if known is not document:
            copies[known.source_key].append(document.source_key)
    return list(first.values()), dict(copies)


def _use_bundled_tokenizer() -> None:
    """Let tiktoken find the encoding that litellm brings along, as litellm itself does when it is imported."""
    spec = find_spec("litellm")
    folder = Path(spec.origin or "").parent / "litellm_core_utils" / "tokenizers" if spec else Path()
    if spec and folder.is_dir():
        os.environ.setdefault("TIKTOKEN_CACHE_DIR", str(folder))


def _assets(recipe: Any) -> tuple[Any, ...]:
    """Return what the steps promise to make for the modes: indexes and tables, each with the name of its store."""
    return tuple(asset for step in recipe.expanded_steps() for asset in step.capabilities.search_assets)


def _description(recipe: Any) -> dict[str, Any]:
    """Return the steps with their settings, and the models by name, as JSON."""
    models = {
        field.name: getattr(recipe.models, field.name) for field in fields(recipe.models) if field.name != "named"
    }
    models |= recipe.models.named
    return {
        "version": version("heta-framework"),
        "code": own_code(recipe.expanded_steps(), models, recipe.parsers),
        "steps": [[type(step).__name__, repr(getattr(step, "config", None))] for step in recipe.expanded_steps()],
        "models": {role: str(getattr(model, "model_name", type(model).__name__)) for role, model in models.items()},
        "stores": described_stores(recipe.stores),
    }
