"""The checks of one query mode. Each returns what is wrong, or raises ``Skipped``; None stands for nothing."""

from __future__ import annotations

import itertools
import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

from pytest_heta.calling import call
from pytest_heta.checking.probe import Probe, ranking
from pytest_heta.engine.responses import as_response
from pytest_heta.keys import document_id_of
from pytest_heta.records import QueryResponse

_ROUNDS = 4


class Skipped(Exception):
    """A check that does not apply; the text says why."""


@dataclass(frozen=True)
class Subject:
    """What is checked: a mode of a KB, the queries, how many at once, and the ids that its corpus has (None: unknown).

    ``right`` maps queries to the one document that answers them.
    """

    probe: Probe
    queries: Sequence[str]
    concurrency: int
    known_ids: frozenset[str] | None
    right: Mapping[str, str]


async def responses(subject: Subject) -> str | None:
    """All queries are answered, at least one with hits, or with an answer."""
    answers = [await subject.probe.ask(query) for query in subject.queries]
    if any(answer.results or answer.answer for answer in answers):
        return None
    hint = "; ask for something that is in its documents: --query TEXT" if subject.known_ids is None else ""
    return f"none of {len(answers)} queries found anything, such as {subject.queries[0]!r}{hint}"


async def ids(subject: Subject) -> str | None:
    """Each hit names a document of the corpus."""
    hits = [hit for query in subject.queries for hit in (await subject.probe.ask(query)).results]
    lost = [hit for hit in hits if document_id_of(hit) is None]
    if lost:
        return (
            f"{len(lost)} of {len(hits)} hits name no document, such as {lost[0].id!r} with source {lost[0].source}: "
            "keep the document's raw key with each chunk and return it as source['source_key']"
        )
    named = {str(document_id_of(hit)) for hit in hits}
    strange = named - (named if subject.known_ids is None else subject.known_ids)
    if strange:
        return (
            f"hits name documents that were never given, such as {sorted(strange)[0]!r}: return the id as it stands in "
            f"the raw key, such as {sorted(subject.known_ids or ())[0]!r}"
        )
    return None


async def relevance(subject: Subject) -> str | None:
    """The right document is among the first three for at least half of the queries."""
    if not subject.right:
        raise Skipped("the recipe searches documents of its own")
    missed = []
    for query, document in subject.right.items():
        found = [document_id_of(hit) for hit in (await subject.probe.ask(query)).results]
        if found and document not in list(dict.fromkeys(found))[:3]:
            missed.append(query)
    if 2 * len(missed) <= len(subject.right):
        return None
    share = f"{len(missed)} of {len(subject.right)}"
    return f"for {share} queries the right document is not among the first three, such as {missed[0]!r}"


async def top_k(subject: Subject) -> str | None:
    """Never more than ``top_k`` hits, and no error where there are fewer."""
    for wanted in (1, 3, 1000):
        found = len((await subject.probe.ask(subject.queries[0], wanted)).results)
        if found > wanted:
            return f"top_k={wanted} gave {found} hits: cut the list"
    return None


async def order(subject: Subject) -> str | None:
    """Hits stand best first: scores are numbers and never rise."""
    for query in subject.queries:
        scores = [hit.score for hit in (await subject.probe.ask(query, 10)).results if hit.score is not None]
        if any(not math.isfinite(score) for score in scores):
            return f"a score is not a number: {scores} for {query!r}"
        if any(later > earlier for earlier, later in itertools.pairwise(scores)):
            return f"scores rise: {scores[:6]} for {query!r}; sort the hits best first, and negate distances"
    return None


async def determinism(subject: Subject) -> str | None:
    """The same query gives the same hits."""
    for query in subject.queries:
        first, second = ranking(await subject.probe.ask(query)), ranking(await subject.probe.ask(query))
        if first != second:
            return f"{query!r} asked twice gave {first} and then {second}: runs cannot be compared"
    return None


async def at_once(subject: Subject) -> str | None:
    """Queries asked at the same time give what they give one by one."""
    if subject.concurrency == 1:
        raise Skipped("max_concurrency is 1")
    alone = {query: ranking(await subject.probe.ask(query)) for query in subject.queries}
    many = list(subject.queries) * _ROUNDS
    for query, response in zip(many, await subject.probe.ask_at_once(many, subject.concurrency), strict=True):
        if ranking(response) != alone[query]:
            return (
                f"{subject.concurrency} queries at once: {query!r} gave {ranking(response)}, alone {alone[query]}: "
                "make the query thread-safe, or set max_concurrency = 1 on the recipe"
            )
    return None


async def batches(subject: Subject) -> str | None:
    """``query_many`` gives what ``query`` gives."""
    kb, mode = subject.probe.kb, subject.probe.mode
    if not hasattr(kb, "query_many"):
        raise Skipped("there is no query_many")
    given = await call(kb.query_many, list(subject.queries), mode=mode, top_k=5)
    answers: list[QueryResponse] = [as_response(answer, mode) for answer in given]
    if len(answers) != len(subject.queries):
        return f"query_many returned {len(answers)} responses to {len(subject.queries)} queries"
    for query, answer in zip(subject.queries, answers, strict=True):
        if ranking(answer) != (single := ranking(await subject.probe.ask(query))):
            return f"{query!r} gave {ranking(answer)} in a batch and {single} alone"
    return None


MODE_CHECKS: Mapping[str, Callable[[Subject], Awaitable[str | None]]] = {
    "responses": responses,
    "ids": ids,
    "relevance": relevance,
    "top_k": top_k,
    "order": order,
    "determinism": determinism,
    "at once": at_once,
    "batches": batches,
}
