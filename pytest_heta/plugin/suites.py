"""Suite files: ``*.heta.toml`` says in a file what the options say on the command line.

benchmark = "handbook"                  # or a list; relative paths start at the suite file
recipe = ["../recipes/bm25.py", "../recipes/vector.py"]
modes = ["vector_search"]               # optional, like the rest
[min]
"ndcg@10" = 0.65
[case-min]
"recall@100" = 0.5
"""

from __future__ import annotations

import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

from pytest_heta.engine.recipes import RecipeSpec, parse_recipe_specs
from pytest_heta.engine.selection import Selection
from pytest_heta.errors import DataError, UsageError
from pytest_heta.plugin.specs import BOUNDS, POLICIES, EvaluationSpec, policies, thresholds

_KEYS = (
    *("benchmark", "recipe", "modes", "top-k", "limit", "sample", "stratify", "cases", "slices", "baseline"),
    *("min", "max", "case-min", "case-max", "max-drop", "significant", "non-inferior"),
)


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
    baseline = _text(table, "baseline")
    common = EvaluationSpec(
        benchmark="",
        recipe=RecipeSpec("", root, None),
        root=root,
        modes=tuple(_texts(table, "modes")),
        top_k=_number(table, "top-k"),
        selection=Selection(
            sample=_number(table, "sample"),
            stratify=_text(table, "stratify"),
            limit=_number(table, "limit"),
            case_ids=tuple(_texts(table, "cases")),
        ),
        slices=tuple(_texts(table, "slices")),
        gates=thresholds({bound: _bounds(table, bound) for bound in BOUNDS}),
        case_thresholds=thresholds({bound: _bounds(table, f"case-{bound}") for bound in BOUNDS}),
        policies=policies({kind: _bounds(table, kind.replace("_", "-")) for kind in POLICIES}),
        baseline=root / baseline if baseline else None,
    )
    return tuple(
        replace(common, benchmark=benchmark, recipe=recipe)
        for recipe in parse_recipe_specs(_required(table, "recipe"), root)
        for benchmark in _required(table, "benchmark")
    )


def _texts(table: dict[str, Any], key: str) -> list[str]:
    value = table.get(key, [])
    texts = [value] if isinstance(value, str) else value
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise UsageError(f"{key} must be a text or a list of texts, not {value!r}")
    return texts


def _required(table: dict[str, Any], key: str) -> list[str]:
    texts = _texts(table, key)
    if not texts:
        raise UsageError(f"{key} is missing")
    return texts


def _text(table: dict[str, Any], key: str) -> str | None:
    value = table.get(key)
    if value is not None and not isinstance(value, str):
        raise UsageError(f"{key} must be a text, not {value!r}")
    return value


def _number(table: dict[str, Any], key: str) -> int | None:
    value = table.get(key)
    if value is not None and (type(value) is not int or value < 1):
        raise UsageError(f"{key} must be a whole number from 1, not {value!r}")
    return value


def _bounds(table: dict[str, Any], key: str) -> list[str]:
    bounds = table.get(key, {})
    if not isinstance(bounds, dict):
        raise UsageError(f"[{key}] must be a table of METRIC = VALUE")
    return [f"{metric}={value}" for metric, value in bounds.items()]
