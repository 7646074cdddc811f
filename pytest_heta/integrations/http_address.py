"""An address as a recipe: how a service is asked stands before the ``#``, where things are in its answer behind it.

    https://search.example/search?q={query}&k={top_k}#results=hits.hits&document_id=_id&score=_score&timeout=10

What stands behind the ``#`` is sent to no server. It is written like a query string of the fields of HttpRecipe.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from math import inf
from typing import Any
from urllib.parse import unquote, urlsplit

from pytest_heta.errors import RecipeError, UnknownNameError, UsageError
from pytest_heta.integrations.http import HttpRecipe
from pytest_heta.integrations.templates import placeholders
from pytest_heta.masking import MASK, is_secret_name, mask, mask_text

_SCHEME = re.compile(r"https?://", re.IGNORECASE)
_HOST = re.compile(r"[\w.-]+|[0-9A-Fa-f:.]+")
_USER = re.compile(r"(?<=://)[^?]*@")
_TOKEN = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_VARIABLE = re.compile(r"\$\{\w+\}")


def is_address(text: str) -> bool:
    """Tell whether a recipe specification is the address of a service."""
    return _SCHEME.match(text.strip()) is not None


def recipe_of_address(text: str) -> HttpRecipe:
    """Return the recipe that an address with its options stands for; nothing is asked yet.

    The options are separated by ``&`` and their values percent-decoded (``%26`` is an ``&``, ``%25`` a ``%``); a ``+``
    is a plus. They are fields of HttpRecipe, and ``header.NAME`` and ``metadata.NAME`` with any names. A path that is
    ``.`` means the whole answer, or the whole hit; ``results``, ``score``, ``text`` or ``answer`` without a value
    says that there is no such thing. Without ``name`` the recipe goes by its host and port.

    Raises:
        UsageError: the address or an option cannot be used; the message holds no secret.

    """
    address, _, fragment = text.strip().partition("#")
    shown = mask_text(_USER.sub(f"{MASK}@", address))
    try:
        return _recipe(address, fragment)
    except (ValueError, UnknownNameError, RecipeError) as error:
        # HttpRecipe says the address first, with all that is in it.
        raise UsageError(f"recipe {shown!r}: {str(error).removeprefix(f'{address}: ')}") from None


def _recipe(address: str, fragment: str) -> HttpRecipe:
    fields = {"name": _host(address), **_fields(_options(fragment))}
    if "query" not in placeholders([address, fields.get("request")]):
        raise ValueError("neither the address nor request holds {query}")
    return HttpRecipe(address, **fields)


def _host(address: str) -> str:
    """Return host and port as they are written, in lower case.

    Raises:
        ValueError: there is a user, a character that no address can hold, no host, or a port that is none.

    """
    authority = re.split("[/?]", address.partition("://")[2], maxsplit=1)[0]
    if "@" in authority:
        raise ValueError("no user or password may stand in it: use #header.Authorization=Basic ${VARIABLE}")
    if not address.isprintable():
        raise ValueError("it holds a character that must be percent-encoded")
    try:
        parts = urlsplit(address)
        host = parts.hostname
    except ValueError:
        host = None
    if not host or not _HOST.fullmatch(host):
        raise ValueError("it names no host, or none that can be asked")
    try:
        if parts.port == 0:
            raise ValueError
    except ValueError:
        raise ValueError("its port must be a number from 1 to 65535") from None
    return authority.lower()


def _options(fragment: str) -> dict[str, str]:
    """Return the options and their values as they are written.

    Raises:
        UnknownNameError: there is no such option.
        ValueError: one has no value, or is given twice.

    """
    options: dict[str, str] = {}
    for option in filter(None, fragment.split("&")):
        key, equals, value = option.partition("=")
        group, _, name = key.partition(".")
        if key not in _READERS and not (group in _GROUPS and name):
            raise _unknown(_shown(key))
        if not equals:
            raise ValueError(f"option {_shown(key)!r} must be {_shown(key)}=VALUE")
        # Names of headers are the same in any case.
        if key in options or (group == "header" and key.lower() in map(str.lower, options)):
            raise ValueError(f"option {_shown(key)!r} is given twice")
        options[key] = value
    return options


def _unknown(key: str) -> UnknownNameError:
    # With the name that was given, a group that is misspelt has a near one.
    name = key.partition(".")[2] or "NAME"
    return UnknownNameError("option", key, (*_READERS, *(f"{group}.{name}" for group in _GROUPS)))


def _shown(key: str) -> str:
    """Return what may be told of an option's name: with a mistake in it, there may be a secret behind it."""
    return mask_text(re.split(r"[\s:]", key, maxsplit=1)[0])


def _fields(options: dict[str, str]) -> dict[str, Any]:
    """Return the fields of HttpRecipe that the options mean.

    Raises:
        ValueError: a value cannot be used.

    """
    fields: dict[str, Any] = {}
    for key, written in options.items():
        group, _, name = key.partition(".")
        try:
            value = _decoded(written)
            if key in _READERS:
                fields[key] = _READERS[key](value)
            else:
                fields.setdefault(_GROUPS[group], {})[name] = (
                    _path(value) if group == "metadata" else _header(name, value)
                )
        except ValueError as error:
            raise ValueError(f"option {_shown(key)!r} {error}") from None
    return fields


def _decoded(value: str) -> str:
    try:
        return unquote(value, errors="strict")
    except UnicodeDecodeError:
        raise ValueError("is percent-encoded, but not UTF-8") from None


def _header(name: str, value: str) -> str:
    if not _TOKEN.fullmatch(name):
        raise ValueError("is not a name that a header can have")
    if not (value.isascii() and value.isprintable()):
        raise ValueError("must be printable ASCII")
    if mask_text(value) != value or (is_secret_name(name) and not _VARIABLE.search(value)):
        # On a command line it would be in histories, process lists and logs.
        raise ValueError("holds a secret: put it into an environment variable, and write ${VARIABLE} for it")
    return value


def _path(value: str) -> str:
    if not value:
        raise ValueError("must be a dotted path, or . for the whole")
    return "" if value == "." else value


def _optional_path(value: str) -> str | None:
    return _path(value) if value else None


def _body(value: str) -> Any:
    try:
        body = json.loads(value, parse_constant=_no_constant)
    except ValueError as error:
        raise ValueError(f"is not JSON: {error}") from None
    if mask(body) != body:
        raise ValueError("holds a secret: take it from the environment, in a header or in a recipe file")
    return body


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is none")


def _modes(value: str) -> tuple[str, ...]:
    modes = tuple(mode.strip() for mode in value.split(","))
    if not all(modes) or len(set(modes)) < len(modes):
        raise ValueError(f"must be different names with commas between them, not {value!r}")
    return modes


def _method(value: str) -> str:
    if not _TOKEN.fullmatch(value):
        raise ValueError(f"must be a method of HTTP, not {value!r}")
    return value.upper()


def _name(value: str) -> str:
    if not value.strip() or not value.isprintable():
        raise ValueError(f"must be a name that can be printed, not {value!r}")
    return value.strip()


def _positive(value: str) -> float:
    try:
        number = float(value)
    except ValueError:
        number = 0
    if not 0 < number < inf:
        raise ValueError(f"must be a number above 0, not {value!r}")
    return number


def _count(value: str) -> int:
    if not value.isdecimal() or int(value) < 1:
        raise ValueError(f"must be a whole number from 1, not {value!r}")
    return int(value)


_READERS: dict[str, Callable[[str], Any]] = {
    "results": _optional_path,
    "document_id": _path,
    "score": _optional_path,
    "text": _optional_path,
    "answer": _optional_path,
    "request": _body,
    "method": _method,
    "modes": _modes,
    "timeout": _positive,
    "requests_per_second": _positive,
    "max_concurrency": _count,
    "name": _name,
}
"""The options by their names, and how the value of each is read."""

_GROUPS = {"header": "headers", "metadata": "metadata"}
"""What stands before the dot of an option with a name of the user's own, and the field that it belongs to."""
