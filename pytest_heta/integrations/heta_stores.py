"""The stores that a KnowledgeRecipe of heta-framework names, and what one knowledge base gets of them."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import fields, replace
from typing import Any

from pytest_heta.integrations.heta_objects import UnitObjects

_SQL_IN_MEMORY = ("", "/", "/:memory:")


class UnitStores:
    """The stores of one knowledge base: object stores as views, those in memory anew, the others as they are.

    A store in memory holds one knowledge base, and what is in it cannot be opened again.
    """

    def __init__(self, stores: Any, place: str, raw_keys: Collection[str]) -> None:
        """Give object stores a private ``place``, in which ``raw_keys`` are seen as they are."""
        self._place, self._raw_keys = place, raw_keys
        self._views: list[UnitObjects] = []
        # One store under two names stays one.
        made = {id(store): self._own(store) for _, store in _named(stores)}
        slots = {slot: made.get(id(getattr(stores, slot))) for slot in _slots(stores)}
        named = {name: made[id(store)] for name, store in stores.named.items()}
        self.stores = replace(stores, **slots, named=named)

    @property
    def objects(self) -> UnitObjects:
        """The view of the recipe's object store."""
        view: UnitObjects = self.stores.objects
        return view

    async def clear(self) -> None:
        """Remove everything in the private places."""
        for view in self._views:
            await view.clear()

    def _own(self, store: Any) -> Any:
        if _is_in_memory(store):
            return type(store)(store.config.url) if _is_sql(store) else type(store)()
        if not _holds_objects(store):
            return store
        view = UnitObjects(store, self._place, self._raw_keys)
        self._views.append(view)
        return view


def store_named(kb: Any, recipe: Any, name: str) -> Any:
    """Return the store that a step calls ``stores.KIND`` or ``stores.KIND.NAME``; ``kb`` is heta-framework's module."""
    return recipe.stores.get(kb.store_ref(*name.removeprefix("stores.").split(".", 1)))


def any_lasts(stores: Any) -> bool:
    """Tell whether anything but an object store outlives the process: two knowledge bases would meet in it."""
    return any(outlives_the_process(store) and not _holds_objects(store) for _, store in _named(stores))


def outlives_the_process(store: Any) -> bool:
    """Tell whether what is in a store can be opened again."""
    return not _is_in_memory(store)


def described_stores(stores: Any) -> dict[str, str]:
    """Return the type of each store by its name."""
    return {name: type(store).__name__ for name, store in _named(stores)}


def _named(stores: Any) -> Iterator[tuple[str, Any]]:
    for slot in _slots(stores):
        if (store := getattr(stores, slot)) is not None:
            yield slot, store
    yield from stores.named.items()


def _slots(stores: Any) -> list[str]:
    return [field.name for field in fields(stores) if field.name != "named"]


def _is_in_memory(store: Any) -> bool:
    if _is_sql(store):
        scheme, _, place = str(store.config.url).partition("://")
        return scheme.partition("+")[0] == "sqlite" and place.partition("?")[0] in _SQL_IN_MEMORY
    bases = [base for base in type(store).__mro__ if base.__module__.startswith("heta_framework.")]
    return any("InMemory" in base.__name__ for base in bases)


def _is_sql(store: Any) -> bool:
    return type(store).__name__ == "SQLStore"


def _holds_objects(store: Any) -> bool:
    return all(callable(getattr(store, name, None)) for name in ("put", "get", "exists", "list"))
