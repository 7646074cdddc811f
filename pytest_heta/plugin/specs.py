"""What is to be evaluated: the product of benchmarks and recipes, from the options or from a suite file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from pytest_heta.engine.recipes import AnySpec, parse_recipe_specs
from pytest_heta.engine.selection import ALL_CASES, Selection
from pytest_heta.errors import UsageError
from pytest_heta.plugin.options import option_value
from pytest_heta.reports.policies import Policy, PolicyKind, parse_policy
from pytest_heta.reports.thresholds import Bound, Threshold, parse_threshold

BOUNDS: tuple[Bound, ...] = ("min", "max")
POLICIES: tuple[PolicyKind, ...] = ("max_drop", "significant", "non_inferior")


@dataclass(frozen=True)
class EvaluationSpec:
    """One benchmark and one recipe, and how to judge the second on the first.

    ``root`` is where relative paths start. ``gates`` bound the means of the run, ``case_thresholds`` each case,
    ``policies`` how far a mean may drop below that of ``baseline``. ``slices`` are the labels to report by.
    """

    benchmark: str
    recipe: AnySpec
    root: Path
    modes: tuple[str, ...] = ()
    top_k: int | None = None
    selection: Selection = ALL_CASES
    slices: tuple[str, ...] = ()
    gates: tuple[Threshold, ...] = ()
    case_thresholds: tuple[Threshold, ...] = ()
    policies: tuple[Policy, ...] = ()
    baseline: Path | None = None


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
        EvaluationSpec(benchmark, recipe, root)
        for recipe in parse_recipe_specs(recipes, root)
        for benchmark in benchmarks
    )
    return tuple(dict.fromkeys(with_options(spec, config) for spec in found))


def with_options(spec: EvaluationSpec, config: pytest.Config) -> EvaluationSpec:
    """Return the spec with what the options say: they add thresholds and policies, and replace the rest."""

    def given(flag: str) -> Any:
        return option_value(config, f"--heta-{flag}")

    baseline = given("baseline")
    return replace(
        selected_by_options(spec, config),
        slices=given("slice") or spec.slices,
        gates=spec.gates + thresholds({bound: given(bound) for bound in BOUNDS}),
        case_thresholds=spec.case_thresholds + thresholds({bound: given(f"case-{bound}") for bound in BOUNDS}),
        policies=spec.policies + policies({kind: given(kind.replace("_", "-")) for kind in POLICIES}),
        baseline=Path(config.invocation_params.dir, baseline) if baseline else spec.baseline,
    )


def selected_by_options(spec: EvaluationSpec, config: pytest.Config) -> EvaluationSpec:
    """Return the spec with what the options say of what is asked: modes, depth and cases."""

    def given(flag: str) -> Any:
        return option_value(config, f"--heta-{flag}")

    return replace(
        spec,
        modes=given("mode") or spec.modes,
        top_k=given("top-k") or spec.top_k,
        selection=Selection(
            sample=given("sample") or spec.selection.sample,
            stratify=given("stratify") or spec.selection.stratify,
            limit=given("limit") or spec.selection.limit,
            case_ids=given("case") or spec.selection.case_ids,
        ),
    )


def needs_baseline(config: pytest.Config) -> bool:
    """Tell whether the options ask for something that takes a baseline."""
    flags = ("--heta-update-baseline", "--heta-require-baseline")
    return any(option_value(config, flag) for flag in flags)


def thresholds(texts: Mapping[Bound, Iterable[str]]) -> tuple[Threshold, ...]:
    """Read thresholds, given as texts by their bound."""
    return tuple(parse_threshold(text, bound) for bound, group in texts.items() for text in group)


def policies(texts: Mapping[PolicyKind, Iterable[str]]) -> tuple[Policy, ...]:
    """Read policies, given as texts by their kind."""
    return tuple(parse_policy(text, kind) for kind, group in texts.items() for text in group)
