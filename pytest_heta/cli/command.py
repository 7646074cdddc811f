"""What a command of ``python -m pytest_heta`` is."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Command:
    """A command or sub-command: ``configure`` adds its arguments, ``run`` does it and returns the exit code.

    A command with ``commands`` is a group of these and has no ``run`` of its own.
    """

    name: str
    help: str
    configure: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], int] | None = None
    commands: tuple[Command, ...] = ()


def add_commands(parser: argparse.ArgumentParser, commands: tuple[Command, ...]) -> None:
    """Add the commands, and those inside them, to a parser."""
    group = parser.add_subparsers(required=True, metavar="COMMAND")
    for command in commands:
        inner = group.add_parser(command.name, help=command.help, description=command.help)
        command.configure(inner)
        if command.commands:
            add_commands(inner, command.commands)
        else:
            inner.set_defaults(run=command.run)
