"""Mapping: filling a request in, finding values in a response, and taking secrets from the environment."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from pytest_heta.errors import QueryError, RecipeError

_PLACEHOLDER = re.compile(r"\{(\w+)\}")
_VARIABLE = re.compile(r"\$\{(\w+)\}")


def fill(template: Any, values: Mapping[str, Any]) -> Any:
    """Return ``template``, JSON of any depth, with each ``{name}`` in its texts replaced.

    A text that is nothing but ``{name}`` becomes the value itself, so that a number stays a number.
    """
    if isinstance(template, Mapping):
        return {key: fill(value, values) for key, value in template.items()}
    if isinstance(template, list | tuple):
        return [fill(value, values) for value in template]
    if not isinstance(template, str):
        return template
    whole = _PLACEHOLDER.fullmatch(template)
    if whole and whole[1] in values:
        return values[whole[1]]
    return _PLACEHOLDER.sub(lambda match: str(values.get(match[1], match[0])), template)


def fill_url(template: str, values: Mapping[str, Any]) -> str:
    """Return an address with each ``{name}`` replaced, percent-encoded."""
    return str(_PLACEHOLDER.sub(lambda match: quote(str(values.get(match[1], match[0])), safe=""), template))


def placeholders(template: Any) -> Iterator[str]:
    """Yield the names in all ``{name}`` of a template."""
    if isinstance(template, Mapping):
        template = list(template.values())
    if isinstance(template, list | tuple):
        for part in template:
            yield from placeholders(part)
    elif isinstance(template, str):
        yield from _PLACEHOLDER.findall(template)


def check_placeholders(used: Iterable[str], known: Sequence[str]) -> None:
    """Refuse a ``{name}`` that would be sent as it is.

    Raises:
        RecipeError: there is such a name; lists the known ones.
    """
    unknown = sorted(set(used) - set(known))
    if unknown:
        raise RecipeError(f"unknown placeholder {{{unknown[0]}}} (known: {', '.join(f'{{{name}}}' for name in known)})")


def dig(value: Any, path: str, what: str, place: str = "the response") -> Any:
    """Return what a dotted path such as ``choices.0.message.content`` leads to; an empty path leads to ``value``.

    ``place`` is what to call ``value`` in an error.

    Raises:
        QueryError: it leads nowhere; says where it ends, what is there, and ``what`` was looked for.
    """
    for step in path.split(".") if path else ():
        if isinstance(value, Mapping) and step in value:
            value = value[step]
        elif isinstance(value, Sequence) and not isinstance(value, str) and step.isdigit() and int(step) < len(value):
            value = value[int(step)]
        else:
            raise QueryError(f"no {what} at {path!r}: {place} has no {step!r} ({contents(value)})")
        place = f"{step!r}"
    return value


def contents(value: Any) -> str:
    """Say in a few words what a value is, for an error."""
    if isinstance(value, Mapping):
        return f"it has: {', '.join(map(repr, value)) or 'nothing'}"
    if isinstance(value, list):
        return f"it is a list of {len(value)}"
    return f"it is {str(value)[:80]!r}"


def with_environment(headers: Mapping[str, str]) -> dict[str, str]:
    """Return the headers with each ``${NAME}`` replaced by that environment variable.

    Raises:
        RecipeError: the variable is not set.
    """
    return {header: _expand(header, value) for header, value in headers.items()}


def _expand(header: str, value: str) -> str:
    def variable(match: re.Match[str]) -> str:
        found = os.environ.get(match[1])
        if not found:
            raise RecipeError(f"header {header!r} needs the environment variable {match[1]}, which is not set")
        return found

    return _VARIABLE.sub(variable, value)
