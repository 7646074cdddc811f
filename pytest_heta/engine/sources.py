"""The local source files that a recipe is made of, found by reading them, not by what happens to be imported."""

from __future__ import annotations

import ast
import os
import sys
import warnings
from collections.abc import Iterable, Iterator
from functools import cache
from hashlib import sha256
from importlib import metadata
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent.parent
_ROOT_MARKS = ("pyproject.toml", "setup.py", "setup.cfg", "pytest.ini", "tox.ini", ".git", ".hg")
_INSTALLED = {"site-packages", "dist-packages"}


class RecipeSources:
    """A recipe's file and the local modules that it imports, directly or through each other.

    Local are the files of the recipe's project: those below the nearest folder above it with a project file
    (pyproject.toml, pytest.ini, .git, …), or below its own folder where there is none; an installed recipe's project
    is its package. Neither installed packages nor pytest-heta itself are local. An absolute import is looked for
    beside the recipe, at the project's root, in its ``src``, beside the importing file and, last, among the modules
    already imported; all matches count. Only ``import`` statements are seen, at any depth of the code.

    ``files`` are the local files, ``foreign`` the top-level modules that are imported from elsewhere.
    """

    def __init__(self, file: Path) -> None:
        self._file = file.resolve()
        self._root = _project_root(self._file)
        self.files: set[Path] = set()
        self.foreign: set[str] = set()
        self._walk()

    def digests(self) -> dict[str, str]:
        """Return the sha256 of each local file, by its path relative to the recipe's folder."""
        folder = self._file.parent
        return {
            Path(os.path.relpath(file, folder)).as_posix(): sha256(file.read_bytes()).hexdigest() for file in self.files
        }

    def distributions(self) -> set[str]:
        """Return the names of the installed distributions that the local files import."""
        modules = self.foreign - sys.stdlib_module_names - {_PACKAGE.name}
        return {name for module in modules for name in _distributions_of(module)}

    def _walk(self) -> None:
        waiting = [self._file]
        while waiting:
            file = waiting.pop()
            if file not in self.files:
                self.files.add(file)
                for node in _import_nodes(file):
                    waiting += self._imported_by(node, file)

    def _imported_by(self, node: ast.Import | ast.ImportFrom, file: Path) -> list[Path]:
        if isinstance(node, ast.ImportFrom) and node.level:
            base = file.parents[min(node.level, len(file.parents)) - 1]
            inner = node.module.split(".") if node.module else []
            paths = [path for name in node.names for path in _modules(base, [*inner, name.name])]
            return self._local([base / "__init__.py", *paths])
        found = []
        for dotted in _absolute_names(node):
            local = self._absolute(dotted, beside=file.parent)
            found += local
            if not local:
                self.foreign.add(dotted.partition(".")[0])
        return found

    def _absolute(self, dotted: str, *, beside: Path) -> list[Path]:
        bases = (self._file.parent, self._root, self._root / "src", self._root.parent, beside)
        parts = dotted.split(".")
        found = self._local(path for base in bases for path in _modules(base, parts))
        return found or self._local(_already_imported(parts))

    def _local(self, paths: Iterable[Path]) -> list[Path]:
        return [path for path in map(Path.resolve, paths) if self._is_local(path) and path.is_file()]

    def _is_local(self, file: Path) -> bool:
        if not file.is_relative_to(self._root) or file.is_relative_to(_PACKAGE):
            return False
        return not _INSTALLED.intersection(file.relative_to(self._root).parts)


def _project_root(file: Path) -> Path:
    """Return the folder of the file's project; the file itself where it is installed alone."""
    if _INSTALLED.isdisjoint(file.parts):
        marked = (folder for folder in file.parents if any((folder / mark).exists() for mark in _ROOT_MARKS))
        return next(marked, file.parent)
    root = file
    while root.parent.name not in _INSTALLED and (root == file or (root.parent / "__init__.py").is_file()):
        root = root.parent
    return root


def _modules(base: Path, parts: list[str]) -> Iterator[Path]:
    """Yield the files that importing ``parts`` from a folder may run, those of the packages on the way as well."""
    for depth in range(1, len(parts) + 1):
        place = base.joinpath(*parts[:depth])
        yield place / "__init__.py"
        yield place.with_name(f"{place.name}.py")


def _already_imported(parts: list[str]) -> Iterator[Path]:
    for depth in range(1, len(parts) + 1):
        file = getattr(sys.modules.get(".".join(parts[:depth])), "__file__", None)
        if file and file.endswith(".py"):
            yield Path(file)


def _import_nodes(file: Path) -> Iterator[ast.Import | ast.ImportFrom]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            tree = ast.parse(file.read_bytes())
        except (SyntaxError, ValueError):
            return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node


def _absolute_names(node: ast.Import | ast.ImportFrom) -> list[str]:
    """Return the modules that an absolute import may mean: ``from a import b`` may mean ``a.b``."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    return [] if node.level else [f"{node.module}.{alias.name}" for alias in node.names]


def _distributions_of(module: str) -> tuple[str, ...]:
    try:
        return (metadata.distribution(module).metadata["Name"],)
    except metadata.PackageNotFoundError:
        return tuple(_distributions_by_module().get(module, ()))


@cache
def _distributions_by_module() -> dict[str, list[str]]:
    return {module: sorted(set(names)) for module, names in metadata.packages_distributions().items()}
