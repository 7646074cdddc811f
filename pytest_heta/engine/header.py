"""What identifies an evaluation in its journal, so that one run may take over what another has finished."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

from pytest_heta.engine.evaluation import Evaluation
from pytest_heta.engine.fingerprint import recipe_fingerprint
from pytest_heta.engine.journal import JournalHeader
from pytest_heta.engine.plan import Plan


def journal_header(evaluation: Evaluation, selection: dict[str, Any] | None = None) -> JournalHeader:
    """Return the header of an evaluation's journal."""
    manifest = evaluation.plan.manifest
    return JournalHeader(
        benchmark=f"{manifest.name}@{manifest.split}",
        benchmark_digest=plan_digest(evaluation.plan),
        recipe=evaluation.recipe.name,
        recipe_fingerprint=recipe_fingerprint(evaluation.recipe.recipe, evaluation.recipe.source_file),
        modes=evaluation.modes,
        evaluators={one.name: str(getattr(one, "definition", one.name)) for one in evaluation.evaluators},
        top_k=evaluation.config.top_k,
        depth=evaluation.top_k,
        selection=selection or {},
    )


def plan_digest(plan: Plan) -> str:
    """Return a digest of what is asked and of the gold labels: where one of them changes, old scores are worth nothing.

    The documents are not looked at: a recipe need not read them at all.
    """
    digest = sha256(plan.manifest.model_dump_json().encode())
    for case in plan.all_cases:
        digest.update(b"\n" + case.model_dump_json().encode())
    return digest.hexdigest()
