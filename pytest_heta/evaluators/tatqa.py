"""Exact match and F1 of answers over tables and text, as TAT-QA defines them (Zhu et al. 2021) and UDA applies them.

An answer is one string: its spans sorted and joined, each number with its scale applied. Numbers are compared as
text after that, so that an integer is not the same as a decimal: ``2.00`` is not ``2``. That, and the best over the
variants of a prediction, is how the official script counts; ``strict_scores`` compares values.

The official script aligns the bags of several spans one to one (the optimal assignment); as it joins the spans before
that, there is one bag on each side and nothing to assign.
"""

from __future__ import annotations

import re
import string
from collections.abc import Mapping, Sequence
from math import isnan
from typing import Any

from pytest_heta.evaluators.squad import bag_f1, strict_tokens

_SCALES = {"hundred": 100, "thousand": 1_000, "million": 1_000_000, "billion": 1_000_000_000, "percent": 0.01}
_NOT_IN_NUMBERS = str.maketrans("", "", "'\"\\$€£¥%(),[]")
_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLE = re.compile(r"\b(?:a|an|the)\b")
_DIGITS = re.compile(r"([+-]?\d+(?:\.\d+)?)|[+-]?\.\d+")
_WITH_WORD = re.compile(r"[\d.]+\s?[a-zA-Z]+")
_NEGATIVE = re.compile(r"\([\d.\s]+\)")
_PERCENT = re.compile(r"[\d.\s]+%")
_WHOLE_NUMBER = re.compile(r"(\()?\s*(-?\d+(?:\.\d+)?)\s*(%|hundred|thousand|million|billion|percent)?\s*\)?\.?")
_CURRENCY_AND_COMMAS = str.maketrans("", "", "$€£¥,")


def official_scores(prediction: str, gold: Mapping[str, Any]) -> tuple[float, float]:
    """Return exact match (0 or 1) and F1 (in [0, 1], two decimals); for a computed or counted answer F1 is the match.

    ``gold`` has ``answer`` (a number, a text or a list of texts), ``answer_type`` and ``scale``.
    """
    if not prediction:
        return 0.0, 0.0
    wanted = _normalized(_joined(gold_spans(gold), gold["scale"]))
    variants = [_joined([prediction], "")]
    number = _number(prediction) if _begins_with_number(prediction) and "%" not in prediction else None
    if number is not None:
        variants.append(f"{number:.4f}")
    match, f1 = max(_compare(_normalized(variant), wanted) for variant in variants)
    return match, match if _is_computed(gold) else f1


def strict_scores(prediction: str, gold: Mapping[str, Any]) -> tuple[float, float]:
    """Return exact match and F1 where numbers are values and a prediction is only what it says.

    A single number, with its scale, is rounded to the two decimals of the gold answer. Several spans match in any
    order, with nothing but "and" between them.
    """
    spans, scale = gold_spans(gold), gold["scale"]
    stated, wanted = _whole_number(prediction), _whole_number(f"{spans[0]} {scale}") if len(spans) == 1 else None
    if stated is not None and wanted is not None:
        unit = _SCALES.get(scale, 1)
        match = float(round(stated / unit, 2) == round(wanted / unit, 2))
        return match, match
    tokens = strict_tokens(prediction)
    golds = [strict_tokens(f"{span} {scale}") for span in spans]
    match = float(_consists_of(tokens, golds))
    f1 = bag_f1(tokens, [token for span in golds for token in span])
    return match, match if _is_computed(gold) else max(match, f1)


def gold_spans(gold: Mapping[str, Any]) -> list[str]:
    """Return the spans of a gold answer as texts; a count is written as an integer."""
    answer = gold["answer"]
    spans = [str(span) for span in (answer if isinstance(answer, list | tuple) else [answer])]
    return [str(int(float(span))) for span in spans] if gold["answer_type"] == "count" else spans


def _is_computed(gold: Mapping[str, Any]) -> bool:
    return gold["answer_type"] in {"arithmetic", "count"}


def _scale(text: str) -> float:
    return next((factor for word, factor in _SCALES.items() if word in text.lower()), 1)


def _begins_with_number(text: str) -> bool:
    words = text.translate(_NOT_IN_NUMBERS).split()
    try:
        return bool(words) and not isnan(float(words[0]))
    except ValueError:
        return False


def _number(text: str) -> float | None:
    """Read the first number with the scale, sign and percent found in the text; None for one like ``.5``."""
    digits = _DIGITS.search(text.translate(_NOT_IN_NUMBERS))
    if digits is None or digits[1] is None:
        return None
    value = float(digits[1]) if "." in digits[1] else int(digits[1])
    word = _WITH_WORD.search(text)
    sign, percent = -1 if _NEGATIVE.search(text) else 1, 0.01 if _PERCENT.search(text) else 1
    return round(value * (_scale(word[0]) if word else 1) * sign * percent, 4)


def _joined(spans: Sequence[str], scale: str) -> str:
    return " ".join(_scaled(span, scale) for span in sorted(spans))


def _scaled(span: str, scale: str) -> str:
    number = _number(span) if _begins_with_number(span) else None
    if number is None:
        return f"{span} {scale}" if scale else span
    return str(number if "%" in span else round(number, 2) * _scale(scale))


def _normalized(text: str) -> str:
    return " ".join(filter(None, map(_normalized_token, text.split(" "))))


def _normalized_token(token: str) -> str:
    token = token.lower()
    if not _begins_with_number(token):
        token = token.translate(_PUNCTUATION)
    if _begins_with_number(token):
        token = str(_number(token))
    return " ".join(_ARTICLE.sub(" ", token).split())


def _compare(predicted: str, gold: str) -> tuple[float, float]:
    one, other = set(predicted.split()), set(gold.split())
    common = len(one & other)
    precision, recall = common / len(one) if one else 1.0, common / len(other) if other else 1.0
    f1 = 2 * precision * recall / (precision + recall) if precision or recall else 0.0
    return float(predicted == gold), round(f1, 2)


def _whole_number(text: str) -> float | None:
    match = _WHOLE_NUMBER.fullmatch(text.translate(_CURRENCY_AND_COMMAS).strip().lower())
    if match is None:
        return None
    value = float(match[2]) * (0.01 if match[3] == "%" else _SCALES.get(match[3] or "", 1))
    return -value if match[1] else value


def _consists_of(tokens: Sequence[str], spans: Sequence[Sequence[str]]) -> bool:
    """Tell whether the tokens are the spans, each once, in any order, joined by nothing or "and"."""
    rest = f" {' '.join(tokens)} "
    for span in sorted(spans, key=len, reverse=True):
        wanted = f" {' '.join(span)} "
        if wanted not in rest:
            return False
        rest = rest.replace(wanted, " / ", 1)
    return all(token in {"/", "and"} for token in rest.split())
