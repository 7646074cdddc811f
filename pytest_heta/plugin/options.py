"""The options: one table, and the values that a run gets from the command line or else the ini file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

GROUP = "heta"
SUITE_SUFFIX, ADDRESS_SUFFIX = ".heta.toml", ".url"


@dataclass(frozen=True)
class Option:
    """One command line flag and, where ``ini`` is its type, the ini option of the same name.

    ``optional`` is the value of a flag that was given without one.
    """

    flag: str
    help: str
    ini: str | None = None
    metavar: str = "VALUE"
    type: Any = None
    repeat: bool = False
    switch: bool = False
    optional: str | None = None

    @property
    def dest(self) -> str:
        """The name under which the value is kept, which is also that of the ini option."""
        return self.flag.removeprefix("--").replace("-", "_")


def positive(text: str) -> int:
    """Read a whole number from 1."""
    number = int(text)
    if number < 1:
        raise ValueError(text)
    return number


def seconds(text: str) -> float:
    """Read a positive number of seconds."""
    number = float(text)
    if not 0 < number < float("inf"):
        raise ValueError(text)
    return number


LAST_RUN = "last"
"""What stands for the last run."""

_BOUND = "METRIC=VALUE"

OPTIONS = (
    Option(
        "--heta-benchmark",
        "benchmark to run: FAMILY:VARIANT[@SPLIT][?KEY=VALUE&…], a folder in BEIR or JSONL layout, or FILE.py:ATTR; "
        "'list' prints the known ones; may be repeated",
        metavar="SPEC",
        repeat=True,
    ),
    Option(
        "--heta-recipe",
        "recipe to evaluate: FILE.py[:ATTR], or the address of a service, https://HOST/…?q={query}[#OPTION=VALUE&…]; "
        "may be repeated",
        metavar="SPEC",
        repeat=True,
    ),
    Option("--heta-mode", "query mode (default: all of the recipe); may be repeated", "args", "MODE", repeat=True),
    Option("--heta-top-k", "results to ask for (default: what the deepest metric needs)", "string", "K", positive),
    Option("--heta-limit", "run only the first N cases of each benchmark", metavar="N", type=positive),
    Option("--heta-sample", "run only N cases, the same ones whatever their order", metavar="N", type=positive),
    Option("--heta-stratify", "sample equal shares by this label, or by 'unit'", metavar="LABEL"),
    Option("--heta-case", "run only the case of this id; may be repeated", metavar="ID", repeat=True),
    Option("--heta-slice", "report by this label too; may be repeated", "args", "LABEL", repeat=True),
    Option("--heta-min", "fail the run if the mean is below: METRIC=VALUE", "linelist", _BOUND, repeat=True),
    Option("--heta-max", "fail the run if the mean is above: METRIC=VALUE", "linelist", _BOUND, repeat=True),
    Option("--heta-case-min", "fail each case below: METRIC=VALUE", "linelist", _BOUND, repeat=True),
    Option("--heta-case-max", "fail each case above: METRIC=VALUE", "linelist", _BOUND, repeat=True),
    Option("--heta-baseline", "compare with the baseline in FILE", "string", "FILE"),
    Option("--heta-update-baseline", "write the run to the baseline file", switch=True),
    Option("--heta-require-baseline", "fail where there is no baseline yet", "bool", switch=True),
    Option("--heta-max-drop", "fail if a mean drops further: METRIC=VALUE or %%", "linelist", _BOUND, repeat=True),
    Option("--heta-significant", "fail if it does, significantly: METRIC=VALUE or %%", "linelist", _BOUND, repeat=True),
    Option(
        "--heta-non-inferior", "fail unless it surely does not: METRIC=VALUE or %%", "linelist", _BOUND, repeat=True
    ),
    Option(
        "--heta-report",
        "write the report to PATH, in the format of its suffix; may be repeated",
        "args",
        "PATH",
        repeat=True,
    ),
    Option("--heta-github", "print failed gates as GitHub annotations", "bool", switch=True),
    Option("--heta-show", "show all that came for the case of this id; may be repeated", metavar="ID", repeat=True),
    Option("--heta-texts", "keep the texts of the hits in the report", "bool", switch=True),
    Option("--heta-resume", "go on with RUN (default: the last one)", metavar="RUN", optional=LAST_RUN),
    Option("--heta-replay", "judge again what a report or run folder has recorded", metavar="PATH"),
    Option("--heta-shard", "run only shard I of N: I/N", metavar="I/N"),
    Option("--heta-cache-dir", "folder for data sets and knowledge bases", "string", "DIR"),
    Option("--heta-kb-cache", "folder of the knowledge base cache, or 'off'", "string", "DIR"),
    Option("--heta-rebuild", "build knowledge bases anew even where they are cached", switch=True),
    Option("--heta-offline", "never download", "bool", switch=True),
    Option("--heta-concurrency", "queries under way at once in a process (default 8)", "string", "N", positive),
    Option("--heta-open-kbs", "knowledge bases open at once in a process (default 4)", "string", "N", positive),
    Option("--heta-timeout", "seconds that a query may take", "string", "SECONDS", seconds),
)


def add_options(parser: pytest.Parser) -> None:
    """Declare all options. Defaults are None, so that the command line can be told from the ini file."""
    group = parser.getgroup(GROUP, "retrieval and RAG benchmarks")
    for option in OPTIONS:
        if option.switch:
            group.addoption(option.flag, action="store_true", default=None, help=option.help)
        else:
            action = "append" if option.repeat else "store"
            extra = {} if option.optional is None else {"nargs": "?", "const": option.optional}
            group.addoption(
                option.flag,
                action=action,
                default=None,
                metavar=option.metavar,
                type=option.type,
                help=option.help,
                **extra,
            )
        if option.ini:
            parser.addini(option.dest, option.help, type=option.ini, default=None)  # type: ignore[arg-type]


def option_value(config: pytest.Config, flag: str) -> Any:
    """Return what the command line says, else the ini file, else None (an empty tuple for repeatable options).

    Raises:
        UsageError: where the ini file's value is of the wrong kind.

    """
    option = next(option for option in OPTIONS if option.flag == flag)
    value = config.getoption(option.dest, default=None)
    if value is None and option.ini:
        value = _from_ini(config, option)
    return tuple(value or ()) if option.repeat else value


def _from_ini(config: pytest.Config, option: Option) -> Any:
    try:
        value = config.getini(option.dest)
        return option.type(value) if value and option.type else value
    except (TypeError, ValueError) as error:
        raise pytest.UsageError(f"ini option {option.dest}: {error}") from error
