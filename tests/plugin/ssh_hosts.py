"""Real SSH servers on this machine, each with a folder of its own that stands for a host."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

# Here, not where it is used: pytester forgets what a test imports, and this bears no second import.
asyncssh: Any = pytest.importorskip("asyncssh", reason="asyncssh is not installed (pip install 'pytest-heta[servers]')")


@dataclass
class SshHost:
    """One host: its name in the configuration of the client, and its folder, which is also the home of its user."""

    name: str
    folder: Path
    server: Any = None
    processes: list[asyncio.subprocess.Process] = field(default_factory=list)

    @property
    def suite(self) -> Path:
        """The folder in which its workers run."""
        return self.folder / "suite"


@dataclass
class SshHosts:
    """Hosts with their servers, which run on an event loop in a thread."""

    hosts: tuple[SshHost, ...]
    config: Path
    loop: asyncio.AbstractEventLoop

    def tx(self) -> tuple[str, ...]:
        """Return the options that have pytest-xdist start a worker on each host."""
        spec = f"ssh_config={self.config}//python={sys.executable}//chdir=suite"
        return tuple(f"--tx=ssh={host.name}//{spec}" for host in self.hosts)

    def lose(self, host: SshHost) -> None:
        """End a host as a power cut would: its server, its connections and all that runs on it."""
        asyncio.run_coroutine_threadsafe(_close(host), self.loop).result(timeout=10)


@contextmanager
def ssh_hosts(folder: Path, *names: str) -> Iterator[SshHosts]:
    """Run a server for each host, for whom a key is made that is good for nothing else."""
    hosts = tuple(SshHost(name, folder / name) for name in names)
    for host in hosts:
        host.folder.mkdir(parents=True)
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        ports = [asyncio.run_coroutine_threadsafe(_listen(host, folder), loop).result(timeout=30) for host in hosts]
        yield SshHosts(hosts, _client_config(folder, dict(zip(names, ports, strict=True))), loop)
    finally:
        for host in hosts:
            asyncio.run_coroutine_threadsafe(_close(host), loop).result(timeout=10)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


async def _listen(host: SshHost, folder: Path) -> int:
    key = folder / "key"
    if not key.exists():
        made = asyncssh.generate_private_key("ssh-ed25519")
        made.write_private_key(key)
        made.write_public_key(key.with_suffix(".pub"))
        key.chmod(0o600)
    host.server = await asyncssh.listen(
        "127.0.0.1",
        0,
        server_host_keys=[asyncssh.generate_private_key("ssh-ed25519")],
        authorized_client_keys=str(key.with_suffix(".pub")),
        process_factory=lambda process: _run(host, process),
        encoding=None,
    )
    return int(host.server.get_port())


def _client_config(folder: Path, ports: dict[str, int]) -> Path:
    path = folder / "config"
    hosts = "".join(f"Host {name}\n  HostName 127.0.0.1\n  Port {port}\n" for name, port in ports.items())
    common = (
        f"IdentityFile {folder / 'key'}",
        "IdentitiesOnly yes",
        "User tester",
        "StrictHostKeyChecking no",
        f"UserKnownHostsFile {folder / 'known'}",
        "LogLevel ERROR",
    )
    path.write_text(hosts + "Host *\n" + "".join(f"  {line}\n" for line in common))
    return path


async def _run(host: SshHost, client: Any) -> None:
    environment = {
        "PATH": "/usr/bin:/bin",
        "HOME": str(host.folder),
        "HETA_CACHE_DIR": str(host.folder / "cache"),
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_shell(
        client.command,
        stdin=pipe,
        stdout=pipe,
        stderr=pipe,
        cwd=host.folder,
        env=environment,
        start_new_session=True,
    )
    host.processes.append(process)
    given = asyncio.create_task(_copy(client.stdin, process.stdin))
    try:
        await asyncio.gather(_copy(process.stdout, client.stdout), _copy(process.stderr, client.stderr))
        client.exit(await process.wait())
    finally:
        given.cancel()


async def _copy(source: Any, target: Any) -> None:
    with suppress(OSError):  # one of the two is gone
        while data := await source.read(65536):
            target.write(data)
            await target.drain()
        target.write_eof()


async def _close(host: SshHost) -> None:
    host.server.close()
    for process in host.processes:
        if process.returncode is None:
            os.killpg(process.pid, signal.SIGKILL)
            await process.wait()
    await host.server.wait_closed()
