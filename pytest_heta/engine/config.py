"""How a run is carried out."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pytest_heta.engine.selection import ALL_CASES, Selection


@dataclass(frozen=True)
class RunnerConfig:
    """Settings of a run.

    Attributes:
        top_k: results asked for a query; None stands for the deepest k of the evaluators, deepened where chunk hits
            collapse to fewer distinct documents.
        selection: which of the cases are asked.
        concurrency: queries under way at once in one process, >= 1.
        timeout: seconds a query may take; None for no bound.
        attempts: how often a query is tried in all, where its error is worth another try, >= 1.
        open_knowledge_bases: KBs held open at once in one process, >= 1.
        kb_cache: the folder of the KB cache; None builds every KB anew and keeps none.
        rebuild: build even what the cache held before this run.
        keep_texts: record the texts of the hits.

    """

    top_k: int | None = None
    selection: Selection = ALL_CASES
    concurrency: int = 8
    timeout: float | None = None
    attempts: int = 4
    open_knowledge_bases: int = 4
    kb_cache: Path | None = None
    rebuild: bool = False
    keep_texts: bool = False
