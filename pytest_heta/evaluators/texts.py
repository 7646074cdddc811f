"""Texts made comparable: for containment as they stand, and as whole tokens."""

from __future__ import annotations

import re
import unicodedata

# A script that is written without spaces gives one token a character; a sign belongs to a number only where it cannot
# be a hyphen or a range.
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u30ff\u3400-\u9fff\uf900-\ufaff"
_CHARACTER = rf"[^\W_{_UNSPACED}]"
_SIGN = rf"(?:(?<!\w)-|(?<!{_CHARACTER}))"
_DIGITS = r"(?>(?:\d+(?:,\d{3})+(?!\d)|\d+)(?:\.\d+)?)"
_NUMBER = rf"{_SIGN}{_DIGITS}(?!{_CHARACTER})"
_WITH_UNIT = rf"\d+(?:[.,]\d+)*{_CHARACTER}+"
_TOKEN = re.compile(rf"{_NUMBER}|{_WITH_UNIT}|{_CHARACTER}+|%|[{_UNSPACED}]")
_DROPPED = {ord(symbol): None for symbol in "$€£¥₹₩\u00ad\u200b\u200c\u200d\ufeff"} | {ord("\u2212"): "-"}


def squeeze(text: str) -> str:
    """Return the NFKC form of a text without case, each run of white space as one space, none at the ends."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def whole_tokens(text: str) -> list[str]:
    """Return the words and numbers of a text, by NFKC and without case.

    Punctuation and currency signs are dropped. ``%`` and ``percent`` are the same token. A number is one token without
    its thousands commas and trailing zeros: ``1,234.50`` is ``1234.5``, ``-5.0`` is ``-5``; ``10-20`` has no minus.
    A number that runs into a letter is a word: ``2B``, ``12.5kg``.
    """
    tokens = _TOKEN.findall(unicodedata.normalize("NFKC", text).translate(_DROPPED).casefold())
    return [_canonical(token) for token in tokens]


def contains_tokens(tokens: list[str], wanted: list[str]) -> bool:
    """Tell whether ``wanted``, which must not be empty, occurs in ``tokens`` without a gap."""
    return f" {' '.join(wanted)} " in f" {' '.join(tokens)} "


def _canonical(token: str) -> str:
    if token == "percent":
        return "%"
    if not token[-1].isdecimal():
        return token
    whole, _, decimals = token.replace(",", "").partition(".")
    return f"{whole}.{decimals.rstrip('0')}".rstrip(".")
