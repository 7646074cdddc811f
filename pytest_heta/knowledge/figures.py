"""Numbers and dates in a text, and which of them a question asks for."""

from __future__ import annotations

import re
from typing import Literal

Asked = Literal["year", "date", "percentage", "count", "quantity", "text"]

_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|"
    r"nov(?:ember)?|dec(?:ember)?)\.?"
)
_YEAR = r"(?:1[5-9]|20)\d\d"
_IN_YEAR = rf"(?<![\w.,$€£]){_YEAR}(?![\w%]|[.,]\d)"
# March 4, 1789; 4 March 1789; March 1789; March 4; 1789
_DATE = re.compile(
    rf"\b(?:{_MONTH}\s\d{{1,2}}(?:st|nd|rd|th)?(?:\s?,\s?|\s){_YEAR}\b|(?:\d{{1,2}}\s)?{_MONTH},?\s{_YEAR}\b|"
    rf"{_MONTH}\s\d{{1,2}}(?![\w.,]?\d))|{_IN_YEAR}",
    re.IGNORECASE,
)
_ONLY_YEAR = re.compile(_IN_YEAR)
_DIGITS = r"(?:\d{1,3}(?:,\d{3})+|(?!0\d)\d+)(?:\.\d+)?"
# 1,234.5 and (12.3)% and $ 7, with what belongs to the number; the digits inside a word such as COVID19 are none.
_NUMBER = re.compile(
    rf"\(\s?[$€£]?\s?{_DIGITS}\s?%?\s?\)\s?%?|(?:(?<!\w)-)?[$€£]?\s?(?<![\w.,]){_DIGITS}\s?%?(?![\w-])"
)
_NUMERAL = re.compile(
    rf"{_NUMBER.pattern}|\b(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)\b", re.IGNORECASE
)
_PLACE_IN_DOCUMENT = re.compile(r"\b(?:note|item|table|figure|section|chapter|page|part|level)s?\s\d+", re.IGNORECASE)
_QUESTIONS: tuple[tuple[Asked, re.Pattern[str]], ...] = (
    ("year", re.compile(r"\b(?:what|which) years?\b", re.IGNORECASE)),
    ("date", re.compile(r"^\W*when\b|\bwhen (?:is|are|was|were|do|does|did|has|have)\b|\bwhat date\b", re.IGNORECASE)),
    ("percentage", re.compile(r"\bpercent(?:age)?\b", re.IGNORECASE)),
    ("count", re.compile(r"\bhow many\b", re.IGNORECASE)),
    (
        "quantity",
        re.compile(
            r"\bhow (?:much|old|long|large|big|high|tall|far|often)\b|"
            r"\bwhat (?:was|is|were|are) (?:the )?(?:\w+ ){0,4}?"
            r"(?:number|amount|total|sum|ratio|rate|average|difference|change|growth)\b",
            re.IGNORECASE,
        ),
    ),
)


def asked_for(question: str) -> Asked:
    """Return what answers a question: a figure of some kind, or a text."""
    return next((kind for kind, pattern in _QUESTIONS if pattern.search(question)), "text")


def figures(kind: Asked, text: str) -> dict[str, int]:
    """Return the figures of a kind in a text and where each stands first; none where the kind is ``text``.

    A quantity is no part of a date and no number of a note or table. A count may be a word (two to twelve); a
    percentage ends in a percent sign.
    """
    if kind == "text":
        return {}
    if kind in ("year", "date"):
        return _found(_ONLY_YEAR if kind == "year" else _DATE, text)
    for pattern in (_DATE, _PLACE_IN_DOCUMENT):
        text = pattern.sub(lambda match: "\0" * len(match.group()), text)
    numbers = _found(_NUMERAL if kind == "count" else _NUMBER, text)
    return {number: at for number, at in numbers.items() if kind != "percentage" or number.endswith("%")}


def years(text: str) -> list[str]:
    """Return the years that a text names, each once, in its order."""
    return list(_found(_ONLY_YEAR, text))


def _found(pattern: re.Pattern[str], text: str) -> dict[str, int]:
    found: dict[str, int] = {}
    for match in pattern.finditer(text):
        found.setdefault(match.group().strip(), match.start())
    return found
