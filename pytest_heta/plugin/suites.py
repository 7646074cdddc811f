"""Suite files: ``*.heta.toml`` says in a file what the options say on the command line.

benchmark = "handbook"                  # or a list; relative paths start at the suite file
recipe = ["../recipes/bm25.py", "../recipes/vector.py"]
modes = ["vector_search"]               # optional, like top-k and limit
[min]
"ndcg@10" = 0.65
[case-min]
"recall@100" = 0.5
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from pytest_heta.engine.recipes import parse_recipe_spec
from pytest_heta.errors import DataError, UsageError
from pytest_heta.plugin.specs import EvaluationSpec, thresholds

SUFFIX = ".heta.toml"
_KEYS = ("benchmark", "recipe", "modes", "top-k", "limit", "min", "max", "case-min", "case-max")


def read_suite(path: Path) -> tuple[EvaluationSpec, ...]:
    """Return the evaluations that a suite file asks for.

    Raises:
        DataError: where the file is no TOML, or something in it cannot be used; the message names the file.

    """
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
        return _specs(table, path.parent)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, UsageError) as error:
        raise DataError.at(path, None, str(error)) from error


def _specs(table: dict[str, Any], root: Path) -> tuple[EvaluationSpec, ...]:
    unknown = [key for key in table if key not in _KEYS]
    if unknown:
        raise UsageError(f"unknown key {unknown[0]!r} (known: {', '.join(_KEYS)})")
    return tuple(
        EvaluationSpec(
            benchmark=benchmark,
            recipe=parse_recipe_spec(recipe, root),
            root=root,
            modes=tuple(_texts(table, "modes", required=False)),
            top_k=_number(table, "top-k"),
            limit=_number(table, "limit"),
            gates=_thresholds(table, ""),
            case_thresholds=_thresholds(table, "case-"),
        )
        for recipe in _texts(table, "recipe")
        for benchmark in _texts(table, "benchmark")
    )


def _texts(table: dict[str, Any], key: str, *, required: bool = True) -> list[str]:
    value = table.get(key, [])
    texts = [value] if isinstance(value, str) else value
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise UsageError(f"{key} must be a text or a list of texts, not {value!r}")
    if required and not texts:
        raise UsageError(f"{key} is missing")
    return texts


def _number(table: dict[str, Any], key: str) -> int | None:
    value = table.get(key)
    if value is not None and (type(value) is not int or value < 1):
        raise UsageError(f"{key} must be a whole number from 1, not {value!r}")
    return value


def _thresholds(table: dict[str, Any], prefix: str) -> tuple[Any, ...]:
    texts: dict[str, list[str]] = {}
    for bound in ("min", "max"):
        bounds = table.get(prefix + bound, {})
        if not isinstance(bounds, dict):
            raise UsageError(f"[{prefix}{bound}] must be a table of METRIC = VALUE")
        texts[bound] = [f"{metric}={value}" for metric, value in bounds.items()]
    return thresholds(texts)
