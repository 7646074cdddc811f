"""The built-in recipe: a declaration of chunks, query modes and answers, from which knowledge bases are built."""

from __future__ import annotations

import asyncio
import json
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_heta.errors import BuildError
from pytest_heta.knowledge.answering import Answerer
from pytest_heta.knowledge.chunking import Chunker, TokenChunker
from pytest_heta.knowledge.declaration import canonical, check_modes
from pytest_heta.knowledge.extras import installed_version
from pytest_heta.knowledge.fetching import check_distinct, fetch
from pytest_heta.knowledge.layout import FORMAT_VERSION, Layout
from pytest_heta.knowledge.modes import Fusion, IndexMode
from pytest_heta.knowledge.parsing import PARSER_DISTRIBUTIONS
from pytest_heta.protocols import ObjectStoreProtocol, ProgressCallback

if TYPE_CHECKING:
    from pytest_heta.knowledge.base import EmbeddedKnowledgeBase


class Recipe:
    """Builds embedded knowledge bases.

    ``modes`` maps the name of each query mode to how it searches: ``Bm25(...)``, ``Vectors(embedder)``, or
    ``Fusion("mode", "mode")`` of others. ``answerer`` turns what was found into ``response.answer``. Making a recipe
    loads no engine and no model.
    """

    def __init__(
        self,
        name: str,
        *,
        modes: Mapping[str, IndexMode | Fusion],
        chunker: Chunker | None = None,
        answerer: Answerer | None = None,
    ) -> None:
        """Check the declaration.

        Raises:
            RecipeError: no modes, a mode name that is no file name, or a fusion of modes that are not there.
        """
        self.name, self._modes, self._answerer = name, dict(modes), answerer
        self._chunker = TokenChunker() if chunker is None else chunker
        check_modes(name, self._modes, (IndexMode,))

    @property
    def available_queries(self) -> tuple[str, ...]:
        """The modes of every knowledge base that this recipe builds."""
        return tuple(self._modes)

    @property
    def manifest(self) -> dict[str, Any]:
        """The declared configuration, as JSON."""
        return {
            "name": self.name,
            "format_version": FORMAT_VERSION,
            "chunker": self._chunker.declaration(),
            "modes": {name: mode.declaration() for name, mode in self._modes.items()},
            "answerer": None if self._answerer is None else self._answerer.declaration(),
        }

    def fingerprint(self) -> str:
        """Return a digest of all that changes what is built or found, the source of the recipe file excepted.

        Raises:
            RecipeError: a model that belongs to it cannot be found.
        """
        libraries = {name: installed_version(name) for name in ("numpy", *PARSER_DISTRIBUTIONS)}
        engines = {name: mode.fingerprint() for name, mode in self._modes.items()}
        return sha256(canonical([self.manifest, libraries, engines]).encode()).hexdigest()

    async def build(
        self,
        *,
        name: str,
        objects: ObjectStoreProtocol,
        source_keys: Sequence[str],
        progress: ProgressCallback | None = None,
    ) -> EmbeddedKnowledgeBase:
        """Build a knowledge base of these objects, in a folder of its own that lives until the KB is closed.

        Raises:
            BuildError: a document that cannot be read, a key given twice, or nothing to search.
            ObjectNotFoundError: a key without an object.
        """
        check_distinct(source_keys)
        directory = Path(tempfile.mkdtemp(prefix="heta-kb-"))
        try:
            await self._build_in(directory, objects, source_keys, progress)
            return await asyncio.to_thread(self._open, name, directory, temporary=True)
        except BaseException:
            shutil.rmtree(directory, ignore_errors=True)
            raise

    def load(self, directory: Path, *, name: str) -> EmbeddedKnowledgeBase:
        """Open what a knowledge base of this recipe saved; its files are mapped, not read.

        Raises:
            BuildError: the folder holds no such knowledge base.
        """
        try:
            saved = json.loads(Layout(directory).manifest.read_text("utf-8"))
        except (OSError, ValueError) as error:
            raise BuildError(f"no saved knowledge base in {directory}: {error}") from error
        if canonical(saved.get("recipe")) != canonical(self.manifest):
            raise BuildError(f"the knowledge base in {directory} was built by another recipe or version: build it anew")
        return self._open(name, directory, temporary=False)

    async def _build_in(
        self,
        directory: Path,
        objects: ObjectStoreProtocol,
        source_keys: Sequence[str],
        progress: ProgressCallback | None,
    ) -> None:
        from pytest_heta.knowledge.building import KnowledgeBaseBuilder

        builder = await asyncio.to_thread(KnowledgeBaseBuilder, directory, self._chunker, self._modes)
        async for batch in fetch(objects, source_keys):
            await asyncio.to_thread(builder.add, batch)
            if progress is not None:
                progress("documents", builder.document_count, len(source_keys))
                progress("chunks", builder.chunk_count, None)
        await asyncio.to_thread(builder.finish, self.manifest)

    def _open(self, name: str, directory: Path, *, temporary: bool) -> EmbeddedKnowledgeBase:
        from pytest_heta.knowledge.base import EmbeddedKnowledgeBase

        return EmbeddedKnowledgeBase(name, directory, self._modes, self._answerer, temporary=temporary)
