"""What identifies an evaluation in its journal, so that one run may take over what another has finished."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

from pytest_heta.engine.evaluation import Evaluation
from pytest_heta.engine.fingerprint import recipe_fingerprint
from pytest_heta.engine.journal import JournalHeader


def journal_header(evaluation: Evaluation, selection: dict[str, Any] | None = None) -> JournalHeader:
    """Return the header of an evaluation's journal."""
    manifest = evaluation.plan.manifest
    return JournalHeader(
        benchmark=f"{manifest.name}@{manifest.split}",
        benchmark_digest=sha256(manifest.model_dump_json().encode()).hexdigest(),
        recipe=evaluation.recipe.name,
        recipe_fingerprint=recipe_fingerprint(evaluation.recipe.recipe, evaluation.recipe.source_file),
        modes=evaluation.modes,
        evaluators={one.name: str(getattr(one, "definition", one.name)) for one in evaluation.evaluators},
        top_k=evaluation.config.top_k,
        selection=selection or {},
    )
