"""The embedded knowledge base: a folder of mapped files that answers queries in this process."""

from __future__ import annotations

import json
import shutil
import weakref
from collections.abc import Mapping, Sequence
from pathlib import Path

from pytest_heta.knowledge.answering import Answerer
from pytest_heta.knowledge.chunks import ChunkTable
from pytest_heta.knowledge.layout import Layout
from pytest_heta.knowledge.modes import Fusion, IndexMode
from pytest_heta.knowledge.querying import SearchingKnowledgeBase
from pytest_heta.knowledge.ranking import Ranking
from pytest_heta.records import QueryResult


class EmbeddedKnowledgeBase(SearchingKnowledgeBase):
    """Answers queries from a folder that a recipe's builder wrote. Safe to use from several threads at once."""

    def __init__(
        self,
        name: str,
        directory: Path,
        modes: Mapping[str, IndexMode | Fusion],
        answerer: Answerer | None = None,
        *,
        temporary: bool = False,
    ) -> None:
        """Open the files in ``directory``; if ``temporary``, it is removed at ``close`` or the end of the process."""
        layout = Layout(directory)
        super().__init__(name, json.loads(layout.manifest.read_text("utf-8")), modes, answerer)
        self._directory = directory
        self._chunks = ChunkTable(layout.chunks)
        self._indexes = {
            mode: declared.open(layout.mode(mode))
            for mode, declared in modes.items()
            if not isinstance(declared, Fusion)
        }
        self._remove = weakref.finalize(self, shutil.rmtree, directory, ignore_errors=True) if temporary else None

    def save(self, directory: Path) -> None:
        """Copy all files into ``directory``, from where the recipe's ``load`` opens them."""
        directory.mkdir(parents=True, exist_ok=True)
        # One by one: the folder itself may be a temporary one, which is closed to other accounts.
        for path in self._directory.iterdir():
            if path.is_dir():
                shutil.copytree(path, directory / path.name, dirs_exist_ok=True)
            else:
                shutil.copyfile(path, directory / path.name)

    def close(self) -> None:
        """Release the files; the knowledge base cannot be used afterwards."""
        self._chunks.close()
        self._indexes.clear()
        if self._remove is not None:
            self._remove()

    def rank(self, mode: str, queries: Sequence[str], k: int) -> Sequence[Ranking]:
        """Return at most ``k`` chunks for each query, best first, of a mode that is no fusion."""
        return self._indexes[mode].search(queries, k)

    def hits(self, ranking: Ranking) -> tuple[QueryResult, ...]:
        """Return the chunks of a ranking, in its order."""
        return self._chunks.hits(ranking)

    def _search(self) -> EmbeddedKnowledgeBase:
        return self
