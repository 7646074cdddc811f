"""How the async readers of a benchmark are run in tests."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TypeVar

from pytest_heta.protocols import BenchmarkProtocol
from pytest_heta.records import BenchmarkWorkspace, PreparedBenchmark

T = TypeVar("T")


def gather(items: AsyncIterator[T]) -> list[T]:
    """Return everything that an async iterator yields."""

    async def read() -> list[T]:
        return [item async for item in items]

    return asyncio.run(read())


def prepare(benchmark: BenchmarkProtocol, root: Path) -> PreparedBenchmark:
    """Prepare with the workspace below ``root``."""
    return asyncio.run(benchmark.prepare(BenchmarkWorkspace.under(root)))
