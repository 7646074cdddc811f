"""kill -9 at random moments, then --heta-resume: nothing finished is lost, nothing is asked twice.

    python -m benchmarks.speed.resume [--runs 20] [--cases 300] [--workers 0]

Each time a run with all its processes is killed and gone on with; shows how many cases it had finished, and what going
on took. The resumed report must have the results of an uninterrupted run. Then a finished run is resumed: the time of
taking everything over.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.speed.measure import pytest, run
from benchmarks.speed.overhead import write_files

RECIPE = '''"""Notes each query, waits 5 ms, then answers."""

import asyncio
from pathlib import Path

ASKED = Path(__file__).with_name("asked.txt")


async def search(query, top_k):
    with ASKED.open("a") as file:
        file.write(query + "\\n")
    await asyncio.sleep(0.005)
    return [(str(number), 1.0 / (number + 1)) for number in range(10)]
'''


def main() -> None:
    """Kill and resume so often, and stop at the first difference."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--cases", type=int, default=300)
    parser.add_argument("--workers", type=int, default=0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_files(folder, options.cases)
        (folder / "noting.py").write_text(RECIPE)
        command = pytest("--heta-benchmark=data", "--heta-recipe=noting.py", "--heta-report=out.json")
        command += [f"-n{options.workers}"] if options.workers else []
        whole = run(command, folder)
        expected = results(folder)
        print("uninterrupted", whole)
        for number in range(1, options.runs + 1):
            print(f"{number:3}", kill_and_resume(command, folder, whole.wall, expected))
        print("resumed when finished", run([*command, "--heta-resume"], folder))


def kill_and_resume(command: list[str | Path], folder: Path, wall: float, expected: list[Any]) -> str:
    """Kill a run somewhere within its time, go on with it, and tell how it went."""
    shutil.rmtree(folder / ".heta", ignore_errors=True)
    (folder / "asked.txt").unlink(missing_ok=True)
    moment = random.uniform(wall / 2, wall)
    with (folder / "killed.txt").open("wb") as output:
        arguments = [str(part) for part in command]
        process = subprocess.Popen(arguments, cwd=folder, stdout=output, stderr=output, start_new_session=True)
        time.sleep(moment)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    done = finished(folder)
    (folder / "asked.txt").unlink(missing_ok=True)
    taken = run([*command, *(["--heta-resume"] if (folder / ".heta").exists() else [])], folder)
    asked = (folder / "asked.txt").read_text().splitlines() if (folder / "asked.txt").exists() else []
    if sorted([*done, *asked]) != sorted(case["query"] for case in expected) or results(folder) != expected:
        sys.exit(f"killed after {moment:.2f} s with {len(done)} cases finished: the resumed run differs")
    return f"killed after {moment:.2f} s: {len(done):4} finished, {len(asked):4} asked after that; resumed {taken}"


def finished(folder: Path) -> list[str]:
    """Return the queries whose results are whole lines of the journal."""
    found = []
    for path in (folder / ".heta").glob("runs/*/*/*.journal.jsonl"):
        for line in path.read_bytes().split(b"\n")[:-1]:
            record = json.loads(line)
            found += [record["query"]] if record.get("status") == "finished" else []
    return found


def results(folder: Path) -> list[Any]:
    """Return what a report says of its cases, but for times."""
    timed = ("asked_at", "latency_ms")
    cases = json.loads((folder / "out.json").read_text())["cases"]
    return [{key: value for key, value in case.items() if key not in timed} for case in cases]


if __name__ == "__main__":
    main()
