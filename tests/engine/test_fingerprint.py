"""What changes the digests that a cached knowledge base is found by, and what does not."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from pytest_heta.engine import entry
from pytest_heta.engine import fingerprint as fingerprint_module
from pytest_heta.engine.fingerprint import DocumentsDigest, recipe_fingerprint
from pytest_heta.engine.sources import RecipeSources
from pytest_heta.errors import RecipeError

FILES = {
    "pyproject.toml": "",
    "recipes/vector.py": "import json, helpers\nfrom shared.text import clean\ndef lazily():\n    import deep.inner\n",
    "recipes/helpers.py": "import numpy\nimport cycle\n",
    "recipes/cycle.py": "import helpers\n",
    "shared/__init__.py": "from .common import *\n",
    "shared/text.py": "from . import stem as s\nfrom ..outside import nothing\n",
    "shared/common.py": "import pytest_heta.errors\n",
    "shared/stem.py": "PATTERN = '\\d'  # a warning for the compiler\n",
    "src/deep/__init__.py": "",
    "src/deep/inner.py": "",
    "recipes/unrelated.py": "",
    ".venv/lib/site-packages/numpy/__init__.py": "",
}
USED = set(FILES) - {"pyproject.toml", "recipes/unrelated.py", ".venv/lib/site-packages/numpy/__init__.py"}


class Recipe:
    """A recipe with whatever attributes a test gives it."""

    def __init__(self, **attributes: Any) -> None:
        self.__dict__.update(attributes)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with a recipe and the local modules that it uses."""
    root = tmp_path / "project"
    for name, text in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def digest_of(*documents: tuple[str, str, str, bytes]) -> str:
    """Return the digest of some documents."""
    digest = DocumentsDigest()
    for document in documents:
        digest.update(*document)
    return digest.hexdigest()


def test_documents_digest_value() -> None:
    """The digest is the sha256 of all fields, each behind its length in eight bytes."""
    expected = sha256()
    for part in (b"d\xc3\xa9", b"d.txt", b"text/plain", b"\x00\xff"):
        expected.update(len(part).to_bytes(8, "big") + part)
    assert digest_of(("dé", "d.txt", "text/plain", b"\x00\xff")) == expected.hexdigest()


def test_documents_digest_tells_documents_apart() -> None:
    """Each field, the order and the number of documents count, and a text cannot move from one field to the next."""
    one, two = ("1", "a.txt", "text/plain", b"x"), ("2", "b.txt", "text/plain", b"y")
    digests = [
        digest_of(),
        digest_of(one),
        digest_of(one, two),
        digest_of(two, one),
        digest_of(one, one),
        digest_of(("3", *one[1:])),
        digest_of(("1", "b.txt", *one[2:])),
        digest_of((*one[:2], "text/html", b"x")),
        digest_of((*one[:3], b"z")),
        digest_of(("1a", ".txt", "text/plain", b"x")),
    ]
    assert len(set(digests)) == len(digests)


def test_sources_are_the_local_modules(project: Path) -> None:
    """The sources are the recipe and what it imports locally, absolutely, relatively and lazily, and nothing else."""
    sources = RecipeSources(project / "recipes" / "vector.py")
    assert {path.relative_to(project.resolve()).as_posix() for path in sources.files} == USED
    assert sources.distributions() == {"numpy"}


@pytest.mark.parametrize("name", sorted(FILES))
def test_source_changes(project: Path, name: str) -> None:
    """A changed source changes the fingerprint exactly if the recipe uses it."""
    file, recipe = project / "recipes" / "vector.py", Recipe(manifest={"model": "m"})
    before = recipe_fingerprint(recipe, file)
    with (project / name).open("a") as changed:
        changed.write("# changed\n")
    assert (recipe_fingerprint(recipe, file) != before) == (name in USED)


def test_place_does_not_count(project: Path, tmp_path: Path) -> None:
    """The same project in another folder has the same fingerprint."""
    elsewhere = tmp_path / "else" / "where"
    shutil.copytree(project, elsewhere)
    recipe = Recipe(manifest={"model": "m"})
    assert recipe_fingerprint(recipe, elsewhere / "recipes" / "vector.py") == recipe_fingerprint(
        recipe, project / "recipes" / "vector.py"
    )


SCRIPT = """
import sys
from pathlib import Path
root = Path(sys.argv[1])
sys.path[:0] = [str(root / "recipes"), str(root), str(root / "src")]
for name in sys.argv[2:]:
    __import__(name)
from pytest_heta.engine.fingerprint import recipe_fingerprint
class Recipe:
    libraries = ("pydantic", "numpy", "pytest")
    tags = {"a", "b", "c", "d"}
    def __init__(self):
        self.tags = set(self.tags)
print(recipe_fingerprint(Recipe(), root / "recipes" / "vector.py"))
"""


def test_process_does_not_count(project: Path) -> None:
    """Neither PYTHONHASHSEED nor what was imported before, and in which order, changes the fingerprint."""
    (project / "outside.py").write_text("")
    (project / "shared" / "text.py").write_text("from . import stem\n")
    (project / "recipes" / "helpers.py").write_text("")
    printed = {
        subprocess.run(
            [sys.executable, "-c", SCRIPT, str(project), *imported],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed, imported in {"0": [], "1": ["shared.stem", "helpers"], "2": ["helpers", "deep.inner"]}.items()
    }
    assert len(printed) == 1


def test_already_imported_module_elsewhere_in_the_project(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A local module on an unusual path is found where Python has imported it from."""
    (project / "lib").mkdir()
    (project / "lib" / "heta_test_oddity.py").write_text("")
    (project / "recipes" / "vector.py").write_text("from heta_test_oddity import something\n")
    monkeypatch.syspath_prepend(project / "lib")
    assert len(RecipeSources(project / "recipes" / "vector.py").files) == 1
    __import__("heta_test_oddity")
    monkeypatch.delitem(sys.modules, "heta_test_oddity", raising=False)
    module = __import__("heta_test_oddity")
    monkeypatch.setitem(sys.modules, "heta_test_oddity", module)
    assert len(RecipeSources(project / "recipes" / "vector.py").files) == 2


def test_installed_recipe(tmp_path: Path) -> None:
    """The project of an installed recipe is its package; one that is a single module stands alone."""
    site = tmp_path / "site-packages"
    for name, text in {
        "pack/__init__.py": "",
        "pack/inner/__init__.py": "",
        "pack/inner/recipe.py": "import pack.other\nimport third",
        "pack/other.py": "",
        "third.py": "",
        "single.py": "import third",
    }.items():
        (site / name).parent.mkdir(parents=True, exist_ok=True)
        (site / name).write_text(text)
    packaged, single = RecipeSources(site / "pack" / "inner" / "recipe.py"), RecipeSources(site / "single.py")
    assert {path.name for path in packaged.files} == {"recipe.py", "other.py", "__init__.py"}
    assert {path.name for path in single.files} == {"single.py"}


def test_library_versions(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The version of a library that the recipe names, or that its sources import, changes the fingerprint."""
    versions = {"numpy": "1", "engine": "1", "other": "1"}
    monkeypatch.setattr(fingerprint_module, "_version", versions.get)
    recipe = Recipe(manifest={}, libraries=("engine",))
    fingerprints = []
    for changed in ("", "other", "engine", "numpy"):
        versions[changed] = "2"
        fingerprints.append(recipe_fingerprint(recipe, project / "recipes" / "vector.py"))
    assert fingerprints[0] == fingerprints[1]
    assert len(set(fingerprints)) == 3


def test_declared_configuration(project: Path) -> None:
    """The manifest counts, but not the order of its keys; a fingerprint() takes its place."""
    file = project / "recipes" / "vector.py"
    base = recipe_fingerprint(Recipe(manifest={"k1": 0.9, "b": 0.4}), file)
    assert recipe_fingerprint(Recipe(manifest={"b": 0.4, "k1": 0.9}), file) == base
    assert recipe_fingerprint(Recipe(manifest={"b": 0.4, "k1": 1.2}), file) != base
    own = recipe_fingerprint(Recipe(manifest={"k1": 0.9}, fingerprint=lambda: "mine"), file)
    assert recipe_fingerprint(Recipe(manifest={"k1": 1.2}, fingerprint=lambda: "mine"), file) == own
    assert recipe_fingerprint(Recipe(fingerprint=lambda: "another"), file) != own


def test_format_counts(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another version of the cache's format is another fingerprint."""
    file, recipe = project / "recipes" / "vector.py", Recipe(manifest={})
    before = recipe_fingerprint(recipe, file)
    monkeypatch.setattr(entry, "FORMAT", entry.FORMAT + 1)
    assert recipe_fingerprint(recipe, file) != before


def test_undeclared_configuration(project: Path) -> None:
    """Recipes of one file that declare nothing are told apart by their attributes."""
    file = project / "recipes" / "vector.py"
    assert recipe_fingerprint(Recipe(k1=0.9), file) == recipe_fingerprint(Recipe(k1=0.9), file)
    assert recipe_fingerprint(Recipe(k1=0.9), file) != recipe_fingerprint(Recipe(k1=1.2), file)


def test_file_of_the_class() -> None:
    """Without a file, that of the recipe's class counts."""
    assert recipe_fingerprint(Recipe(), None) == recipe_fingerprint(Recipe(), Path(__file__))


def test_unidentifiable_recipe() -> None:
    """A recipe that declares nothing and has no file cannot be told from others, and the message says what to do."""
    with pytest.raises(RecipeError, match=r"Loose: cannot tell when this recipe changes.*`manifest`.*kb-cache=off"):
        recipe_fingerprint(type("Loose", (), {"__module__": "builtins"})(), None)


@pytest.mark.parametrize("manifest", [{"k": object()}, {"k": float("nan")}, 3])
def test_manifest_must_be_json(manifest: object) -> None:
    """A manifest that is not a mapping of JSON is a RecipeError."""
    with pytest.raises(RecipeError, match="Recipe: the manifest must be a mapping of JSON"):
        recipe_fingerprint(Recipe(manifest=manifest), None)


def test_libraries_must_be_a_tuple() -> None:
    """A text in place of the names of libraries is a RecipeError, as its letters would be taken for names."""
    with pytest.raises(RecipeError, match=r"Recipe: libraries must be a tuple of names, such as \('bm25s',\)"):
        recipe_fingerprint(Recipe(manifest={}, libraries="bm25s"), None)
