"""The BEIR adapter: what it reads out of a folder in BEIR layout."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_heta.benchmarks.beir import BeirBenchmark, from_folder, from_spec
from pytest_heta.errors import DataError, UnknownNameError, UsageError
from pytest_heta.keys import document_id_of_key, raw_key, safe_document_id
from pytest_heta.records import BenchmarkRunUnit
from tests.benchmarks.beir_samples import CORPUS, cases, documents, everything, jsonl, prepare, write_beir
from tests.shared_data import shared_data

_IDS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1).filter(str.strip)


def test_documents_are_texts_with_safe_names(tmp_path: Path) -> None:
    """Each corpus line is a text document: title, blank line, text; one without either is not left out."""
    found = documents(BeirBenchmark("mini", data_root=write_beir(tmp_path)), tmp_path)
    assert [(item.document_id, item.data) for item in found] == [
        ("d1", b"Rain\n\nIt rains.\nA lot."),
        ("a=2Fb=20c", "No title\u2028two lines?".encode()),
        ("d3", b"Only a title"),
        ("d4", b""),
    ]
    assert {(item.media_type, item.name == f"{item.document_id}.txt") for item in found} == {("text/plain", True)}
    assert [item.metadata["beir_doc_id"] for item in found] == ["d1", "a/b c", "d3", "d4"]


def test_cases_are_the_judged_queries(tmp_path: Path) -> None:
    """Judged queries are cases in the order of queries.jsonl; documents graded above 0 are their evidence."""
    first, second = cases(BeirBenchmark("mini", data_root=write_beir(tmp_path)), tmp_path)
    assert (first.case_id, first.query) == ("q1", "does it rain?")
    assert [item.model_dump(exclude_defaults=True) for item in first.expected.evidence] == [
        {
            "reference_id": safe,
            "locator": {"source_key_prefix": f"raw/benchmarks/beir_mini/test/{safe}/"},
            "metadata": {"beir_doc_id": original, "beir_document_id": safe, "relevance": grade},
        }
        for original, safe, grade in [("a/b c", "a=2Fb=20c", 2), ("d1", "d1", 1), ("gone", "gone", 1)]
    ]
    assert first.expected.metadata == {"judged_documents": 4, "relevant_documents": 3}
    assert (second.case_id, second.expected.evidence) == ("q3", ())
    assert second.expected.metadata == {"judged_documents": 1, "relevant_documents": 0}
    assert second.metadata == {"query_metadata": {"level": "hard"}}


def test_evidence_points_at_the_raw_key_of_its_document(tmp_path: Path) -> None:
    """The prefix of each evidence is that of its document's raw key, out of which the id can be read again."""
    benchmark = BeirBenchmark("mini", data_root=write_beir(tmp_path))
    keys = {item.document_id: raw_key(benchmark.manifest, item) for item in documents(benchmark, tmp_path)}
    assert keys["a=2Fb=20c"] == "raw/benchmarks/beir_mini/test/a=2Fb=20c/a=2Fb=20c.txt"
    assert all(document_id_of_key(key) == document_id for document_id, key in keys.items())
    evidence = cases(benchmark, tmp_path)[0].expected.evidence[0]
    assert keys["a=2Fb=20c"].startswith(evidence.locator["source_key_prefix"])


@given(ids=st.sets(_IDS, min_size=2, max_size=5))
def test_any_ids_stay_apart(ids: set[str], tmp_path_factory: pytest.TempPathFactory) -> None:
    """Different ids give different document ids, which are file names and are found again in the evidence."""
    ordered = sorted(ids)
    corpus = jsonl({"_id": original, "text": "x"} for original in ordered)
    benchmark = BeirBenchmark("mini", data_root=write_beir(tmp_path_factory.mktemp("beir"), corpus=corpus))
    found = documents(benchmark, Path("unused"))
    assert [item.metadata["beir_doc_id"] for item in found] == ordered
    assert len({item.document_id for item in found}) == len(ids)
    assert [document_id_of_key(raw_key(benchmark.manifest, item)) for item in found] == [
        safe_document_id(original) for original in ordered
    ]


def test_cases_and_units_need_no_corpus(tmp_path: Path) -> None:
    """Without corpus.jsonl everything but the documents can be read; the documents are an error that names it."""
    (write_beir(tmp_path) / "corpus.jsonl").unlink()
    benchmark = BeirBenchmark("mini", data_root=tmp_path)
    prepared = prepare(benchmark, tmp_path)
    assert [case.case_id for case in everything(benchmark.cases(prepared))] == ["q1", "q3"]
    assert everything(benchmark.run_units(prepared)) == [BenchmarkRunUnit(unit_id="corpus")]
    with pytest.raises(DataError, match=r"corpus\.jsonl: cannot be read"):
        everything(benchmark.documents(prepared))
    with pytest.raises(DataError, match=r"corpus\.jsonl: cannot be read"):
        asyncio.run(benchmark.documents_digest(prepared, BenchmarkRunUnit(unit_id="corpus")))


def test_relevant_documents_that_the_corpus_lacks_are_counted(tmp_path: Path) -> None:
    """A judgement of a document that does not exist is legal and can be found out."""
    benchmark = BeirBenchmark("mini", data_root=write_beir(tmp_path))
    assert asyncio.run(benchmark.missing_documents(prepare(benchmark, tmp_path))) == ("gone",)


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"corpus": jsonl([*CORPUS, CORPUS[1]])}, r"corpus\.jsonl:5: _id 'a/b c' is already on line 2$"),
        ({"corpus": '{"_id": "d", "contents": "x"}\n'}, r"corpus\.jsonl:1: field 'text' is missing .*contents"),
        ({"corpus": '{"_id": "d", "text": ["x"]}\n'}, r"corpus\.jsonl:1: field 'text' must be a text"),
        ({"corpus": '{"_id": "d", "title": 3, "text": "x"}\n'}, r"corpus\.jsonl:1: field 'title' must be a text"),
        ({"corpus": '{"id": "d", "text": "x"}\n'}, r"corpus\.jsonl:1: field '_id' is missing \(there are: id, text\)"),
        ({"corpus": '{"_id": "d", "text": "x"}\n{"_id"\n'}, r"corpus\.jsonl:2: not JSON"),
    ],
)
def test_a_malformed_corpus_is_named(tmp_path: Path, files: dict[str, str], message: str) -> None:
    """What is wrong in the corpus is one DataError with file and line."""
    with pytest.raises(DataError, match=message):
        documents(BeirBenchmark("mini", data_root=write_beir(tmp_path, **files)), tmp_path)


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"qrels": "q1\td1\t1\nq8\td1\t1\nq9\td1\t1\n"}, r"test\.tsv:2: query 'q8' is not in queries\.jsonl \(2 such"),
        ({"qrels": "query-id\tcorpus-id\tscore\n"}, r"test\.tsv: holds no judgement"),
        ({"qrels": "q1\td1\n"}, r"test\.tsv:1: expected query, document, grade"),
        ({"queries": '{"_id": "q1", "text": "a"}\n' * 2}, r"queries\.jsonl:2: _id 'q1' is already on line 1"),
        ({"queries": jsonl({"_id": name, "text": " "} for name in ("q1", "q3"))}, r"queries\.jsonl:1: field 'text' is"),
        ({"queries": "{}\n"}, r"queries\.jsonl:1: field '_id' is missing"),
    ],
)
def test_malformed_cases_are_named(tmp_path: Path, files: dict[str, str], message: str) -> None:
    """What is wrong in queries or judgements is one DataError with file and line."""
    with pytest.raises(DataError, match=message):
        cases(BeirBenchmark("mini", data_root=write_beir(tmp_path, **files)), tmp_path)


def test_a_missing_split_names_those_that_exist(tmp_path: Path) -> None:
    """A split without its file is an error that lists the splits, another split is read."""
    write_beir(write_beir(tmp_path, split="dev"), split="train", qrels="q2\td1\t1\n")
    with pytest.raises(DataError, match=r"no split 'test', qrels/test\.tsv is missing \(splits: dev, train\)"):
        prepare(BeirBenchmark("mini", data_root=tmp_path), tmp_path)
    benchmark = BeirBenchmark("mini", "train", data_root=tmp_path)
    (case,) = cases(benchmark, tmp_path)
    assert (benchmark.manifest.split, case.case_id) == ("train", "q2")
    assert case.expected.evidence[0].locator == {"source_key_prefix": "raw/benchmarks/beir_mini/train/d1/"}


def test_a_folder_without_queries_is_named(tmp_path: Path) -> None:
    """A folder that is not in BEIR layout is an error that says what it lacks."""
    with pytest.raises(DataError, match=rf"{tmp_path}: queries\.jsonl is missing; a BEIR folder holds"):
        prepare(BeirBenchmark("mini", data_root=tmp_path), tmp_path)


@pytest.mark.parametrize(
    ("dataset", "split"),
    [
        ("", "test"),
        ("a/b/c", "test"),
        ("../x", "test"),
        ("a/..", "test"),
        (".x", "test"),
        ("a b", "test"),
        ("a", "x/y"),
    ],
)
def test_names_that_leave_their_folder_are_refused(dataset: str, split: str) -> None:
    """Data set and split become parts of paths and keys, so that only plain names are taken."""
    with pytest.raises(UsageError, match="must be the names of a data set and a split"):
        BeirBenchmark(dataset, split)


def test_the_digest_follows_the_documents(tmp_path: Path) -> None:
    """The digest changes with the corpus and with the raw keys, and with nothing else."""
    unit = BenchmarkRunUnit(unit_id="corpus")

    def digest(folder: Path, dataset: str = "mini", split: str = "test", **files: str) -> str:
        benchmark = BeirBenchmark(dataset, split, data_root=write_beir(folder, split=split, **files))
        return asyncio.run(benchmark.documents_digest(prepare(benchmark, tmp_path), unit))

    base = digest(tmp_path / "a")
    assert digest(tmp_path / "b", qrels="q1\td1\t1\n") == base
    others = [
        digest(tmp_path / "c", corpus=jsonl(CORPUS[:3])),
        digest(tmp_path / "a", dataset="other"),
        digest(tmp_path / "a", split="dev"),
    ]
    assert len({base, *others}) == 4


def test_a_published_data_set_says_what_it_is() -> None:
    """A BEIR data set has the names of the protocol, its home page, its paper and its archive."""
    benchmark = BeirBenchmark("cqadupstack/android")
    manifest = benchmark.manifest
    assert (manifest.name, manifest.version, manifest.split) == ("beir_cqadupstack-android", "official", "test")
    assert (manifest.task_type, manifest.build_scope) == ("retrieval", "corpus")
    assert manifest.homepage == "https://github.com/beir-cellar/beir"
    assert "2104.08663" in (manifest.citation or "")
    assert [resource.uri for resource in benchmark.resources()] == [
        "https://public.ukp.informatik.tu-darmstadt.de/thakur/BEIR/datasets/cqadupstack.zip"
    ]


def test_a_folder_is_named_after_itself(tmp_path: Path) -> None:
    """A folder of one's own claims neither BEIR's home page nor its paper, whatever its name holds."""
    benchmark = from_folder(write_beir(tmp_path / "my handbook"))
    assert (benchmark.manifest.name, benchmark.manifest.version) == ("beir_my=20handbook", "local")
    assert (benchmark.manifest.homepage, benchmark.manifest.license, benchmark.manifest.citation) == (None, None, None)
    assert [resource.uri for resource in benchmark.resources()] == [(tmp_path / "my handbook").as_uri()]
    assert len(cases(benchmark, tmp_path)) == 2


def test_the_default_metrics_are_those_of_beir() -> None:
    """Five measures at five cut-offs, ordered by measure, which drop the document with the query's id."""
    evaluators: Any = BeirBenchmark("scifact").evaluators()
    measures, cuts = ("ndcg", "map", "recall", "precision", "mrr"), (1, 3, 5, 10, 100)
    assert [item.name for item in evaluators] == [f"beir_{measure}@{k}" for measure in measures for k in cuts]
    assert {item.drop_query_id for item in evaluators} == {True}


def test_options_of_a_spec(tmp_path: Path) -> None:
    """Paths in a spec lie below the root; an unknown option lists the known ones; a data set must be named."""
    write_beir(tmp_path / "data", split="dev")
    options = {"data_root": "data", "dataset_url": "packed/mini.zip"}
    benchmark = from_spec("mini", split="dev", options=options, root=tmp_path, download=False)
    assert isinstance(benchmark, BeirBenchmark)
    assert (benchmark.data_root, benchmark.download) == (tmp_path / "data", False)
    assert benchmark.dataset_url == str(tmp_path / "packed/mini.zip")
    with pytest.raises(UnknownNameError, match=r"unknown option of beir 'root'.*known: data_root, dataset_url"):
        from_spec("mini", split=None, options={"root": "."}, root=tmp_path, download=False)
    with pytest.raises(UnknownNameError, match="known: scifact, nfcorpus, fiqa, hotpotqa"):
        from_spec(None, split=None, options={}, root=tmp_path, download=False)


@pytest.mark.parametrize(
    ("relative", "count", "first", "evidence"),
    [
        ("beir/nfcorpus-no-corpus", 323, "PLAIN-2", 12334),
        ("beir/hotpotqa-no-corpus", 7405, "5a8b57f25542995d1e6f1371", 14810),
        ("beir/hotpotqa-slice", 100, "5a77ec115542992a6e59dff7", 200),
    ],
)
def test_published_cases(relative: str, count: int, first: str, evidence: int, tmp_path: Path) -> None:
    """Published queries and judgements give the published numbers, without a corpus."""
    found = cases(BeirBenchmark("published", data_root=shared_data(relative)), tmp_path)
    assert (len(found), len({case.case_id for case in found})) == (count, count)
    assert sum(len(case.expected.evidence) for case in found) == evidence
    assert first in {case.case_id for case in found}


def test_wikipedia_titles_as_ids(tmp_path: Path) -> None:
    """Ids with spaces, accents and brackets give distinct documents, among them all that the judgements name."""
    benchmark = BeirBenchmark("slice", data_root=shared_data("beir/hotpotqa-slice"))
    found = documents(benchmark, tmp_path)
    assert (len(found), len({item.document_id for item in found})) == (994, 994)
    assert "Lilu=20=28mythology=29" in {item.document_id for item in found}
    assert asyncio.run(benchmark.missing_documents(prepare(benchmark, tmp_path))) == ()
