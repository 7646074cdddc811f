"""``python -m pytest_heta check``: run a tiny corpus through a recipe and list what is wrong."""

from __future__ import annotations

import argparse
import asyncio
from collections import Counter
from pathlib import Path
from typing import get_args

from pytest_heta.checking.findings import Verdict
from pytest_heta.cli.command import Command
from pytest_heta.masking import mask_text


def _configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("recipe", metavar="RECIPE", help="a file or an address, as for --heta-recipe")
    parser.add_argument(
        "--query",
        action="append",
        default=[],
        metavar="TEXT",
        help="ask this instead of the tiny corpus' own queries (repeatable); for recipes with documents of their own",
    )


def _check(arguments: argparse.Namespace) -> int:
    return asyncio.run(_run(arguments.recipe, arguments.query))


async def _run(spec: str, queries: list[str]) -> int:
    from pytest_heta.checking import check_recipe
    from pytest_heta.engine.recipes import load_recipe, parse_recipe_spec

    recipe = (await load_recipe(parse_recipe_spec(spec, Path.cwd()))).recipe
    verdicts: Counter[str] = Counter()
    async for finding in check_recipe(recipe, queries):
        print(mask_text(str(finding)), flush=True)
        verdicts[finding.verdict] += 1
    print(", ".join(f"{verdicts[verdict]} {verdict}" for verdict in get_args(Verdict)))
    return 1 if verdicts["wrong"] else 0


COMMAND = Command("check", "run a tiny corpus through a recipe and list what is wrong", _configure, _check)
