"""Objects out of the user's Python code, and clear words about what goes wrong in it."""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
import sysconfig
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from hashlib import sha256
from pathlib import Path
from types import ModuleType
from typing import Any

from pytest_heta.errors import HetaError


def load_object(path: Path, attr: str, error: Callable[[str], HetaError]) -> Any:
    """Return the attribute ``attr`` of the Python file ``path``.

    The file is imported once in a process, under a name of its own in ``sys.modules``; during the import its folder
    comes first on ``sys.path``, so that it can import its neighbours.

    Raises:
        HetaError: what ``error`` makes of the message: the file is missing, fails (``file:line`` of the user's code,
            the exception as ``__cause__``), or has no such attribute.
    """
    path = path.resolve()
    if not path.is_file():
        raise error(f"{path}: there is no such file")
    name = f"_heta_{path.stem}_{sha256(str(path).encode()).hexdigest()[:12]}"
    module = sys.modules.get(name) or _import_file(path, name, error)
    return _attribute(module, attr, str(path), error)


def import_object(module_name: str, attr: str, error: Callable[[str], HetaError], *, root: Path) -> Any:
    """Return the attribute ``attr`` of an importable module; during the import ``root`` is on ``sys.path``.

    Raises:
        ModuleNotFoundError: there is no module of this name.
        HetaError: what ``error`` makes of the message: the module fails when imported or has no such attribute.
    """
    with _first_on_path(root):
        try:
            module = importlib.import_module(module_name)
        except ModuleNotFoundError as missing:
            if missing.name and (module_name == missing.name or module_name.startswith(f"{missing.name}.")):
                raise
            raise error(f"{module_name}: {describe_failure(missing)}") from missing
        except (Exception, SystemExit) as failure:
            raise error(f"{module_name}: {describe_failure(failure)}") from failure
    return _attribute(module, attr, module_name, error)


def describe_failure(failure: BaseException, path: Path | None = None) -> str:
    """Say where and how the user's code failed: ``file:line: Type: message``.

    The place is that of the syntax error, or the deepest frame in the file ``path``, or the deepest of all.
    """
    if isinstance(failure, SyntaxError) and failure.filename and Path(failure.filename).is_file():
        return f"{failure.filename}:{failure.lineno}: {type(failure).__name__}: {failure.msg}"
    frames = traceback.extract_tb(failure.__traceback__)
    places = [f"{frame.filename}:{frame.lineno}: " for frame in frames if path is None or frame.filename == str(path)]
    written = [place for place in places if not place.startswith("<frozen ")]
    return f"{written[-1] if written else ''}{type(failure).__name__}: {failure}"


def users_place(failure: BaseException) -> str | None:
    """Return ``file:line`` of the deepest frame in code that is neither ours, nor Python's, nor an installed package's.

    Only the file's name is told, so that reports of different machines are the same.
    """
    frames = traceback.extract_tb(failure.__traceback__)
    written = [frame for frame in frames if not frame.filename.startswith(("<", *_foreign_folders()))]
    return f"{Path(written[-1].filename).name}:{written[-1].lineno}" if written else None


@cache
def _foreign_folders() -> tuple[str, ...]:
    paths = sysconfig.get_paths()
    folders = {str(Path(__file__).parent), *(paths[name] for name in ("stdlib", "platstdlib", "purelib", "platlib"))}
    return tuple(f"{folder}{os.sep}" for folder in sorted(folders))


def _import_file(path: Path, name: str, error: Callable[[str], HetaError]) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise error(f"{path}: not a Python file (its name must end in .py)")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        with _first_on_path(path.parent):
            spec.loader.exec_module(module)
    except BaseException as failure:
        del sys.modules[name]  # half a module must not be found the next time
        if isinstance(failure, Exception | SystemExit):
            raise error(describe_failure(failure, path)) from failure
        raise
    return module


def _attribute(module: ModuleType, attr: str, where: str, error: Callable[[str], HetaError]) -> Any:
    try:
        return getattr(module, attr)
    except AttributeError:
        names = ", ".join(name for name in vars(module) if not name.startswith("_"))
        raise error(f"{where}: has no {attr!r} (it has: {names or 'nothing'})") from None


@contextmanager
def _first_on_path(folder: Path) -> Iterator[None]:
    entry = str(folder)
    sys.path.insert(0, entry)
    try:
        yield
    finally:
        if entry in sys.path:
            sys.path.remove(entry)
