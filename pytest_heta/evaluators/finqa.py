"""Exact match of financial answers with numeric tolerance, as UDA scores its FinQA subset.

Source: UDA-Benchmark (Hui et al. 2024, arXiv:2406.15187), ``fin``: numbers match within 1 % of their mean.
"""

from __future__ import annotations

import re
from typing import Any

from pytest_heta.evaluators.squad import squad_tokens

_TOLERANCE = 0.01
_DECIMAL = r"(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?"
_READ = re.compile(rf"(?P<open>\(\s*)?(?P<number>[-+]?{_DECIMAL})\s*(?P<percent>%)?(?:\s*\))?(?=[\s.;:]|$)", re.I)
_LAST = re.compile(rf"[-+]?{_DECIMAL}%?", re.I)
_NOT_IN_NUMBERS = str.maketrans("", "", "$€£¥,'\"[]")


def financial_match(prediction: str, golds: list[Any], *, strict: bool = False) -> float:
    """Return 1 where the prediction equals one of the gold numbers or texts, else 0. Blank golds do not count.

    A text that begins with a number is read as that number, scale words and all else after it ignored; a prediction
    that is no number is searched for its last one, officially without regard to thousands commas, strictly with.
    """
    text = prediction.strip().rstrip("'\".,\n ")
    stated = [str(gold) for gold in golds if gold is not None and str(gold).strip()]
    return float(any(_equal(text, gold, strict) for gold in stated))


def read_number(text: str) -> float | None:
    """Return the number that a text begins with, or None.

    Currency signs and thousands commas are ignored, a percent sign divides by 100, parentheses make it negative.
    """
    match = _READ.match(text.translate(_NOT_IN_NUMBERS).strip())
    if match is None:
        return None
    value = float(match["number"]) / (100 if match["percent"] else 1)
    return -value if match["open"] else value


def _equal(prediction: str, gold: str, strict: bool) -> bool:
    wanted = read_number(gold)
    if wanted is None:
        return squad_tokens(prediction) == squad_tokens(gold)
    number = read_number(prediction)
    if number is None:
        numbers = _LAST.findall(prediction.replace(",", "") if strict else prediction)
        number = read_number(numbers[-1]) if numbers else None
    return number is not None and _close(number, wanted)


def _close(one: float, other: float) -> bool:
    return one == other or abs(one - other) < _TOLERANCE * abs(one + other) / 2
