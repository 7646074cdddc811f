"""Other people's responses as ours: whatever has the members of a QueryResponse is read as one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from pytest_heta.errors import RecipeError
from pytest_heta.records import QueryResponse, QueryResult

_RESULT_FIELDS = tuple(QueryResult.model_fields)


def as_response(value: Any, mode: str) -> QueryResponse:
    """Return ``value`` as a QueryResponse: one of ours as it is, a mapping or an object by its fields.

    Raises:
        RecipeError: where it is nothing of the kind.

    """
    if isinstance(value, QueryResponse):
        # The mode that was asked is what counts: under another name the response would belong to no planned case.
        return value if value.mode == mode else value.model_copy(update={"mode": mode})
    results = _field(value, "results")
    if results is None:
        raise RecipeError(f"a query in mode {mode!r} returned {type(value).__name__}, which is not a QueryResponse")
    fields = {name: _field(value, name) for name in ("answer", "citations", "trace", "metadata")}
    try:
        return QueryResponse(
            mode=mode,
            results=tuple(_as_result(result) for result in results),
            **{name: field for name, field in fields.items() if field is not None},
        )
    except ValidationError as error:
        raise RecipeError(f"a query in mode {mode!r} returned a malformed response: {error}") from error


def _field(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)


def _as_result(value: Any) -> QueryResult:
    if isinstance(value, QueryResult):
        return value
    fields = {name: _field(value, name) for name in _RESULT_FIELDS}
    for name in ("source", "metadata"):
        fields[name] = dict(fields[name] or {})
    return QueryResult(**{name: field for name, field in fields.items() if field is not None})
