"""Running a command as a whole process and telling what it took."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Taken:
    """What one process took: wall and CPU seconds, its peak memory, and what it printed."""

    wall: float
    cpu: float
    peak_mib: float
    output: str

    def __str__(self) -> str:
        """Show the figures in one line."""
        return f"{self.wall:6.2f} s wall, {self.cpu:6.2f} s cpu, {self.peak_mib:5.0f} MiB peak"


def run(command: Sequence[str | Path], folder: Path, environment: Mapping[str, str] | None = None) -> Taken:
    """Run ``command`` in ``folder``; one that fails ends the measurement with what it printed."""
    started = time.perf_counter()
    output = folder / "output.txt"
    with output.open("wb") as file:
        process = subprocess.Popen(
            [str(part) for part in command],
            cwd=folder,
            stdout=file,
            stderr=subprocess.STDOUT,
            env={**os.environ, **(environment or {})},
        )
        _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    wall, printed = time.perf_counter() - started, output.read_text(errors="replace")
    if process.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{printed}\nexit code {process.returncode}")
    return Taken(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, printed)


def pytest(*arguments: str | Path) -> list[str | Path]:
    """Return the command that runs pytest quietly with this interpreter; warnings of other plugins are left out."""
    return [sys.executable, "-m", "pytest", "-q", "-W", "ignore", *arguments]


def test_data(relative: str) -> Path | None:
    """Return the path of one item of the real data, or None where it is missing."""
    path = Path(os.environ.get("HETA_TEST_DATA") or ROOT.parent / "shared" / "data") / relative
    return path if path.exists() else None
