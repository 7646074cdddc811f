"""Sums that a question asks for in so many words, over the cells of one table row."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

_CHANGE = r"(?:change|increase|decrease|growth|decline|difference)"
_RATE = re.compile(
    rf"\bpercent(?:age)?\b.*\b{_CHANGE}\b|\b{_CHANGE}\b.*\bpercent(?:age)?\b|\b{_CHANGE} rate\b|\brate of {_CHANGE}\b",
    re.IGNORECASE,
)
_DIFFERENCE = re.compile(rf"\b{_CHANGE}\b", re.IGNORECASE)
_AVERAGE = re.compile(r"\b(?:average|mean)\b", re.IGNORECASE)
_SUM = re.compile(r"\b(?:total|sum|combined|altogether)\b", re.IGNORECASE)
_NOT_IN_NUMBERS = str.maketrans("", "", "$€£,%() ")

Columns = Mapping[str, str]


def calculation(question: str, named: Sequence[str]) -> Callable[[Columns], str | None] | None:
    """Return what computes the answer from the cells of a row by year, or None where the question asks for no sum.

    A change is that from the first to the last of the years that the question names, or from the year before where it
    names one; an average or total is over the years that it names, two or more. The function returns None for a row
    that lacks one of the years or has no number below it.
    """
    wanted = sorted(named)
    if _DIFFERENCE.search(question) and wanted:
        first, last = wanted[0] if len(wanted) > 1 else str(int(wanted[0]) - 1), wanted[-1]
        formula = _rate if _RATE.search(question) else _difference
        return lambda row: _applied(formula, row, [first, last])
    if len(wanted) > 1 and (_AVERAGE.search(question) or _SUM.search(question)):
        formula = _average if _AVERAGE.search(question) else _sum
        return lambda row: _applied(formula, row, wanted)
    return None


def _applied(formula: Callable[[Sequence[float]], str | None], row: Columns, wanted: Sequence[str]) -> str | None:
    numbers = [_number(row.get(year, "")) for year in wanted]
    known = [number for number in numbers if number is not None]
    return formula(known) if len(known) == len(numbers) else None


def _rate(numbers: Sequence[float]) -> str | None:
    first, last = numbers
    return f"{_written(100 * (last - first) / abs(first))}%" if first else None


def _difference(numbers: Sequence[float]) -> str:
    return _written(numbers[1] - numbers[0])


def _average(numbers: Sequence[float]) -> str:
    return _written(sum(numbers) / len(numbers))


def _sum(numbers: Sequence[float]) -> str:
    return _written(sum(numbers))


def _written(number: float) -> str:
    return f"{number:.2f}".rstrip("0").rstrip(".")


def _number(cell: str) -> float | None:
    """Return the number in a cell: parentheses make it negative; None for a dash."""
    try:
        value = float(cell.translate(_NOT_IN_NUMBERS))
    except ValueError:
        return None
    return -value if "(" in cell else value
