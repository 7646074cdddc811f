"""From the spec that a user writes to a benchmark."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from pytest_heta.benchmarks.beir import BeirBenchmark
from pytest_heta.benchmarks.registry import Spec, known_benchmarks, parse_spec, resolve_benchmark
from pytest_heta.errors import UnknownNameError, UsageError
from tests.benchmarks.beir_samples import cases, write_beir

_PROGRAM = """
from pytest_heta.benchmarks.beir import BeirBenchmark

benchmark = BeirBenchmark("mini")
def factory():
    return BeirBenchmark("made")
class Own(BeirBenchmark):
    def __init__(self):
        super().__init__("own")
def needs(argument):
    return BeirBenchmark(argument)
def failing():
    raise KeyError("lost")
number = 7
"""


def _recorder(calls: list[dict[str, Any]]) -> Any:
    def from_spec(variant: str | None, **arguments: Any) -> BeirBenchmark:
        calls.append({"variant": variant, **arguments})
        return BeirBenchmark("recorded")

    return from_spec


@pytest.mark.parametrize(
    ("text", "spec"),
    [
        ("beir:scifact", Spec("beir:scifact", None, {})),
        ("beir:nfcorpus@dev", Spec("beir:nfcorpus", "dev", {})),
        (
            "uda:fin?source_root=/a b/c+d&docs=A%26B,C",
            Spec("uda:fin", None, {"source_root": "/a b/c+d", "docs": "A&B,C"}),
        ),
        (
            "beir:x@dev?dataset_url=http://me@host/x.zip?v=1",
            Spec("beir:x", "dev", {"dataset_url": "http://me@host/x.zip?v=1"}),
        ),
        ("jsonl:/home/me@host/data", Spec("jsonl:/home/me@host/data", None, {})),
        ("a?x=", Spec("a", None, {"x": ""})),
    ],
)
def test_a_spec_is_taken_apart(text: str, spec: Spec) -> None:
    """Base, split and options are told apart, also where an address or a path holds their signs."""
    assert parse_spec(text) == spec


@pytest.mark.parametrize("text", ["beir:x@", "beir:x?split", "beir:x?=1", "beir:x?a=1&a=2"])
def test_a_broken_spec_is_an_error(text: str) -> None:
    """An empty split and an option that is not ``key=value`` once are errors that show the spec."""
    with pytest.raises(UsageError, match=f"'{text}'".replace("?", r"\?")):
        parse_spec(text)


def test_a_beir_name(tmp_path: Path) -> None:
    """``beir:name@split`` is that data set and split, and the download switch is passed on."""
    benchmark = resolve_benchmark(" beir:cqadupstack/gis@dev ", root=tmp_path, download=False)
    assert isinstance(benchmark, BeirBenchmark)
    assert (benchmark.dataset, benchmark.split, benchmark.download) == ("cqadupstack/gis", "dev", False)


@pytest.mark.parametrize(
    ("spec", "name"),
    [("beir:fiqa", "beir_fiqa"), ("uda:tat", "uda_tat"), ("multihop-rag", "multihop_rag"), ("jsonl:own", "own")],
)
def test_each_built_in_family(tmp_path: Path, spec: str, name: str) -> None:
    """Every family of the package makes its benchmark from a spec."""
    (tmp_path / "own").mkdir()
    assert resolve_benchmark(spec, root=tmp_path, download=False).manifest.name == name


def test_a_folder_in_beir_layout(tmp_path: Path) -> None:
    """A folder is read as it lies, with or without ``@split``, and its cases come out."""
    write_beir(write_beir(tmp_path / "sets" / "handbook"), split="dev", qrels="q2\td1\t1\n")
    for spec, count in {"sets/handbook": 2, "sets/handbook/": 2, "sets/handbook@dev": 1}.items():
        benchmark = resolve_benchmark(spec, root=tmp_path)
        assert isinstance(benchmark, BeirBenchmark)
        assert benchmark.manifest.name == "beir_handbook"
        assert len(cases(benchmark, tmp_path)) == count
    with pytest.raises(UnknownNameError, match="unknown option of a BEIR folder 'x'"):
        resolve_benchmark("sets/handbook?x=1", root=tmp_path)


def test_a_folder_in_jsonl_layout(tmp_path: Path) -> None:
    """A folder with documents.jsonl and cases.jsonl goes to the family ``jsonl`` with its path."""
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "cases.jsonl").write_text("")
    calls: list[dict[str, Any]] = []
    resolve_benchmark("own@dev?a=1", root=tmp_path, download=False, families={"jsonl": _recorder(calls)})
    assert calls == [
        {"variant": str(tmp_path / "own"), "split": "dev", "options": {"a": "1"}, "root": tmp_path, "download": False}
    ]


def test_a_folder_that_exists_wins(tmp_path: Path) -> None:
    """A folder whose name reads like a spec is the folder."""
    for name in ("beir", "odd@name?"):
        benchmark = resolve_benchmark(str(write_beir(tmp_path / name)), root=Path("/nowhere"))
        assert isinstance(benchmark, BeirBenchmark)
        assert benchmark.data_root == tmp_path / name


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ([], r"must be in one benchmark layout, it is in none \(beir: corpus\.jsonl, .*; jsonl: documents\.jsonl"),
        (["corpus.jsonl", "cases.jsonl"], "must be in one benchmark layout, it is in beir and jsonl"),
    ],
)
def test_a_folder_in_no_layout(tmp_path: Path, files: list[str], message: str) -> None:
    """A folder that is no benchmark, or two, is an error that describes the layouts."""
    (tmp_path / "data").mkdir()
    for name in files:
        (tmp_path / "data" / name).write_text("")
    with pytest.raises(UsageError, match=message):
        resolve_benchmark("data", root=tmp_path)


@pytest.mark.parametrize(
    ("attr", "dataset"), [("", "mini"), (":benchmark", "mini"), (":factory", "made"), (":Own", "own")]
)
def test_an_object_out_of_a_file(tmp_path: Path, attr: str, dataset: str) -> None:
    """A file's ``benchmark`` or another attribute may be an object, a factory or a class."""
    (tmp_path / "mine.py").write_text(_PROGRAM)
    benchmark = resolve_benchmark(f"mine.py{attr}", root=tmp_path)
    assert isinstance(benchmark, BeirBenchmark)
    assert benchmark.dataset == dataset


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("none.py", r"none\.py: there is no such file"),
        ("mine.py:nothing", r"mine\.py: has no 'nothing' \(it has: .*benchmark, factory, Own"),
        ("mine.py:number", r"mine\.py:number: int is not a benchmark, it has no manifest, resources"),
        ("mine.py:needs", r"mine\.py:needs: .*TypeError: needs\(\) missing 1 required positional argument"),
        ("mine.py:failing", r"mine\.py:13: KeyError: 'lost'"),
    ],
)
def test_what_is_wrong_in_a_file_is_one_error(tmp_path: Path, spec: str, message: str) -> None:
    """A missing file or attribute, a failing factory and an object of another kind are each one UsageError."""
    (tmp_path / "mine.py").write_text(_PROGRAM)
    with pytest.raises(UsageError, match=message):
        resolve_benchmark(spec, root=tmp_path)


def test_an_object_out_of_a_module(tmp_path: Path) -> None:
    """``module:attr`` finds modules in the root folder too."""
    (tmp_path / "heta_test_program.py").write_text(_PROGRAM)
    benchmark = resolve_benchmark("heta_test_program:factory", root=tmp_path)
    assert isinstance(benchmark, BeirBenchmark)
    assert benchmark.dataset == "made"
    with pytest.raises(UsageError, match=r"heta_test_program: has no 'nothing'"):
        resolve_benchmark("heta_test_program:nothing", root=tmp_path)


@pytest.mark.parametrize(
    ("spec", "hint"),
    [("scifact", "beir:scifact"), ("beer:scifact", "beir:scifact"), ("multihop_rag", "multihop-rag")],
)
def test_an_unknown_name_lists_the_known(tmp_path: Path, spec: str, hint: str) -> None:
    """A spec that is nothing lists what there is, the nearest first."""
    with pytest.raises(UnknownNameError, match=f"unknown benchmark '{spec}'; did you mean '{hint}'") as caught:
        resolve_benchmark(spec, root=tmp_path)
    assert caught.value.known == known_benchmarks()


def test_an_empty_spec(tmp_path: Path) -> None:
    """Nothing is not the root folder."""
    with pytest.raises(UnknownNameError, match="unknown benchmark ''"):
        resolve_benchmark(" ", root=tmp_path)


@pytest.mark.parametrize("spec", ["sets/none", "sets/none@dev", "C:\\sets\\none"])
def test_a_folder_that_does_not_exist(tmp_path: Path, spec: str) -> None:
    """A path that leads nowhere is an error that names it, not an unknown benchmark."""
    with pytest.raises(UsageError, match=r"none.*: there is no such folder \(known benchmarks: beir:scifact"):
        resolve_benchmark(spec, root=tmp_path)


def test_a_spec_that_is_too_long_for_a_file_name(tmp_path: Path) -> None:
    """Long options are not taken for a path that the system refuses."""
    calls: list[dict[str, Any]] = []
    names = ",".join(f"document_{n}" for n in range(100))
    resolve_benchmark(f"mine:x?docs={names}", root=tmp_path, families={"mine": _recorder(calls)})
    assert calls[0]["options"] == {"docs": names}


def test_given_families(tmp_path: Path) -> None:
    """A family that is given comes before a built-in one, and is among the known benchmarks."""
    calls: list[dict[str, Any]] = []
    families = {"beir": _recorder(calls), "house": _recorder(calls)}
    for spec in ("beir:scifact", "house"):
        resolve_benchmark(spec, root=tmp_path, families=families)
    assert [call["variant"] for call in calls] == ["scifact", None]
    assert known_benchmarks(families) == (*known_benchmarks(), "house")


def test_a_family_that_fails(tmp_path: Path) -> None:
    """What a family raises by accident is one error with its name and the place."""

    def from_spec(variant: str | None, **_: Any) -> BeirBenchmark:
        raise RuntimeError("out of order")

    with pytest.raises(
        UsageError, match=r"benchmark family 'house': .*test_registry\.py:\d+: RuntimeError: out of order"
    ):
        resolve_benchmark("house:x", root=tmp_path, families={"house": from_spec})


def test_installed_families(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A family that another package declares as an entry point is known, loads, and fails with its name."""
    info = tmp_path / "other_package-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: other-package\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[pytest_heta.benchmarks]\nother = heta_test_other:from_spec\nbroken = heta_test_absent:from_spec\n"
    )
    (tmp_path / "heta_test_other.py").write_text(
        "from pytest_heta.benchmarks.beir import BeirBenchmark\n"
        "def from_spec(variant, *, split, options, root, download):\n    return BeirBenchmark(variant, split)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "heta_test_other", raising=False)
    benchmark = resolve_benchmark("other:thing@dev", root=tmp_path)
    assert isinstance(benchmark, BeirBenchmark)
    assert (benchmark.dataset, benchmark.split) == ("thing", "dev")
    assert known_benchmarks()[-2:] == ("broken", "other")
    with pytest.raises(UsageError, match=r"benchmark family 'broken' \(heta_test_absent:from_spec\): .*ModuleNotFound"):
        resolve_benchmark("broken:x", root=tmp_path)


def test_the_known_benchmarks_begin_with_the_recommended() -> None:
    """The list names every published BEIR set, the UDA subsets and the other families."""
    known = known_benchmarks()
    assert known[:4] == ("beir:scifact", "beir:nfcorpus", "beir:fiqa", "beir:hotpotqa")
    assert {"beir:cqadupstack/wordpress", "uda:fin", "uda:nq", "multihop-rag", "jsonl:DIR"} <= set(known)
    assert len(known) == len(set(known))
