"""A recipe that waits: 20 ms a query, 300 cases, one query at once, eight at once, and four workers of eight.

    python -m benchmarks.speed.io_bound [--cases 300] [--milliseconds 20]

Shows the wall time from the first query to the end of the last, and of the whole process with its start and report.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path

from benchmarks.speed.measure import pytest, run
from benchmarks.speed.overhead import write_files

RECIPE = '''"""Waits, then answers."""

import asyncio


async def search(query, top_k):
    await asyncio.sleep({seconds})
    return [(str(number), 1.0 / (number + 1)) for number in range(10)]
'''
SETTINGS = {
    "one at once": ("--heta-concurrency=1",),
    "eight at once": ("--heta-concurrency=8",),
    "-n 4, eight at once": ("-n4", "--heta-concurrency=8"),
}


def main() -> None:
    """Run each setting and print its share of the time of one query after the other."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=300)
    parser.add_argument("--milliseconds", type=float, default=20)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_files(folder, options.cases)
        (folder / "waiting.py").write_text(RECIPE.format(seconds=options.milliseconds / 1000))
        sequential = None
        for setting, arguments in SETTINGS.items():
            command = pytest("--heta-benchmark=data", "--heta-recipe=waiting.py", "--heta-report=out.json", *arguments)
            taken = run(command, folder)
            queried = asked_seconds(folder / "out.json")
            sequential = sequential or queried
            print(
                f"{setting:20} queries {queried:5.2f} s, 1/{sequential / queried:.1f} of the first; whole run {taken}"
            )


def asked_seconds(report: Path) -> float:
    """Return the seconds from the first query to the end of the last."""
    cases = json.loads(report.read_text())["cases"]
    return float(
        max(case["asked_at"] + case["latency_ms"] / 1000 for case in cases) - min(case["asked_at"] for case in cases)
    )


if __name__ == "__main__":
    main()
