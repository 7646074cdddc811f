"""What processes on several machines must agree on, so that their results are those of one evaluation."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from hashlib import sha256
from importlib import metadata

from pytest_heta.engine.documents import digest_documents
from pytest_heta.engine.evaluation import Evaluation
from pytest_heta.engine.fingerprint import recipe_facts
from pytest_heta.engine.header import plan_digest
from pytest_heta.engine.knowledge_bases import needs_documents
from pytest_heta.errors import RecipeError
from pytest_heta.records import KnowledgeBaseReport

_DIGEST = re.compile("[0-9a-f]{32,}")
_SHOWN = 12
"""How much of a digest is shown."""

FACTS = "facts"
"""Where the metadata of a shard's report has them, as pairs: the words may look like names of secrets."""

Facts = dict[str, str]
"""What is known of an evaluation, by the words for it."""


def evaluation_facts(evaluation: Evaluation) -> Facts:
    """Return what is known of an evaluation before its documents are read.

    Of a recipe that cannot say what identifies it, such as one that was defined in no file, nothing is.
    """
    metrics = {one.name: str(getattr(one, "definition", one.name)) for one in evaluation.evaluators}
    return {
        "pytest-heta": metadata.version("pytest-heta"),
        "the cases and gold labels": plan_digest(evaluation.plan),
        "the query modes": ", ".join(evaluation.modes),
        "how many results are asked for": str(evaluation.top_k),
        **{f"the metric {name}": definition for name, definition in metrics.items()},
        **_recipe_facts(evaluation),
    }


async def document_facts(evaluation: Evaluation, bases: Iterable[KnowledgeBaseReport]) -> Facts:
    """Return what is known of the documents that knowledge bases were made from; this may read them once more."""
    if not needs_documents(evaluation.recipe.recipe):
        return {}
    units = {unit.unit.unit_id: unit.unit for unit in evaluation.plan.units}
    return {
        documents_of(base.unit_id): base.manifest.get("documents_digest")
        or await digest_documents(evaluation.plan, units[base.unit_id])
        for base in bases
        if base.error is None
    }


def documents_of(unit_id: str) -> str:
    """Return the words for the documents of a run unit."""
    return f"the documents of run unit {unit_id!r}"


def disagreements(here: Mapping[str, str], there: Mapping[str, str]) -> list[str]:
    """Return one phrase for each fact that is not the same on both sides."""
    return [
        f"{what}: {_shown(there, what)} there, {_shown(here, what)} here"
        for what in sorted(here.keys() | there.keys())
        if here.get(what) != there.get(what)
    ]


def _shown(facts: Mapping[str, str], what: str) -> str:
    fact = facts.get(what, "none")
    return fact[:_SHOWN] if _DIGEST.fullmatch(fact) else fact


def _recipe_facts(evaluation: Evaluation) -> Facts:
    try:
        facts = recipe_facts(evaluation.recipe.recipe, evaluation.recipe.source_file)
    except RecipeError:
        return {}
    settings = sha256(json.dumps(facts["recipe"], sort_keys=True).encode()).hexdigest()
    return {
        "the recipe's fingerprint (settings, environment variables, paths, versions of libraries)": settings,
        **{f"the recipe's file {name}": digest for name, digest in facts["sources"].items()},
        **{f"the library {name}": version or "none" for name, version in facts["libraries"].items()},
    }
