"""SciFact from end to end: parse, chunk, index, 300 queries, 25 metrics, report; then once more from the KB cache.

    python -m benchmarks.speed.scifact [recipes/bm25.py ...]

Needs scifact.zip, the BEIR archive, in the test data (HETA_TEST_DATA) or network.
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
from pathlib import Path

from benchmarks.speed.measure import ROOT, pytest, run, test_data


def main() -> None:
    """Run each recipe cold and warm, and print figures and scores."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("recipes", nargs="*", default=["recipes/bm25.py"])
    for recipe in parser.parse_args().recipes:
        with tempfile.TemporaryDirectory() as name:
            measure(ROOT / recipe, Path(name))


def measure(recipe: Path, folder: Path) -> None:
    """Measure one recipe in an empty cache."""
    archive = test_data("beir/scifact.zip")
    if archive is not None:
        (folder / "cache" / "beir").mkdir(parents=True)
        shutil.copy(archive, folder / "cache" / "beir")
    shutil.copy(recipe, folder)
    command = pytest(
        "--heta-benchmark=beir:scifact",
        f"--heta-recipe={recipe.name}",
        "--heta-cache-dir=cache",
        "--heta-report=out.json",
    )
    print(f"{recipe.stem}: cold", run(command, folder))
    print(f"{recipe.stem}: warm", run(command, folder))
    summary = json.loads((folder / "out.json").read_text())["score_summary"]
    for key, value in summary.items():
        if key.endswith(("ndcg@10", "recall@100")):
            print(f"    {key:40} {value:.4f}")


if __name__ == "__main__":
    main()
