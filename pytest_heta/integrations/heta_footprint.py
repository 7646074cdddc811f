"""What a knowledge base of heta-framework leaves in stores that last: tables, collections and indexes."""

from __future__ import annotations

import os
import tempfile
from contextlib import ExitStack
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from pytest_heta.errors import BuildError
from pytest_heta.integrations.heta_stores import outlives_the_process, store_named

_ADDRESSES = ("url", "uri", "hosts", "db_name")
_SQLITE = "sqlite:///"


class Footprint:
    """What the steps of a recipe write to, but for objects. It holds one knowledge base at a time.

    ``name`` is the knowledge base's.
    """

    def __init__(self, kb: Any, name: str, recipe: Any) -> None:
        nothing = kb.RecipeRunRecord(
            run_id="none", status="failed", started_at="none", finished_at=None, step_records=()
        )
        # Without the user's object store, so that deleting touches nothing there.
        bare = replace(recipe, stores=replace(recipe.stores, objects=None))
        self._blank = kb.KnowledgeBase(
            name=name, description=None, recipe=bare, run_record=nothing, created_at="none", updated_at="none"
        )
        stores = [(each, store_named(kb, recipe, each.component)) for each in self._blank.delete_plan().targets]
        self._parts = [(target, store) for target, store in stores if outlives_the_process(store)]

    @property
    def addresses(self) -> str:
        """A digest of where the stores are: what was written elsewhere is no business of this one."""
        return _digest(*sorted({_address(store) for _, store in self._parts}))[:8]

    def lock(self, label: str) -> ExitStack:
        """Keep all of it for one knowledge base of this machine.

        Raises:
            BuildError: another one has a part of it.
        """
        with ExitStack() as locks:
            for target, store in self._parts:
                path = Path(
                    tempfile.gettempdir(), f"pytest-heta-{_digest(_address(store), target.kind, target.value)}.lock"
                )
                try:
                    locks.enter_context(FileLock(path, thread_local=False, blocking=False))
                except Timeout as error:
                    raise BuildError(
                        f"{label}: the recipe's stores hold one knowledge base at a time, and another one is open "
                        f"in {_told(target)}: make the recipe HetaRecipe(make), where make(name) returns a "
                        "KnowledgeRecipe with collections of its own"
                    ) from error
            return locks.pop_all()

    async def refuse_strangers(self, label: str) -> None:
        """Leave alone what somebody else has filled.

        Raises:
            BuildError: a part of it holds something.
        """
        if filled := await self._filled():
            raise BuildError(
                f"{label}: {filled} of the recipe's stores holds something that was not made for this evaluation, "
                "which would be mixed with it: remove it, or give the recipe another name there"
            )

    async def clear(self, label: str) -> None:
        """Remove all of it.

        Raises:
            BuildError: something is left.
        """
        result = await self._blank.delete()
        if filled := await self._filled():
            reasons = "; ".join(issue.message for issue in result.issues)
            raise BuildError(f"{label}: what an earlier build has left in {filled} cannot be removed: {reasons}")

    async def _filled(self) -> str:
        return ", ".join([_told(target) for target, store in self._parts if await _holds_something(target, store)])


async def _holds_something(target: Any, store: Any) -> bool:
    try:
        if target.kind == "sql_table":
            return await store.fetch_one(f"SELECT 1 FROM {target.value} LIMIT 1") is not None
        return int(await store.count(target.value)) > 0
    except Exception:
        return False  # there is none; where the store is at fault, the build will say so


def _told(target: Any) -> str:
    return f"{target.kind.replace('_', ' ')} {target.value!r}"


def _address(store: Any) -> str:
    config = getattr(store, "config", None)
    known = [_absolute(str(getattr(config, name))) for name in _ADDRESSES if getattr(config, name, None) is not None]
    # One that tells no address is the same only to itself.
    return " ".join((type(store).__name__, *known)) if known else f"{os.getpid()} {id(store)}"


def _absolute(address: str) -> str:
    if address.startswith(_SQLITE):
        return f"{_SQLITE}{Path(address.removeprefix(_SQLITE)).absolute()}"
    return address if "://" in address else str(Path(address).absolute())


def _digest(*parts: str) -> str:
    return sha256("\n".join(parts).encode()).hexdigest()[:24]
