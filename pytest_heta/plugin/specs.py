"""What is to be evaluated: the product of benchmarks and recipes, from the options or from a suite file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from pytest_heta.engine.recipes import RecipeSpec, parse_recipe_spec
from pytest_heta.errors import UsageError
from pytest_heta.plugin.options import option_value
from pytest_heta.reports.thresholds import Threshold, parse_threshold

BOUNDS = (("min", "--heta-min", "--heta-case-min"), ("max", "--heta-max", "--heta-case-max"))


@dataclass(frozen=True)
class EvaluationSpec:
    """One benchmark and one recipe, and how to judge the second on the first.

    ``root`` is where relative paths start. ``gates`` bound the means of the run, ``case_thresholds`` each case.
    """

    benchmark: str
    recipe: RecipeSpec
    root: Path
    modes: tuple[str, ...] = ()
    top_k: int | None = None
    limit: int | None = None
    gates: tuple[Threshold, ...] = ()
    case_thresholds: tuple[Threshold, ...] = ()


def specs_of_options(config: pytest.Config) -> tuple[EvaluationSpec, ...]:
    """Return the product of ``--heta-benchmark`` and ``--heta-recipe``.

    Raises:
        UsageError: where one is given without the other, or something in them cannot be read.

    """
    root = config.invocation_params.dir
    benchmarks, recipes = option_value(config, "--heta-benchmark"), option_value(config, "--heta-recipe")
    if bool(benchmarks) != bool(recipes):
        given, missing = ("--heta-benchmark", "--heta-recipe") if benchmarks else ("--heta-recipe", "--heta-benchmark")
        raise UsageError(f"{given} needs {missing}: a recipe is evaluated on a benchmark")
    found = tuple(
        EvaluationSpec(benchmark, parse_recipe_spec(recipe, root), root)
        for recipe in recipes
        for benchmark in benchmarks
    )
    return tuple(dict.fromkeys(with_options(spec, config) for spec in found))


def with_options(spec: EvaluationSpec, config: pytest.Config) -> EvaluationSpec:
    """Return the spec with what the options say: they replace its modes, depth and limit, and add thresholds."""
    return replace(
        spec,
        modes=option_value(config, "--heta-mode") or spec.modes,
        top_k=option_value(config, "--heta-top-k") or spec.top_k,
        limit=option_value(config, "--heta-limit") or spec.limit,
        gates=spec.gates + thresholds({bound: option_value(config, flag) for bound, flag, _ in BOUNDS}),
        case_thresholds=spec.case_thresholds
        + thresholds({bound: option_value(config, flag) for bound, _, flag in BOUNDS}),
    )


def thresholds(texts: Mapping[Any, Any]) -> tuple[Threshold, ...]:
    """Read thresholds, given as texts by their bound."""
    return tuple(parse_threshold(text, bound) for bound, group in texts.items() for text in group)
