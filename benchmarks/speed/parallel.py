"""Real data under xdist: each benchmark without workers and with them, cold, then once more from the KB cache.

    python -m benchmarks.speed.parallel [--workers 2] [--recipe recipes/vector.py]

Shows times, how many knowledge bases were built, and whether the scores of all cases are the same. Needs the test
data (HETA_TEST_DATA): ``beir/scifact.zip`` and ``beir/hotpotqa-slice``, a folder in BEIR layout; what is missing is
left out.
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.speed.measure import ROOT, pytest, run, test_data


def main() -> None:
    """Measure both benchmarks."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--recipe", default="recipes/vector.py")
    options = parser.parse_args()
    for name, data in (("scifact", "beir/scifact.zip"), ("hotpotqa-slice", "beir/hotpotqa-slice")):
        source = test_data(data)
        if source is None:
            print(f"{name}: {data} is missing")
            continue
        with tempfile.TemporaryDirectory() as folder:
            print(name)
            measure(source, ROOT / options.recipe, options.workers, Path(folder))


def measure(source: Path, recipe: Path, workers: int, folder: Path) -> None:
    """Measure one benchmark; each of the two ways has a cache of its own."""
    shutil.copy(recipe, folder)
    found: list[dict[str, Any]] = []
    for way, arguments in (("no xdist", ()), (f"-n {workers}", (f"-n{workers}",))):
        cache = folder / f"cache{len(found)}"
        (cache / "beir").mkdir(parents=True)
        spec = str(source)
        if source.suffix == ".zip":
            shutil.copy(source, cache / "beir")
            spec = f"beir:{source.stem}"
        options = (f"--heta-benchmark={spec}", f"--heta-recipe={recipe.name}", "--heta-report=out.json")
        for state in ("cold", "warm"):
            taken = run(pytest(*options, f"--heta-cache-dir={cache}", *arguments), folder)
            report = json.loads((folder / "out.json").read_text())
            built = sum(not base["cached"] for base in report["knowledge_bases"])
            print(f"  {way:9} {state}  {taken}; {len(report['cases'])} cases, {built} knowledge bases built")
        found.append(report)
    print(f"  the same scores: {'yes' if scores(found[0]) == scores(found[1]) else 'NO'}")
    ndcg = (f"{key} {value:.4f}" for key, value in found[0]["score_summary"].items() if key.endswith("ndcg@10"))
    print(" ", ", ".join(ndcg))


def scores(report: dict[str, Any]) -> list[Any]:
    """Return the scores and rankings of all cases."""
    return [(case["case_id"], case["scores"], case["hits"]) for case in report["cases"]]


if __name__ == "__main__":
    main()
