"""One server of each kind for the whole room, started when it is first needed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from pytest_heta.knowledge.backends import LanceDb, Milvus, OpenSearch, PgVector
from pytest_heta.knowledge.backends.table import Server
from tests.knowledge.backends import servers

Started = Callable[[str], Server]


@pytest.fixture(scope="session")
def s3_address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Return the address of an S3 service with the bucket ``heta``."""
    with servers.s3(tmp_path_factory.mktemp("s3")) as address:
        yield address


@pytest.fixture(scope="session")
def started(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Iterator[Started]:
    """Return the server of a kind, the same one each time."""
    running: dict[str, Server] = {}
    with ExitStack() as stack:

        def start(kind: str) -> Server:
            folder = tmp_path_factory.mktemp(kind)
            if kind == "pgvector":
                return PgVector(stack.enter_context(servers.postgres()))
            if kind == "lancedb":
                servers.need("lancedb")
                return LanceDb(str(folder))
            if kind == "lancedb-s3":
                servers.need("lancedb")
                options = {"region": "us-east-1", "skip_signature": "true", "allow_http": "true"}
                return LanceDb("s3://heta/lance", {**options, "endpoint": request.getfixturevalue("s3_address")})
            if kind == "milvus-file":
                servers.need("pymilvus", "milvus_lite")
                return Milvus(str(folder / "milvus.db"))
            if kind == "milvus":
                return Milvus(stack.enter_context(servers.milvus(folder)))
            assert kind == "opensearch"
            return OpenSearch(stack.enter_context(servers.opensearch(folder)))

        def get(kind: str) -> Server:
            if kind not in running:
                running[kind] = start(kind)
            return running[kind]

        yield get
