"""Benchmarks in JSON Lines."""

from __future__ import annotations

import asyncio
import base64
import json
from pathlib import Path
from typing import Any

import pytest

from pytest_heta.benchmarks.jsonl import JsonlBenchmark, from_spec
from pytest_heta.errors import DataError, UnknownNameError, UsageError
from pytest_heta.keys import raw_key
from pytest_heta.records import BenchmarkCase, BenchmarkDocument, BenchmarkRunUnit, QueryResponse, QueryResult
from tests.benchmarks.reading import gather, prepare

LEAVE = {"document_id": "leave", "text": "Staff have 28 days of leave."}
ASKED = {"case_id": "1", "query": "How much leave?"}


def write(
    folder: Path, documents: Any = (LEAVE,), cases: Any = (ASKED,), units: Any = None, **description: Any
) -> Path:
    """Write a benchmark into ``folder`` and return it."""
    folder.mkdir(exist_ok=True)
    for name, rows in (("documents", documents), ("cases", cases), ("run_units", units)):
        if rows is not None:
            lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
            (folder / f"{name}.jsonl").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    if description:
        (folder / "benchmark.json").write_text(json.dumps(description), encoding="utf-8")
    return folder


def load(folder: Path, split: str | None = None) -> JsonlBenchmark:
    """Return the benchmark of a folder."""
    return from_spec(folder.name, split=split, options={}, root=folder.parent, download=False)


def documents(folder: Path) -> list[BenchmarkDocument]:
    """Return all documents of a folder."""
    benchmark = load(folder)
    return gather(benchmark.documents(prepare(benchmark, folder)))


def cases(folder: Path) -> list[BenchmarkCase]:
    """Return all cases of a folder."""
    benchmark = load(folder)
    return gather(benchmark.cases(prepare(benchmark, folder)))


def units(folder: Path) -> list[BenchmarkRunUnit]:
    """Return all run units of a folder."""
    benchmark = load(folder)
    return gather(benchmark.run_units(prepare(benchmark, folder)))


def test_a_document_has_one_of_four_sources(tmp_path: Path) -> None:
    """Text, base64, a file below the folder, or an address; names and media types have defaults."""
    rows = [
        {"document_id": "a", "text": "Grüße\u2028zwei"},
        {"document_id": "b", "data_base64": base64.b64encode(b"\x00\x01").decode(), "name": "b.pdf"},
        {"document_id": "c", "path": "files/page.html", "metadata": {"lang": "en"}},
        {"document_id": "d", "source_uri": "https://example.org/d", "name": "d", "media_type": "text/plain"},
    ]
    folder = write(tmp_path / "set", rows)
    (folder / "files").mkdir()
    (folder / "files" / "page.html").write_text("<p>x", encoding="utf-8")
    a, b, c, d = documents(folder)
    assert (a.name, a.media_type, a.data) == ("a.txt", "text/plain", "Grüße\u2028zwei".encode())
    assert (b.name, b.media_type, b.data) == ("b.pdf", "application/pdf", b"\x00\x01")
    assert (c.name, c.media_type, c.path) == ("page.html", "text/html", folder / "files" / "page.html")
    assert c.metadata == {"lang": "en"}
    assert d.source_uri == "https://example.org/d"


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"document_id": "a"}, "exactly one of text, data_base64, path, source_uri, a text; found none"),
        ({"document_id": "a", "text": "x", "path": "y"}, "found text, path"),
        ({"document_id": "a", "text": 5}, "a text; found text"),
        ({"text": "x"}, "field 'document_id' is missing"),
        ({"document_id": " ", "text": "x"}, "field 'document_id' is blank"),
        ({"document_id": "a/b", "text": "x"}, "cannot hold a slash"),
        ({"document_id": "a", "text": "x", "titel": "y"}, "titel: Extra inputs are not permitted"),
        ({"document_id": "a", "text": "x", "name": "a/b.txt"}, "must be a file name"),
        ({"document_id": "a", "text": "x", "name": "a.what"}, "media_type is missing"),
        ({"document_id": "a", "data_base64": "?", "name": "a.pdf"}, "data_base64 is not base64"),
        ("{", "not JSON"),
    ],
)
def test_a_malformed_document_is_an_error_with_its_line(tmp_path: Path, row: Any, message: str) -> None:
    """The message says what is wrong with it."""
    folder = write(tmp_path / "set", [{"document_id": "first", "text": "x"}, row])
    with pytest.raises(DataError, match=rf"documents\.jsonl:2: .*{message}"):
        documents(folder)


@pytest.mark.parametrize("path", ["../secret.txt", "/etc/hostname", "inner/../../secret.txt", "..\\secret.txt", "link"])
def test_a_path_cannot_lead_out_of_the_folder(tmp_path: Path, path: str) -> None:
    """Neither upwards, nor absolute, nor through a symbolic link."""
    (tmp_path / "secret.txt").write_text("secret", encoding="utf-8")
    folder = write(tmp_path / "set", [{"document_id": "a", "path": path, "media_type": "text/plain"}])
    (folder / "link").symlink_to(tmp_path / "secret.txt")
    with pytest.raises(DataError, match=r"documents\.jsonl:1: path .* must stay below"):
        documents(folder)


def test_a_path_that_is_not_there_is_an_error_with_its_line(tmp_path: Path) -> None:
    """The message names the path, also one that no file could have."""
    for name in ("gone.txt", f"{'x' * 300}.txt"):
        folder = write(tmp_path / "set", [{"document_id": "a", "path": name}])
        with pytest.raises(DataError, match=rf"documents\.jsonl:1: path '{name}': there is no such file"):
            documents(folder)
    with pytest.raises(DataError, match="holds a NUL"):
        documents(write(tmp_path / "set", [{"document_id": "a", "path": "a\0.txt"}]))


def test_a_case_is_read_with_all_its_fields(tmp_path: Path) -> None:
    """Expected answers, evidence, value, labels and metadata arrive as they are."""
    row = {
        **ASKED,
        "expected": {
            "answers": ["28 days"],
            "evidence": [{"locator": {"document_id": "leave", "page_index": 0}, "metadata": {"relevance": 2}}],
            "value": 28,
            "metadata": {"unit": "day"},
        },
        "labels": {"topic": "leave"},
        "metadata": {"author": "x"},
    }
    (case,) = cases(write(tmp_path / "set", cases=[row]))
    assert case.model_dump(exclude_defaults=True) == {
        **row,
        "expected": {**row["expected"], "answers": ("28 days",), "evidence": tuple(row["expected"]["evidence"])},  # type: ignore[dict-item, index]
    }


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"case_id": "2"}, "query: Field required"),
        ({"case_id": "2", "query": "  "}, "query: String should have at least 1 character"),
        ({"case_id": "2", "query": "q", "expected": {"answers": "x"}}, r"expected\.answers: "),
        ({"case_id": "2", "query": "q", "expected": {"evidence": [{}]}}, r"expected\.evidence\.0: .*at least one of"),
        ({"case_id": "1", "query": "again"}, "case_id '1' is already on line 1"),
    ],
)
def test_a_malformed_case_is_an_error_with_its_line(tmp_path: Path, row: Any, message: str) -> None:
    """The message names the field."""
    with pytest.raises(DataError, match=rf"cases\.jsonl:2: .*{message}"):
        cases(write(tmp_path / "set", cases=[ASKED, row]))


def test_a_document_id_given_twice_is_an_error_with_both_lines(tmp_path: Path) -> None:
    """Ids are compared without the white space around them."""
    folder = write(tmp_path / "set", [LEAVE, "", {"document_id": " leave ", "text": "x"}])
    with pytest.raises(DataError, match=r"documents\.jsonl:3: document_id 'leave' is already on line 1"):
        documents(folder)


def test_both_forms_of_document_evidence_match_a_hit_with_a_raw_key(tmp_path: Path) -> None:
    """The example of the class: the document's id, and the folder of its raw key with a passage."""
    passage = {"locator": {"source_key_prefix": "raw/benchmarks/NAME/SPLIT/leave/"}, "text": "28 days of leave"}
    evidence = [{"locator": {"document_id": "leave"}, "metadata": {"relevance": 2}}, passage]
    folder = write(tmp_path / "set", cases=[{**ASKED, "expected": {"evidence": evidence}}], name="NAME", split="SPLIT")
    (case,), (document,) = cases(folder), documents(folder)
    assert document.data is not None
    hit = QueryResult(
        id="c1", text=document.data.decode(), source={"source_key": raw_key(load(folder).manifest, document)}
    )
    response = QueryResponse(mode="m", results=(hit,))
    scores = [asyncio.run(metric.evaluate(case=case, response=response)) for metric in load(folder).evaluators()]
    assert [score.value for score in scores] == [1.0, 1.0, 1.0]


def test_without_run_units_there_is_one(tmp_path: Path) -> None:
    """All documents, all cases."""
    assert units(write(tmp_path / "set")) == [BenchmarkRunUnit(unit_id="corpus")]


def test_run_units_come_from_their_file_and_each_has_its_documents(tmp_path: Path) -> None:
    """A unit is not harmed by a broken document of another; one that names an unknown document says so."""
    rows = [
        {"unit_id": "u", "document_ids": ["leave"], "case_ids": ["1"]},
        {"unit_id": "v", "document_ids": ["gone"], "metadata": {"x": 1}},
        {"unit_id": "w", "document_ids": ["leave", "nothing"]},
    ]
    broken = {"document_id": "gone", "path": "gone.txt"}
    folder = write(tmp_path / "set", [broken, LEAVE], units=rows)
    benchmark = load(folder)
    prepared = prepare(benchmark, tmp_path)
    first, second, third = gather(benchmark.run_units(prepared))
    assert (first.case_ids, second.metadata) == (("1",), {"x": 1})
    assert [document.document_id for document in gather(benchmark.documents_of(prepared, first))] == ["leave"]
    with pytest.raises(DataError, match="there is no such file"):
        gather(benchmark.documents_of(prepared, second))
    with pytest.raises(DataError, match=r"run_units\.jsonl: unit 'w' names unknown documents: 'nothing'"):
        gather(benchmark.documents_of(prepared, third))
    assert benchmark.manifest.build_scope == "group"


def test_a_run_unit_given_twice_is_an_error(tmp_path: Path) -> None:
    """With both lines."""
    with pytest.raises(DataError, match=r"run_units\.jsonl:2: unit_id 'u' is already on line 1"):
        units(write(tmp_path / "set", units=[{"unit_id": "u"}, {"unit_id": "u"}]))


def test_the_digest_follows_everything_that_makes_the_documents(tmp_path: Path) -> None:
    """Text, file content, name and the manifest's name count; another unit's documents do not."""
    rows = [{"unit_id": "u", "document_ids": ["leave", "file"]}]
    file = {"document_id": "file", "path": "file.txt"}

    def digest(*changed: Any, name: str = "set", content: str = "x") -> str:
        folder = write(tmp_path / "set", changed or (LEAVE, file), units=rows, name=name)
        (folder / "file.txt").write_text(content, encoding="utf-8")
        benchmark = load(folder)
        prepared = prepare(benchmark, tmp_path)
        return asyncio.run(benchmark.documents_digest(prepared, gather(benchmark.run_units(prepared))[0]))

    base = digest()
    assert digest(LEAVE, file, {"document_id": "other", "text": "y"}) == base
    changed = [
        digest({**LEAVE, "text": "Other."}, file),
        digest({**LEAVE, "name": "other.txt"}, file),
        digest(content="y"),
        digest(name="other"),
    ]
    assert len({base, *changed}) == 5


def test_the_description_fills_the_manifest(tmp_path: Path) -> None:
    """What it leaves out comes from the folder; the split of a spec must be the benchmark's."""
    assert load(write(tmp_path / "my set")).manifest.name == "my=20set"
    manifest = load(write(tmp_path / "set", split="dev", license="MIT"), split="dev").manifest
    assert (manifest.name, manifest.version, manifest.split, manifest.license) == ("set", "local", "dev", "MIT")
    with pytest.raises(UnknownNameError, match=r"split of jsonl 'test' \(known: dev\)"):
        load(tmp_path / "set", split="test")


@pytest.mark.parametrize(
    ("description", "message"),
    [
        ({"licence": "MIT"}, "licence: Extra inputs"),
        ({"name": "a/b"}, "cannot hold a slash"),
        ({"evaluators": "answer_contains"}, "evaluators must be a list of names"),
    ],
)
def test_a_malformed_description_is_an_error(tmp_path: Path, description: dict[str, Any], message: str) -> None:
    """The message names the file."""
    with pytest.raises(DataError, match=rf"benchmark\.json: .*{message}"):
        load(write(tmp_path / "set", **description))


@pytest.mark.parametrize(
    ("expected", "names"),
    [
        ({"answers": ["x"]}, ["answer_contains"]),
        ({"evidence": [{"text": "x"}]}, ["evidence_recall@1", "evidence_recall@5", "evidence_recall@10"]),
        ({}, []),
    ],
)
def test_the_default_evaluators_are_those_that_a_case_has_labels_for(
    tmp_path: Path, expected: dict[str, Any], names: list[str]
) -> None:
    """One case with the label is enough."""
    folder = write(tmp_path / "set", cases=[ASKED, {**ASKED, "case_id": "2", "expected": expected}])
    assert [evaluator.name for evaluator in load(folder).evaluators()] == names


def test_the_description_may_choose_the_evaluators(tmp_path: Path) -> None:
    """By their metric names; an unknown one lists the known."""
    names = ["evidence_recall@3", "answer_contains", "answer_exact_match", "beir_ndcg@10", "beir_mrr@5"]
    benchmark = load(write(tmp_path / "set", evaluators=names))
    assert [evaluator.name for evaluator in benchmark.evaluators()] == names
    with pytest.raises(UnknownNameError, match=r"evaluator 'beir_ndgc@10'; did you mean 'beir_ndcg@K'\?"):
        load(write(tmp_path / "set", evaluators=["beir_ndgc@10"]))


@pytest.mark.parametrize("name", ["documents.jsonl", "cases.jsonl"])
def test_a_missing_file_is_an_error(tmp_path: Path, name: str) -> None:
    """Preparation names it."""
    folder = write(tmp_path / "set")
    (folder / name).unlink()
    with pytest.raises(DataError, match=f"{name}: there is no such file"):
        cases(folder)


def test_a_spec_needs_a_folder_that_exists_and_takes_no_options(tmp_path: Path) -> None:
    """Each mistake has its own message."""
    for variant, message in ((None, "jsonl needs a folder"), ("nothing", "nothing: there is no such folder")):
        with pytest.raises(UsageError, match=message):
            from_spec(variant, split=None, options={}, root=tmp_path, download=False)
    with pytest.raises(UnknownNameError, match="option of jsonl 'x'"):
        from_spec(write(tmp_path / "set").name, split=None, options={"x": "1"}, root=tmp_path, download=False)
