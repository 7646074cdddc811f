"""Token F1 as SQuAD defines it (Rajpurkar et al. 2016, evaluate-v1.1.py), and a form that keeps numbers whole."""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Sequence

from pytest_heta.evaluators.texts import whole_tokens

_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLE = re.compile(r"\b(?:a|an|the)\b")


def squad_tokens(text: str) -> list[str]:
    """Return the words in lower case, without ASCII punctuation, then without the articles a, an, the."""
    return _ARTICLE.sub(" ", text.lower().translate(_PUNCTUATION)).split()


def strict_tokens(text: str) -> list[str]:
    """Return the words without articles, where ``1,234`` is ``1234`` and ``1.5`` is not ``15``."""
    return [token for token in whole_tokens(text) if token not in {"a", "an", "the"}]


def bag_f1(predicted: Sequence[str], gold: Sequence[str]) -> float:
    """Return the F1, in [0, 1], of two bags of tokens; 0 where they share none, or where both are empty."""
    common = (Counter(predicted) & Counter(gold)).total()
    return 2 * common / (len(predicted) + len(gold)) if common else 0.0
