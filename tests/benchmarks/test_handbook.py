"""The hand-written sample in benchmarks/handbook keeps the promises of its README. No engine is needed for that."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from pathlib import Path
from typing import Any

HANDBOOK = Path(__file__).parents[2] / "benchmarks" / "handbook"
SAFE_ID = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
SUFFIX = re.compile(r"(ies|ied|ing|edly|ed|es|ly|s|e|y)$")
FUNCTION_WORDS = """
    a an and any are as at be been but by can could did do does doing for from get gets getting had has have having
    how i if in is it its just may me might must my not now of off on or our own shall should so some that the their
    them then there these they this those to too was we were what when where which who whom whose why will with would
    you your m s t re ve ll d"""


def lines(name: str) -> list[dict[str, Any]]:
    """Read a JSONL file of the data set."""
    return [json.loads(line) for line in (HANDBOOK / name).read_bytes().split(b"\n") if line]


def rows() -> list[tuple[str, str, int]]:
    """Read the labels as (query id, document id, grade)."""
    _, *body = (HANDBOOK / "qrels" / "test.tsv").read_text(encoding="utf-8").splitlines()
    return [(query, document, int(grade)) for query, document, grade in (line.split("\t") for line in body)]


def labels() -> dict[str, dict[str, int]]:
    """Return the grades of each query: query id -> document id -> grade."""
    table: dict[str, dict[str, int]] = defaultdict(dict)
    for query, document, grade in rows():
        table[query][document] = grade
    return table


def content_words(text: str) -> set[str]:
    """Return the stems of the words that carry meaning; the stem drops one English ending and a doubled consonant."""
    words = set(re.findall(r"[^\W_]+", text.lower())) - set(FUNCTION_WORDS.split())
    return {re.sub(r"(.)\1$", r"\1", SUFFIX.sub("", word)) if len(word) > 3 else word for word in words}


def full_text(document: dict[str, Any]) -> str:
    """Return what an engine sees of a document."""
    return f"{document['title']}\n\n{document['text']}"


def test_size_is_what_the_readme_says() -> None:
    """There are 120 documents and 44 queries, all of them with labels."""
    assert len(lines("corpus.jsonl")) == 120
    assert len(lines("queries.jsonl")) == 44
    assert set(labels()) == {query["_id"] for query in lines("queries.jsonl")}


def test_ids_are_unique_and_file_name_safe() -> None:
    """No id occurs twice, and every id is lower-case words joined by hyphens."""
    for name in ("corpus.jsonl", "queries.jsonl"):
        ids = [row["_id"] for row in lines(name)]
        assert len(set(ids)) == len(ids)
        assert [identity for identity in ids if not SAFE_ID.fullmatch(identity)] == []


def test_records_have_the_beir_fields_and_no_empty_text() -> None:
    """Documents have id, title, text and a topic; queries have id, text and a kind; nothing is blank or padded."""
    for name, fields, label in (("corpus.jsonl", ("title", "text"), "topic"), ("queries.jsonl", ("text",), "kind")):
        for row in lines(name):
            assert set(row) == {"_id", "metadata", *fields}
            assert set(row["metadata"]) == {label}
            for field in fields:
                assert row[field], row["_id"]
                assert row[field] == row[field].strip(), row["_id"]


def test_documents_are_short_and_distinct() -> None:
    """Each text has 60 to 180 words, and no title or text is used twice."""
    documents = lines("corpus.jsonl")
    lengths = {document["_id"]: len(document["text"].split()) for document in documents}
    assert {identity: length for identity, length in lengths.items() if not 60 <= length <= 180} == {}
    assert len({document["title"] for document in documents}) == len(documents)
    assert len({document["text"] for document in documents}) == len(documents)


def test_query_kinds_are_the_three_of_the_readme() -> None:
    """The kinds and their counts are those of the table in the README."""
    kinds = [query["metadata"]["kind"] for query in lines("queries.jsonl")]
    assert {kind: kinds.count(kind) for kind in set(kinds)} == {"paraphrase": 9, "exact": 14, "plain": 21}


def test_label_file_is_a_beir_qrels_table() -> None:
    """The header is BEIR's, and no pair of query and document is judged twice."""
    header = (HANDBOOK / "qrels" / "test.tsv").read_text(encoding="utf-8").split("\n", 1)[0]
    assert header == "query-id\tcorpus-id\tscore"
    pairs = [(query, document) for query, document, _ in rows()]
    assert len(set(pairs)) == len(pairs)


def test_labels_resolve() -> None:
    """Every label names a query and a document that exist."""
    assert {query for query, _, _ in rows()} <= {query["_id"] for query in lines("queries.jsonl")}
    assert {document for _, document, _ in rows()} <= {document["_id"] for document in lines("corpus.jsonl")}


def test_grades_are_two_one_or_zero_and_all_occur() -> None:
    """Grades are 2 (answers), 1 (useful) and 0 (judged and useless), and the set has some of each."""
    assert {grade for _, _, grade in rows()} == {0, 1, 2}


def test_every_query_has_an_answer_and_at_most_five_useful_documents() -> None:
    """Each query has a document of grade 2, and one to five documents above 0."""
    for query, judged in labels().items():
        assert 2 in judged.values(), query
        assert 1 <= sum(grade > 0 for grade in judged.values()) <= 5, query


def test_paraphrases_share_no_content_word_with_an_answer() -> None:
    """Every paraphrase has an answer that shares no stem with it; for at least eight that holds for all answers."""
    documents = {document["_id"]: content_words(full_text(document)) for document in lines("corpus.jsonl")}
    disjoint, grades = 0, labels()
    for query in (query for query in lines("queries.jsonl") if query["metadata"]["kind"] == "paraphrase"):
        words = content_words(query["text"])
        assert words, query["_id"]
        answers = [documents[document] for document, grade in grades[query["_id"]].items() if grade == 2]
        assert any(not words & answer for answer in answers), query["_id"]
        disjoint += all(not words & answer for answer in answers)
    assert disjoint >= 8


def test_exact_queries_share_a_code_or_name_with_every_answer() -> None:
    """Each query of the kind `exact` has a token that all of its answers contain."""
    documents = {document["_id"]: content_words(full_text(document)) for document in lines("corpus.jsonl")}
    grades = labels()
    for query in (query for query in lines("queries.jsonl") if query["metadata"]["kind"] == "exact"):
        answers = [documents[document] for document, grade in grades[query["_id"]].items() if grade == 2]
        assert content_words(query["text"]).intersection(*answers), query["_id"]
