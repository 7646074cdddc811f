"""How documents get into a deployed service, and out of it again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

from pytest_heta.errors import BuildError, QueryError
from pytest_heta.integrations.documents import SourceDocument
from pytest_heta.integrations.templates import check_placeholders, fill, fill_url, placeholders
from pytest_heta.integrations.web import JsonService
from pytest_heta.protocols import ProgressCallback

_DOCUMENT_NAMES = ("document_id", "source_key", "name", "text", "index")
_REQUEST_NAMES = ("documents", "index")


@dataclass(frozen=True)
class Ingest:
    """Where a service takes documents in, and how it forgets them.

    ``document`` says what is sent for one document: it may hold ``{document_id}``, ``{text}``, ``{name}``,
    ``{source_key}``. With ``batch`` None each document is a request of its own; else up to ``batch`` of them stand for
    ``{documents}`` in ``request``. ``{index}`` is a name that no other knowledge base has: it belongs into the
    addresses of a service that keeps several indexes. ``delete_url`` is asked to DELETE in the end; without it what was
    sent stays.
    """

    url: str
    _: KW_ONLY
    document: Any = field(default_factory=lambda: {"id": "{document_id}", "text": "{text}"})
    batch: int | None = None
    request: Any = "{documents}"
    method: str = "POST"
    delete_url: str | None = None

    def __post_init__(self) -> None:
        """Refuse placeholders that do not exist.

        Raises:
            RecipeError: there is one.

        """
        check_placeholders(placeholders(self.document), _DOCUMENT_NAMES)
        check_placeholders(placeholders(self.request), _REQUEST_NAMES)
        check_placeholders(placeholders([self.url, self.delete_url]), ("index",))

    async def send(
        self,
        service: JsonService,
        index: str,
        documents: Sequence[SourceDocument],
        progress: ProgressCallback | None = None,
    ) -> None:
        """Send the documents, batch after batch; a request that may succeed later is tried again.

        Raises:
            BuildError: the service does not take them; names the first document of the request.

        """
        size = self.batch or 1
        for first in range(0, len(documents), size):
            batch = documents[first : first + size]
            try:
                await service.ask_patiently(
                    self.method, fill_url(self.url, {"index": index}), body=self._body(batch, index)
                )
            except QueryError as error:
                raise BuildError(f"the service did not take document {batch[0].document_id!r}: {error}") from error
            if progress is not None:
                progress("documents sent", first + len(batch), len(documents))

    async def undo(self, service: JsonService, index: str) -> None:
        """Have the service forget what was sent; that it knows nothing of it is no error.

        Raises:
            QueryError: the service refuses.

        """
        if self.delete_url is not None:
            await service.ask("DELETE", fill_url(self.delete_url, {"index": index}), missing=True)

    def _body(self, batch: Sequence[SourceDocument], index: str) -> Any:
        rendered = [fill(self.document, {**_values(document), "index": index}) for document in batch]
        return rendered[0] if self.batch is None else fill(self.request, {"documents": rendered, "index": index})


def _values(document: SourceDocument) -> Mapping[str, str]:
    return {**document.ids, "name": document.name, "text": document.text}
