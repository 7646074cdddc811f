"""What went wrong in a build of heta-framework, which raises nothing: failed steps, and parts that are missing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from pytest_heta.errors import BuildError


def refuse_failed(record: Any, max_failed: int) -> None:
    """Refuse a build that is not whole.

    Raises:
        BuildError: a step failed, or steps went on without more than ``max_failed`` chunks or groups.
    """
    if record.status != "succeeded":
        raise BuildError(f"heta-framework's build {record.status}: {_steps(record)}")
    lost = lost_parts(record)
    if sum(lost.values()) > max_failed:
        told = ", ".join(f"{name} {count}" for name, count in sorted(lost.items()))
        raise BuildError(
            f"heta-framework's build is not whole, as it goes on where a language model fails: {told}; look at the "
            f"model, or allow so many with HetaRecipe(recipe, max_failed={sum(lost.values())})"
        )


def is_whole(record: Any, max_failed: int) -> bool:
    """Tell whether a build is one that ``refuse_failed`` lets pass."""
    return record.status == "succeeded" and sum(lost_parts(record).values()) <= max_failed


def lost_parts(record: Any) -> dict[str, int]:
    """Return how much each step has gone on without, by what it calls that, such as ``failed_chunk_ids``."""
    return {
        f"{artifact}.{name}": count
        for artifact, result in record.artifacts.items()
        for name, value in _parts(result)
        if name.startswith("failed_") and (count := _count(value))
    }


def _parts(result: Any) -> Iterator[tuple[str, Any]]:
    if is_dataclass(result):
        yield from ((field.name, getattr(result, field.name)) for field in fields(result))
    elif isinstance(result, Mapping):
        yield from ((str(name), value) for name, value in result.items())


def _count(value: Any) -> int:
    return value if isinstance(value, int) else len(value) if isinstance(value, list | tuple) else 0


def _steps(record: Any) -> str:
    failed = [f"step {step.step_name}: {step.error}" for step in record.step_records if step.error]
    hint = ""
    if any("tiktoken" in text for text in failed):
        hint = "; without network use SplitDocumentsConfig(encoding_name='unicode') or set TIKTOKEN_CACHE_DIR"
    elif any("request failed" in text for text in failed):
        hint = "; heta-framework does not say why: check the name, api_key and api_base of the recipe's models"
    return f"{'; '.join(failed) or 'no step says why'}{hint}"
