"""MultiHop-RAG: articles, queries, evidence, on hand-written files in the official format."""

from __future__ import annotations

import asyncio
import json
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from pytest_heta.benchmarks.multihop_rag import MultiHopRagBenchmark, from_spec
from pytest_heta.errors import DataError, DownloadError, UnknownNameError
from pytest_heta.keys import raw_key
from pytest_heta.records import BenchmarkCase, BenchmarkDocument
from tests.benchmarks.reading import gather, prepare
from tests.datasets.hub_server import file_server, use_hub

UNUSED = Path("unused")

BRIDGE: dict[str, Any] = {
    "title": "A bridge opens",
    "author": "A. Writer",
    "source": "The Daily",
    "published_at": "2023-10-01T00:00:00+00:00",
    "category": "world",
    "url": "https://daily.example/bridge",
    "body": "The bridge opened on Sunday.\n\nIt is 300 metres long.",
}
TOLL: dict[str, Any] = {**BRIDGE, "title": "Tolls rise", "url": "https://daily.example/toll", "body": "Tolls rose."}


def article_id(key: str) -> str:
    """Return the document id of the article with this url or title."""
    return "article_" + sha256(key.encode()).hexdigest()[:16]


def evidence(article: dict[str, Any], fact: str, **changes: Any) -> dict[str, Any]:
    """Return an evidence item as the official file has it."""
    fields = {key: article[key] for key in ("title", "author", "url", "source", "category", "published_at")}
    return {**fields, "fact": fact, **changes}


def query(*items: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """Return a query as the official file has it."""
    fields = {"query": "How long is it?", "answer": "300 metres", "question_type": "inference_query"}
    return {**fields, "evidence_list": list(items), **changes}


def write(folder: Path, corpus: Any, queries: Any) -> MultiHopRagBenchmark:
    """Write both files and return the benchmark of them."""
    for name, content in (("corpus.json", corpus), ("MultiHopRAG.json", queries)):
        text = content if isinstance(content, str) else json.dumps(content)
        (folder / name).write_text(text, encoding="utf-8")
    return MultiHopRagBenchmark(folder / "corpus.json", folder / "MultiHopRAG.json", download=False)


def documents(benchmark: MultiHopRagBenchmark) -> list[BenchmarkDocument]:
    """Return all documents."""
    return gather(benchmark.documents(prepare(benchmark, UNUSED)))


def cases(benchmark: MultiHopRagBenchmark) -> list[BenchmarkCase]:
    """Return all cases."""
    return gather(benchmark.cases(prepare(benchmark, UNUSED)))


def test_an_article_is_a_text_document(tmp_path: Path) -> None:
    """The id comes from the url; the text is title, source, date, URL and body."""
    (document,) = documents(write(tmp_path, [BRIDGE], [query()]))
    assert document.document_id == article_id("https://daily.example/bridge")
    assert document.name == f"{document.document_id}.txt"
    assert document.data is not None
    assert document.data.decode() == (
        "A bridge opens\nSource: The Daily\nPublished: 2023-10-01T00:00:00+00:00\n"
        "URL: https://daily.example/bridge\n\nThe bridge opened on Sunday.\n\nIt is 300 metres long."
    )
    assert document.metadata["category"] == "world"


def test_an_article_without_url_is_known_by_its_title(tmp_path: Path) -> None:
    """Its evidence is found by the title, too."""
    article = {**BRIDGE, "url": None}
    benchmark = write(tmp_path, [article], [query(evidence(article, "It is 300 metres long."))])
    (document,) = documents(benchmark)
    assert document.document_id == article_id("A bridge opens")
    assert cases(benchmark)[0].expected.evidence[0].reference_id == document.document_id


def test_a_query_is_a_case_with_its_facts_as_evidence(tmp_path: Path) -> None:
    """Each fact points at the raw key of its article; the question type is a label."""
    items = (evidence(BRIDGE, "It is 300 metres long."), evidence(TOLL, "Tolls rose."))
    benchmark = write(tmp_path, [BRIDGE, TOLL], [query(*items), query(question_type="null_query", answer="None.")])
    first, second = cases(benchmark)
    assert (first.case_id, second.case_id) == ("multihop_rag_0000", "multihop_rag_0001")
    assert (first.query, first.expected.answers) == ("How long is it?", ("300 metres",))
    assert first.labels == {"question_type": "inference_query"}
    assert [one.text for one in first.expected.evidence] == ["It is 300 metres long.", "Tolls rose."]
    keys = [raw_key(benchmark.manifest, document) for document in documents(benchmark)]
    assert [one.locator for one in first.expected.evidence] == [{"source_key": key} for key in keys]
    assert first.expected.evidence[0].metadata["source"] == "The Daily"
    assert (second.expected.evidence, second.expected.answers) == ((), ("None.",))


def test_evidence_is_matched_by_url_before_title(tmp_path: Path) -> None:
    """The url decides; a title decides only where the url is unknown."""
    wrong_title = evidence(BRIDGE, "It is long.", title="Tolls rise")
    wrong_url = evidence(BRIDGE, "It is long.", url="https://elsewhere.example")
    benchmark = write(tmp_path, [BRIDGE, TOLL], [query(wrong_title, wrong_url)])
    found = [one.reference_id for one in cases(benchmark)[0].expected.evidence]
    assert found == [article_id("https://daily.example/bridge")] * 2


def test_evidence_of_an_unknown_article_is_an_error_with_case_and_url(tmp_path: Path) -> None:
    """Such a case could never be answered from this corpus."""
    benchmark = write(tmp_path, [BRIDGE], [query(), query(evidence(TOLL, "Tolls rose."))])
    with pytest.raises(
        DataError, match=r"multihop_rag_0001: the corpus has no article .*'https://daily\.example/toll'"
    ):
        cases(benchmark)


def test_a_title_that_two_articles_share_identifies_neither(tmp_path: Path) -> None:
    """Evidence is not given to one of them at random."""
    twin = {**TOLL, "title": "A bridge opens"}
    benchmark = write(tmp_path, [BRIDGE, twin], [query(evidence(BRIDGE, "x", url="https://elsewhere.example"))])
    with pytest.raises(DataError, match="no single one titled 'A bridge opens'"):
        cases(benchmark)


def test_the_same_article_twice_is_one_document(tmp_path: Path) -> None:
    """Another text at the same address is an error, with its place."""
    assert len(documents(write(tmp_path, [BRIDGE, BRIDGE], [query()]))) == 1
    with pytest.raises(DataError, match=r"corpus\.json: article 1: another article has the same address"):
        documents(write(tmp_path, [BRIDGE, {**BRIDGE, "body": "Other."}], [query()]))


@pytest.mark.parametrize(
    ("corpus", "message"),
    [
        ('[\n{"title": }]', r"corpus\.json:2: not JSON"),
        ({}, r"corpus\.json: must be a list of at least one object"),
        ([], r"corpus\.json: must be a list of at least one object"),
        ([BRIDGE, {"title": "x"}], r"corpus\.json: article 1: body must be a text"),
        ([{**BRIDGE, "title": " "}], r"corpus\.json: article 0: title must be a text that is not blank"),
        ([{**BRIDGE, "url": 7}], r"corpus\.json: article 0: url must be a text"),
    ],
)
def test_a_malformed_corpus_is_an_error_with_its_place(tmp_path: Path, corpus: Any, message: str) -> None:
    """Preparation fails and names the file and the article."""
    with pytest.raises(DataError, match=message):
        prepare(write(tmp_path, corpus, [query()]), tmp_path)


@pytest.mark.parametrize(
    ("queries", "message"),
    [
        ("[", r"MultiHopRAG\.json:1: not JSON"),
        ([query(answer=3)], "multihop_rag_0000: answer must be a text"),
        ([query(evidence_list=None)], "multihop_rag_0000: evidence_list must be a list of objects"),
        ([query(evidence(BRIDGE, ""))], "multihop_rag_0000: evidence of 'https://daily.example/bridge': fact must be"),
    ],
)
def test_malformed_queries_are_an_error_with_their_place(tmp_path: Path, queries: Any, message: str) -> None:
    """The message names the case."""
    with pytest.raises(DataError, match=message):
        cases(write(tmp_path, [BRIDGE], queries))


def test_one_unit_holds_everything_and_its_digest_follows_the_corpus(tmp_path: Path) -> None:
    """All documents and all cases are in the unit ``corpus``."""
    benchmark = write(tmp_path, [BRIDGE], [query()])
    prepared = prepare(benchmark, UNUSED)
    (unit,) = gather(benchmark.run_units(prepared))
    assert (unit.unit_id, unit.document_ids, unit.case_ids) == ("corpus", (), ())
    before = asyncio.run(benchmark.documents_digest(prepared, unit))
    write(tmp_path, [TOLL], [query()])
    assert asyncio.run(benchmark.documents_digest(prepared, unit)) != before


def test_manifest_and_evaluators_are_those_of_the_benchmark() -> None:
    """The official retrieval figures are among the defaults."""
    benchmark = MultiHopRagBenchmark()
    assert (benchmark.manifest.name, benchmark.manifest.split) == ("multihop_rag", "all")
    assert benchmark.manifest.build_scope == "corpus"
    assert [evaluator.name for evaluator in benchmark.evaluators()] == [
        "evidence_recall@5",
        "multihop_hits@10",
        "multihop_hits@4",
        "multihop_map@10",
        "multihop_mrr@10",
        "answer_contains",
        "multihop_answer_overlap",
    ]


def test_the_files_come_from_the_hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A second preparation uses the cache; without it and without download it fails."""
    base = "/datasets/yixuantt/MultiHopRAG/resolve/main/"
    files = {f"{base}corpus.json": [BRIDGE], f"{base}MultiHopRAG.json": [query()]}
    with file_server({path: json.dumps(content).encode() for path, content in files.items()}, []) as address:
        use_hub(monkeypatch, tmp_path, address)
        assert len(cases(MultiHopRagBenchmark())) == 1
    use_hub(monkeypatch, tmp_path, None)
    assert len(cases(MultiHopRagBenchmark(download=False))) == 1
    use_hub(monkeypatch, tmp_path / "empty", None)
    with pytest.raises(DownloadError, match=r"corpus\.json of yixuantt/MultiHopRAG"):
        prepare(MultiHopRagBenchmark(download=False), tmp_path)


def test_a_spec_gives_paths_below_the_root(tmp_path: Path) -> None:
    """Unknown options, variants and splits are refused with what there is."""
    write(tmp_path, [BRIDGE], [query()])
    options = {"corpus_path": "corpus.json", "queries_path": "MultiHopRAG.json"}
    assert len(cases(from_spec(None, split=None, options=options, root=tmp_path, download=False))) == 1
    with pytest.raises(UnknownNameError, match="corpus_path, queries_path"):
        from_spec(None, split=None, options={"corpus": "x"}, root=tmp_path, download=False)
    with pytest.raises(UnknownNameError, match="split of multihop-rag 'test'"):
        from_spec(None, split="test", options={}, root=tmp_path, download=False)
    with pytest.raises(UnknownNameError, match="variant of multihop-rag 'small'"):
        from_spec("small", split=None, options={}, root=tmp_path, download=False)
