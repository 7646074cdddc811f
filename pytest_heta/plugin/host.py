"""A worker on another machine than the one that reports, which shares no folder with it."""

from __future__ import annotations

import platform
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NotRequired, TypedDict

import pytest

from pytest_heta.engine.agreement import Facts, disagreements, document_facts
from pytest_heta.errors import UsageError
from pytest_heta.plugin.identity import HOST
from pytest_heta.records import KnowledgeBaseReport

if TYPE_CHECKING:
    from pytest_heta.plugin.anchored import AnchoredEvaluation


class HostNews(TypedDict):
    """What a host tells with a result: its name, and facts that it has not told yet."""

    host: str
    facts: NotRequired[Facts]
    documents: NotRequired[Facts]


class Host:
    """What a worker has been told because it runs elsewhere, and what it tells.

    ``runs`` is a folder that holds what the resumed run has finished.
    """

    def __init__(self, told: dict[str, Any], run_id: str) -> None:
        """Unpack the journals."""
        self._facts: dict[str, Facts] = told["facts"]
        self._folder = tempfile.TemporaryDirectory(prefix="heta-run-", ignore_cleanup_errors=True)
        self.runs = Path(self._folder.name)
        self._introduced = set(self._facts)
        for name, text in told["journals"].items():
            path = self.runs / run_id / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")

    def check(self, prefix: str, anchored: AnchoredEvaluation, root: Path) -> None:
        """Compare an evaluation that the options name with that of the machine that reports.

        Raises:
            UsageError: they are not the same.

        """
        here = f"{platform.node()}:{root}"
        if prefix not in self._facts:
            raise UsageError(
                f"{prefix} is not what the machine that reports calls it ({', '.join(self._facts)}): pytest's root "
                f"folder, here {here}, must lie at the same place of the suite on all machines; see --rootdir"
            )
        differences = disagreements(self._facts[prefix], anchored.facts_to_agree())
        if differences:
            raise UsageError(unlike(here, differences))

    def news(self, prefix: str, anchored: AnchoredEvaluation, bases: Sequence[KnowledgeBaseReport]) -> HostNews:
        """Return what the machine that reports must know to trust a result: each fact once, with the first of them."""
        told = HostNews(host=platform.node())
        if prefix not in self._introduced:
            self._introduced.add(prefix)
            told["facts"] = anchored.facts_to_agree()
        if bases:
            told["documents"] = anchored.loop.run(document_facts(anchored.evaluation, bases))
        return told

    def close(self) -> None:
        """Remove the folder."""
        self._folder.cleanup()


def host_of(config: pytest.Config) -> Host | None:
    """Return the host of a worker on another machine; None in all other processes."""
    told = getattr(config, "workerinput", {})
    return Host(told[HOST], told["heta_run_id"]) if HOST in told else None


def unlike(host: str, differences: Sequence[str]) -> str:
    """Say that a host does something other than the machine that reports."""
    return f"{host} would not run the same evaluation: {'; '.join(differences)}"
