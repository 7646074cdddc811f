"""Secrets, told by their names or their look, and masked wherever something is written down."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

MASK = "***"

_SECRET_NAME = re.compile(
    r"(?:^|[_.])(?:pass(?:word|wd|phrase)?|pwd|secrets?|token|key|(?:api|access|auth|private|secret)_?(?:keys?|tokens?)"
    r"|credentials?|auth|authorization|bearer|cookies?|sig|signature|dsn)$"
)
_NO_SECRET_NAME = re.compile(
    r"(?:^|_)(?:cache|document|foreign|object|partition|primary|public|source|sort)_(?:key|token)$"
)
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")

_URL_USER = re.compile(r"(?P<start>(?<![a-z0-9+.-])[a-z][a-z0-9+.-]{0,30}://)[^/\s]*@", re.IGNORECASE)
# The name and what stands before the value: within the value of a harmless name, such as a URL, there may be a secret
# one. Nothing here looks further than it must, as a text may be long.
_ASSIGNED = re.compile(r"""(?<![\w.-])(?P<name>[\w.-]+)["']?\s*[=:]\s*""")
_VALUE = re.compile(r""""[^"]*"|'[^']*'|[^\s&;,"'}\])]+""")
_AUTHORIZED = re.compile(r"\b(?P<kind>bearer|basic)\s+[A-Za-z0-9._~+/=-]{6,}", re.IGNORECASE)
_KNOWN_TOKENS = re.compile(
    r"\b(?:sk-[A-Za-z0-9_-]{16,}|gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,}|hf_[A-Za-z0-9]{16,}|glpat-[\w-]{16,}"
    r"|xox[abprs]-[\w-]{10,}|AKIA[0-9A-Z]{16}|ASIA[0-9A-Z]{16}|AIza[\w-]{30,}|eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*)"
)


def is_secret_name(name: str) -> bool:
    """Tell whether what stands under a name is a secret: ``password``, ``api_key``, ``X-Auth-Token``, ``dbPassword``.

    ``max_tokens``, ``source_key``, ``public_key`` and the like are none.
    """
    plain = _CAMEL.sub("_", name.lstrip("-")).lower().replace("-", "_")
    return bool(_SECRET_NAME.search(plain)) and not _NO_SECRET_NAME.search(plain)


def mask_text(text: str) -> str:
    """Return a text without the secrets that can be told by their look or their name.

    Users and passwords in URLs, values assigned to a secret name (``api_key=…``, ``"password": "…"``), credentials
    after ``Bearer`` or ``Basic``, and tokens in the form of the well-known services become ``***``.
    """
    text = _URL_USER.sub(rf"\g<start>{MASK}@", text)
    text = _AUTHORIZED.sub(rf"\g<kind> {MASK}", text)
    return _KNOWN_TOKENS.sub(MASK, _mask_assigned(text))


def _mask_assigned(text: str) -> str:
    parts, end = [], 0
    for match in _ASSIGNED.finditer(text):
        start = match.end()
        if start < end or not is_secret_name(match["name"]):
            continue
        if value := _VALUE.match(text, start):
            quote = text[start] if text[start] in "\"'" else ""
            parts += [text[end:start], quote, MASK, quote]
            end = value.end()
    return "".join([*parts, text[end:]])


def mask(value: Any, secret: bool = False) -> Any:
    """Return JSON without secrets: texts as ``mask_text`` has them, and all that stands under a secret name as ``***``.

    Numbers, booleans and null stay, whatever their name; ``secret`` says that the value itself stands under one.
    """
    if isinstance(value, str):
        return MASK if secret and value else mask_text(value)
    if isinstance(value, Mapping):
        return {key: mask(item, secret or is_secret_name(str(key))) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [mask(item, secret) for item in value]
    return value
