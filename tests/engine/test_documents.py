"""The documents of a unit: all of them, each once, from wherever they are."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from pytest_heta.engine.documents import digest_documents, read_document, store_documents, unit_documents
from pytest_heta.errors import BuildError, DownloadError
from pytest_heta.knowledge.store import MemoryObjectStore
from pytest_heta.records import BenchmarkDocument, BenchmarkRunUnit
from tests.engine.toys import DOCUMENTS, ToyBenchmark, plan_of


def document(**fields: Any) -> BenchmarkDocument:
    """A text document."""
    return BenchmarkDocument.model_validate({"document_id": "d", "name": "d.txt", "media_type": "text/plain", **fields})


async def found(unit: BenchmarkRunUnit, benchmark: Any = None, **parts: Any) -> list[str]:
    """Return the ids of a unit's documents."""
    plan = await plan_of(benchmark, **parts)
    return [one.document_id async for one in unit_documents(plan, unit)]


def test_a_unit_has_the_documents_that_it_names() -> None:
    """All of them where it names none; in the benchmark's order either way."""
    assert asyncio.run(found(BenchmarkRunUnit(unit_id="u"))) == ["d0", "d1", "d2"]
    assert asyncio.run(found(BenchmarkRunUnit(unit_id="u", document_ids=("d2", "d0")))) == ["d0", "d2"]


def test_a_benchmark_may_know_the_documents_of_a_unit() -> None:
    """Then they are not looked for among all."""

    class Knowing(ToyBenchmark):
        async def documents_of(self, prepared: Any, unit: BenchmarkRunUnit) -> Any:
            yield DOCUMENTS[1]

    benchmark = Knowing()
    assert asyncio.run(found(BenchmarkRunUnit(unit_id="u", document_ids=("d1",)), benchmark)) == ["d1"]
    assert benchmark.documents_read == 0


@pytest.mark.parametrize(
    ("unit", "documents", "message"),
    [
        ({}, (*DOCUMENTS, DOCUMENTS[0]), "benchmark toy has two documents with the id 'd0'"),
        ({"document_ids": ("d1", "x", "y")}, DOCUMENTS, "run unit 'u' of toy names unknown documents: 'x', 'y'"),
        ({}, (), "run unit 'u' of toy has no documents"),
    ],
)
def test_documents_that_do_not_fit_are_refused(unit: dict[str, Any], documents: Any, message: str) -> None:
    """One message that names unit and ids."""
    with pytest.raises(BuildError) as error:
        asyncio.run(found(BenchmarkRunUnit(unit_id="u", **unit), documents=documents))
    assert str(error.value) == message


@pytest.mark.parametrize("name", ["plain.txt", "100%25 sure #1?.txt", "Wärme 熱.txt"])
def test_a_document_is_data_a_path_or_a_file_uri(tmp_path: Path, name: str) -> None:
    """Whatever its file is called."""
    path = tmp_path / name
    path.write_bytes(b"\xff\x00 text")
    for place in ({"data": b"\xff\x00 text"}, {"path": path}, {"source_uri": path.as_uri()}):
        assert asyncio.run(read_document(document(**place))) == b"\xff\x00 text"


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    """With the document that wants it, whether by path or URI."""
    path = tmp_path / "gone.txt"
    for place in ({"path": path}, {"source_uri": path.as_uri()}):
        with pytest.raises(BuildError, match=r"document 'd' cannot be read: .*gone\.txt"):
            asyncio.run(read_document(document(**place)))


@contextmanager
def serving() -> Iterator[str]:
    """Serve ``/text``, a redirect to it, and nothing else; yield the address."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status = {"/text": 200, "/moved": 302}.get(self.path, 404)
            self.send_response(status)
            if status == 302:
                self.send_header("Location", "/text")
            self.end_headers()
            self.wfile.write(b"over the wire")

        def log_message(self, *_: Any) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def test_a_document_may_be_fetched() -> None:
    """Over HTTP, redirects followed; an error status names the address."""
    with serving() as address:
        for place in ("/text", "/moved"):
            assert asyncio.run(read_document(document(source_uri=address + place))) == b"over the wire"
        with pytest.raises(DownloadError, match=f"{address}/gone: .*404"):
            asyncio.run(read_document(document(source_uri=f"{address}/gone")))


@pytest.mark.parametrize("uri", ["s3://bucket/key", "no scheme", "http://127.0.0.1:1/nobody"])
def test_an_address_that_cannot_be_fetched_is_named(uri: str) -> None:
    """Whether it cannot be understood or nobody answers."""
    with pytest.raises(DownloadError, match=uri):
        asyncio.run(read_document(document(source_uri=uri)))


def test_documents_are_stored_under_their_raw_keys() -> None:
    """And each is counted."""

    async def stored() -> tuple[list[str], bytes, list[int]]:
        plan, objects, counts = await plan_of(), MemoryObjectStore(), list[int]()
        keys = await store_documents(plan, plan.units[0].unit, objects, lambda stage, done, total: counts.append(done))
        return keys, await objects.get(keys[1]), counts

    keys, data, counts = asyncio.run(stored())
    assert keys == [f"raw/benchmarks/toy/test/d{n}/d{n}.txt" for n in range(3)]
    assert (data, counts) == (b"text 1", [1, 2, 3])


def test_the_digest_sees_everything_that_a_knowledge_base_is_built_from() -> None:
    """Texts, names, ids and the unit's choice; a benchmark's own digest stands for the documents."""

    class Digesting(ToyBenchmark):
        async def documents_digest(self, prepared: Any, unit: BenchmarkRunUnit) -> str:
            return "short"

    async def digest(benchmark: Any = None, document_ids: tuple[str, ...] = (), **parts: Any) -> str:
        unit = BenchmarkRunUnit(unit_id="u", document_ids=document_ids)
        return await digest_documents(await plan_of(benchmark, **parts), unit)

    changed = DOCUMENTS[0].model_copy(update={"data": b"other"})
    renamed = DOCUMENTS[0].model_copy(update={"name": "other.txt"})
    digests = [
        asyncio.run(digest()),
        asyncio.run(digest(documents=(changed, *DOCUMENTS[1:]))),
        asyncio.run(digest(documents=(renamed, *DOCUMENTS[1:]))),
        asyncio.run(digest(documents=DOCUMENTS[:2])),
        asyncio.run(digest(document_ids=("d0",))),
        asyncio.run(digest(Digesting())),
    ]
    assert len(set(digests)) == len(digests)
    assert asyncio.run(digest()) == digests[0]
