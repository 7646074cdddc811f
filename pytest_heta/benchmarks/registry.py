"""From what the user writes to a benchmark: ``beir:scifact``, a folder, ``file.py:attr`` or ``module:attr``."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.metadata import entry_points
from os.path import isdir  # unlike Path.is_dir it takes a name that is too long for one that does not exist
from pathlib import Path
from typing import Any, NamedTuple, cast
from urllib.parse import unquote

from pytest_heta.errors import HetaError, UnknownNameError, UsageError
from pytest_heta.loading import describe_failure, import_object, load_object
from pytest_heta.protocols import BenchmarkProtocol

Family = Callable[..., BenchmarkProtocol]
"""``from_spec(variant: str | None, *, split: str | None, options: dict[str, str], root: Path, download: bool)``."""

ENTRY_POINT_GROUP = "pytest_heta.benchmarks"
DEFAULT_ATTR = "benchmark"

_FAMILIES = {
    "beir": "pytest_heta.benchmarks.beir:from_spec",
    "uda": "pytest_heta.benchmarks.uda:from_spec",
    "multihop-rag": "pytest_heta.benchmarks.multihop_rag:from_spec",
    "jsonl": "pytest_heta.benchmarks.jsonl:from_spec",
}
_LAYOUTS = {
    "beir": ("corpus.jsonl", "queries.jsonl", "qrels"),
    "jsonl": ("documents.jsonl", "cases.jsonl", "benchmark.json"),
}
_MEMBERS = ("manifest", "resources", "prepare", "documents", "cases", "run_units", "evaluators")
_MODULE_ATTR = re.compile(r"([^\W\d]\w*(?:\.[^\W\d]\w*)*):([^\W\d]\w*)")
_FILE_ATTR = re.compile(r"(.+\.py)(?::([^\W\d]\w*))?")


class Spec(NamedTuple):
    """The parts of ``base[@split][?key=value&…]``."""

    base: str
    split: str | None
    options: dict[str, str]


def resolve_benchmark(
    spec: str, *, root: Path, download: bool = True, families: Mapping[str, Family] | None = None
) -> BenchmarkProtocol:
    """Return the benchmark that ``spec`` names.

    ``spec`` is a folder in BEIR layout (corpus.jsonl, queries.jsonl, qrels/) or JSONL layout (documents.jsonl,
    cases.jsonl); ``family[:variant]``; ``file.py[:attr]`` or ``module:attr``, where attr (``benchmark`` by default) is
    a benchmark, a class or a factory without arguments. Folders and families take ``@split`` and
    ``?key=value&key=value`` (``%26`` is an ``&``). A folder that exists comes first. Paths are below ``root``.
    ``families`` come before those of installed packages, and these before the built-in ones. With ``download`` False
    no benchmark uses the network.

    Raises:
        UsageError: the spec cannot be used, or the user's file is missing, fails, or holds no benchmark.
        UnknownNameError: nothing has this name; lists the known benchmarks.
    """
    text = spec.strip()
    if text and isdir(root / text):
        return _from_folder(root / text, Spec(text, None, {}), root, download, families)
    if file := _FILE_ATTR.fullmatch(text):
        path, attr = (root / file[1]).resolve(), file[2] or DEFAULT_ATTR
        return _benchmark(load_object(path, attr, UsageError), f"{path}:{attr}", path)
    parsed = parse_spec(text)
    if parsed.base and isdir(root / parsed.base):
        return _from_folder(root / parsed.base, parsed, root, download, families)
    name, _, variant = parsed.base.partition(":")
    if name in _all_families(families):
        return _from_family(name, variant or None, parsed, root, download, families)
    if "/" in name or "\\" in parsed.base:
        known = ", ".join(known_benchmarks(families))
        raise UsageError(f"{root / parsed.base}: there is no such folder (known benchmarks: {known})")
    return _from_module(text, root, families)


def known_benchmarks(families: Mapping[str, Family] | None = None) -> tuple[str, ...]:
    """Return the specs of all built-in and installed benchmarks, and the families among ``families``."""
    from pytest_heta.benchmarks.beir_files import DATASETS
    from pytest_heta.benchmarks.uda_subsets import SUBSETS

    variants = (*(f"beir:{name}" for name in DATASETS), *(f"uda:{name}" for name in SUBSETS))
    return (*variants, "multihop-rag", "jsonl:DIR", *sorted(_all_families(families) - set(_FAMILIES)))


def parse_spec(text: str) -> Spec:
    """Split ``base[@split][?key=value&…]``.

    Raises:
        UsageError: an option is not ``key=value`` or is given twice.
    """
    rest, _, query = text.partition("?")
    base, at, split = rest.rpartition("@")
    if not at or "/" in split or "\\" in split:  # an @ in a path
        base, split = rest, ""
    elif not split:
        raise UsageError(f"{text!r}: the split after '@' is missing")
    options: dict[str, str] = {}
    for option in filter(None, query.split("&")):
        key, equals, value = option.partition("=")
        if not equals or not key or key in options:
            raise UsageError(f"{text!r}: {option!r} must be key=value, each key once")
        options[key] = unquote(value)
    return Spec(base, split or None, options)


def _from_folder(
    folder: Path, spec: Spec, root: Path, download: bool, families: Mapping[str, Family] | None
) -> BenchmarkProtocol:
    found = [name for name, files in _LAYOUTS.items() if any((folder / file).exists() for file in files)]
    if len(found) != 1:
        layouts = "; ".join(f"{name}: {', '.join(files)}" for name, files in _LAYOUTS.items())
        raise UsageError(
            f"{folder} must be in one benchmark layout, it is in {' and '.join(found) or 'none'} ({layouts})"
        )
    if found == ["beir"]:
        from pytest_heta.benchmarks.beir import from_folder

        if spec.options:
            raise UnknownNameError("option of a BEIR folder", next(iter(spec.options)), ())
        return from_folder(folder, split=spec.split)
    return _from_family("jsonl", str(folder), spec, root, download, families)


def _from_family(
    name: str, variant: str | None, spec: Spec, root: Path, download: bool, families: Mapping[str, Family] | None
) -> BenchmarkProtocol:
    family = _load_family(name, families)
    try:
        return family(variant, split=spec.split, options=spec.options, root=root, download=download)
    except HetaError:
        raise
    except Exception as failure:
        raise UsageError(f"benchmark family {name!r}: {describe_failure(failure)}") from failure


def _from_module(text: str, root: Path, families: Mapping[str, Family] | None) -> BenchmarkProtocol:
    unknown = UnknownNameError("benchmark", text, known_benchmarks(families))
    match = _MODULE_ATTR.fullmatch(text)
    if not match:
        raise unknown
    try:
        found = import_object(match[1], match[2], UsageError, root=root)
    except ModuleNotFoundError:
        raise unknown from None
    return _benchmark(found, text)


def _benchmark(found: Any, where: str, path: Path | None = None) -> BenchmarkProtocol:
    """Return ``found`` if it is a benchmark, else what it makes when called."""
    try:
        if inspect.isclass(found) or (callable(found) and _missing(found)):
            found = found()
        missing = _missing(found)
    except HetaError:
        raise
    except Exception as failure:
        raise UsageError(f"{where}: {describe_failure(failure, path)}") from failure
    if missing:
        raise UsageError(f"{where}: {type(found).__name__} is not a benchmark, it has no {', '.join(missing)}")
    return cast(BenchmarkProtocol, found)


def _missing(found: object) -> list[str]:
    return [member for member in _MEMBERS if not hasattr(found, member)]


def _all_families(families: Mapping[str, Family] | None) -> set[str]:
    installed = (entry_point.name for entry_point in entry_points(group=ENTRY_POINT_GROUP))
    return {*_FAMILIES, *installed, *(families or {})}


def _load_family(name: str, families: Mapping[str, Family] | None) -> Family:
    if families and name in families:
        return families[name]
    for entry_point in entry_points(group=ENTRY_POINT_GROUP, name=name):
        try:
            return cast(Family, entry_point.load())
        except Exception as failure:
            raise UsageError(
                f"benchmark family {name!r} ({entry_point.value}): {describe_failure(failure)}"
            ) from failure
    module, _, function = _FAMILIES[name].partition(":")
    return cast(Family, getattr(import_module(module), function))
