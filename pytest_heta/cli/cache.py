"""``python -m pytest_heta cache``: look at the knowledge bases that are kept, and remove some."""

from __future__ import annotations

import argparse
import asyncio
import re
import sys
from datetime import datetime
from pathlib import Path

from pytest_heta.calling import call
from pytest_heta.cli.command import Command
from pytest_heta.engine.cache import DEFAULT_LIMIT, KnowledgeBaseCache, StoredEntry
from pytest_heta.engine.outside import Outside
from pytest_heta.errors import UsageError
from pytest_heta.locations import kb_cache_dir

_KEY_SHOWN = 12
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGT]?)(i?)B?", re.IGNORECASE)


def parse_size(text: str) -> int:
    """Return the bytes that ``500MB``, ``20GiB``, ``1.5g`` or ``0`` mean; k is 1000, ki is 1024."""
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        raise argparse.ArgumentTypeError(f"not a size: {text!r} (write 500MB, 20GiB or a number of bytes)")
    number, prefix, binary = match.groups()
    return int(float(number) * (1024 if binary else 1000) ** " KMGT".index(prefix.upper() or " "))


def format_size(size: float) -> str:
    """Return a size for people: ``31.4 MB``."""
    for unit in ("B", "kB", "MB", "GB"):
        if size < 999.5:
            return f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:.3g} TB"


def _list(arguments: argparse.Namespace) -> int:
    cache = _cache(arguments)
    entries = cache.list_entries()
    for entry in entries:
        print(_line(entry, in_use=cache.in_use(entry)))
    print(_total(entries, f"in {arguments.kb_cache}"))
    return 0


def _remove(arguments: argparse.Namespace) -> int:
    cache, kept = _cache(arguments), 0
    outside = _outside(arguments)
    for prefix in arguments.key:
        found = [entry for entry in cache.list_entries() if entry.key.startswith(prefix)]
        if not found:
            raise UsageError(f"no knowledge base in {arguments.kb_cache} has a key that begins with {prefix!r}")
        removed = cache.remove(prefix, outside)
        print(_total(removed, "removed"))
        gone = {entry.path for entry in removed}
        kept += _tell_kept(cache, [entry for entry in found if entry.path not in gone], advise=outside is None)
    return 1 if kept else 0


def _tell_kept(cache: KnowledgeBaseCache, kept: list[StoredEntry], *, advise: bool) -> int:
    """Say why knowledge bases were not removed and, with ``advise``, how they can be; return how many."""
    used = [entry for entry in kept if cache.in_use(entry)]
    if used:
        print(f"{len(used)} in use, not removed", file=sys.stderr)
    for entry in kept if advise else ():
        if entry not in used and entry.outside is not None:
            print(
                f"{entry.key[:_KEY_SHOWN]} points outside of the cache, such as to a table on a server, and is kept: "
                f"--recipe={entry.outside or 'FILE.py'} removes both, --forget leaves there what it points to",
                file=sys.stderr,
            )
    return len(kept)


def _outside(arguments: argparse.Namespace) -> Outside | None:
    """Return how to remove what knowledge bases point to, where the arguments say so."""
    if arguments.recipe is None:
        return Outside(lambda path: None) if arguments.forget else None
    from pytest_heta.engine.recipes import load_recipe, parse_recipe_spec

    loaded = asyncio.run(load_recipe(parse_recipe_spec(arguments.recipe, Path.cwd())))
    drop = getattr(loaded.recipe, "drop", None)
    if drop is None:
        raise UsageError(f"recipe {arguments.recipe} has no drop: it makes nothing outside of the cache")
    return Outside(lambda path: asyncio.run(call(drop, path)))


def _collect(arguments: argparse.Namespace) -> int:
    cache = _cache(arguments)
    print(_total(cache.collect_garbage(), "removed"))
    outside = [entry for entry in cache.list_entries() if entry.outside is not None]
    if outside:
        print(
            _total(outside, "never collected, as they point outside of the cache (see `cache ls`, `cache rm --recipe`)")
        )
    return 0


def _cache(arguments: argparse.Namespace) -> KnowledgeBaseCache:
    limit = getattr(arguments, "limit", DEFAULT_LIMIT)
    return KnowledgeBaseCache(arguments.kb_cache, limit_bytes=limit, notice=print)


def _line(entry: StoredEntry, *, in_use: bool) -> str:
    used = datetime.fromtimestamp(entry.last_used).isoformat(" ", "minutes")
    start = f"{entry.key[:_KEY_SHOWN]}  {format_size(entry.size):>8}  used {used}"
    marks = [] if entry.outside is None else [f"(points outside of the cache: {entry.outside})"]
    if in_use:
        marks.insert(0, "(in use)")
    if entry.manifest is None:
        return "  ".join([start, "(damaged)" if entry.finished else "(unfinished)", *marks])
    label = " ".join(f"{name}={value}" for name, value in entry.manifest.label.items())
    return "  ".join([start, f"built in {entry.manifest.build_seconds:.3g} s", *marks, label])


def _total(entries: list[StoredEntry], what: str) -> str:
    bases = "knowledge base" if len(entries) == 1 else "knowledge bases"
    return f"{len(entries)} {bases}, {format_size(sum(entry.size for entry in entries))} {what}"


def _add_folder(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--kb-cache", metavar="DIR", type=Path, default=kb_cache_dir(), help="the KB cache (default: %(default)s)"
    )


def _add_keys(parser: argparse.ArgumentParser) -> None:
    _add_folder(parser)
    parser.add_argument("key", nargs="+", metavar="KEY", help="the key, or its beginning, as `cache ls` shows it")
    outside = parser.add_mutually_exclusive_group()
    outside.add_argument(
        "--recipe",
        metavar="RECIPE",
        help="FILE.py or FILE.py:ATTRIBUTE, whose `drop` removes what they point to, such as tables on a server",
    )
    outside.add_argument("--forget", action="store_true", help="leave there what they point to")


def _add_limit(parser: argparse.ArgumentParser) -> None:
    _add_folder(parser)
    parser.add_argument(
        "--limit",
        metavar="SIZE",
        type=parse_size,
        default=DEFAULT_LIMIT,
        help="keep at most SIZE, such as 500MB or 20GiB, of the most recently used (default: 20GiB)",
    )


COMMAND = Command(
    "cache",
    "look at the knowledge bases that are kept, and remove some",
    lambda parser: None,
    commands=(
        Command("ls", "list the knowledge bases, least recently used first", _add_folder, _list),
        Command("rm", "remove knowledge bases by key; those in use are kept", _add_keys, _remove),
        Command("gc", "remove leftovers, replaced and damaged entries, and what exceeds a size", _add_limit, _collect),
    ),
)
