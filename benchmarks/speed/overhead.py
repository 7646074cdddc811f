"""What the plugin adds to a case: cases that are answered at once, against as many trivial parametrised functions.

    python -m benchmarks.speed.overhead [--cases 7405] [--runs 3]

The cases have two relevant documents and ten hits each, and are scored by all 25 BEIR metrics. There is no corpus.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
from pathlib import Path

from benchmarks.speed.measure import Taken, pytest, run

RECIPE = '''"""Answers at once."""


async def search(query, top_k):
    return [(str(number), 1.0 / (number + 1)) for number in range(10)]
'''
TRIVIAL = """import pytest


@pytest.mark.parametrize("number", range({cases}))
def test_trivial(number):
    assert number >= 0
"""


def main() -> None:
    """Run both in turn and print the ratio."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=7405)
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_files(folder, options.cases)
        heta = pytest("--heta-benchmark=data", "--heta-recipe=instant.py")
        trivial = pytest("test_trivial.py")
        pairs = [(run(heta, folder), run(trivial, folder)) for _ in range(options.runs + 1)][1:]
    show("heta", [pair[0] for pair in pairs])
    show("trivial", [pair[1] for pair in pairs])
    print(f"ratio, wall  {statistics.median(pair[0].wall / pair[1].wall for pair in pairs):.2f}")
    print(f"ratio, cpu   {statistics.median(pair[0].cpu / pair[1].cpu for pair in pairs):.2f}")


def write_files(folder: Path, cases: int) -> None:
    """Write a benchmark without a corpus, the recipe, and the trivial tests."""
    (folder / "data" / "qrels").mkdir(parents=True)
    queries = (json.dumps({"_id": f"q{number}", "text": f"question {number}"}) for number in range(cases))
    (folder / "data" / "queries.jsonl").write_text("\n".join(queries))
    labels = (f"q{number}\t{number % 20 + extra}\t1" for number in range(cases) for extra in (0, 1000))
    (folder / "data" / "qrels" / "test.tsv").write_text("\n".join(("query-id\tcorpus-id\tscore", *labels)))
    (folder / "instant.py").write_text(RECIPE)
    (folder / "test_trivial.py").write_text(TRIVIAL.format(cases=cases))


def show(name: str, taken: list[Taken]) -> None:
    """Print the median run."""
    print(f"{name:8}", sorted(taken, key=lambda one: one.wall)[len(taken) // 2])


if __name__ == "__main__":
    main()
