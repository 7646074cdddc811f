"""``python -m pytest_heta COMMAND``: what is done outside a pytest run.

Exit codes: 0 done, 1 not done or not all of it, 2 asked for wrongly.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from pytest_heta.cli import cache, check, compare, merge, runs, schema, score
from pytest_heta.cli.command import Command, add_commands
from pytest_heta.errors import HetaError, UsageError

COMMANDS: tuple[Command, ...] = (
    cache.COMMAND,
    check.COMMAND,
    compare.COMMAND,
    merge.COMMAND,
    runs.COMMAND,
    score.COMMAND,
    schema.COMMAND,
)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m pytest_heta", description="Tools around pytest-heta's runs.")
    add_commands(parser, COMMANDS)
    arguments = parser.parse_args(argv)
    try:
        return int(arguments.run(arguments))
    except BrokenPipeError:  # who reads has seen enough
        sys.stderr.close()
        return 1
    except (HetaError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2 if isinstance(error, UsageError) else 1


if __name__ == "__main__":
    sys.exit(main())
