"""What a run recorded can be judged again, and what it did not record is never taken for nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from pytest_heta.engine.asking import Asker
from pytest_heta.engine.config import RunnerConfig
from pytest_heta.engine.depth import Depth
from pytest_heta.engine.header import journal_header
from pytest_heta.engine.journal import JournalWriter
from pytest_heta.engine.scoring import score
from pytest_heta.errors import ReportError, UnknownNameError, UsageError
from pytest_heta.evaluators.answers import AnswerExactMatch
from pytest_heta.evaluators.evidence import EvidenceRecallAtK
from pytest_heta.evaluators.ranking import BeirRetrievalMetric
from pytest_heta.records import (
    BenchmarkCase,
    BenchmarkEvidence,
    BenchmarkExpected,
    BenchmarkManifest,
    EvaluationCaseResult,
    QueryResponse,
)
from pytest_heta.reports.assemble import RunFacts, assemble_report
from pytest_heta.reports.json_file import write_report
from pytest_heta.reports.recording import Recording, read_recording
from pytest_heta.reports.replay import ReplaySource
from tests.engine.toys import MODE, ToyBenchmark, ToyKnowledgeBase, ToyRecipe, case, evaluation_of, plan_of, response

MANIFEST = ToyBenchmark().manifest
NDCG = BeirRetrievalMetric("ndcg", 3)
TEXT_CASE = BenchmarkCase(
    case_id="t",
    query="query t",
    expected=BenchmarkExpected(answers=("42",), evidence=(BenchmarkEvidence(text="the gold passage"),)),
)
PAGE_CASE = BenchmarkCase(
    case_id="p",
    query="query p",
    expected=BenchmarkExpected(evidence=(BenchmarkEvidence(locator={"document_id": "d0", "page_index": 4}),)),
)
CASES = (case("c0", "d1"), case("c1", "d2"), case("c2", "gone"), case("c3"), TEXT_CASE, PAGE_CASE)


def answer(text: str, top_k: int) -> QueryResponse:
    """Rank chunks: two of d0, then d1, d2, d3; fail for c3; answer t."""
    if text == "query c3":
        raise ValueError("no")
    found = response(*("d0", "d0", "d1", "d2", "d3")[:top_k])
    return found.model_copy(update={"answer": "42" if text == "query t" else None, "metadata": {"tokens": 7}})


def record(folder: Path, *, journal: bool = False, evaluators: Sequence[Any] = (NDCG,), **config: Any) -> Path:
    """Run a recipe and leave its report, or its journal alone, in a folder."""

    async def story() -> None:
        plan = await plan_of(cases=CASES, evaluators=evaluators)
        evaluation = evaluation_of(
            plan, ToyRecipe(lambda name: ToyKnowledgeBase(answer)), config=RunnerConfig(**config)
        )
        results = [await evaluation.result(plan.units[0], one, MODE) for one in CASES]
        bases = evaluation.pool.reports.values()
        if journal:
            with JournalWriter(folder, "main", journal_header(evaluation)) as writer:
                for result in results:
                    writer.write(result.model_dump_json())
        else:
            report = assemble_report(evaluation, results, bases, RunFacts("r", "2026-01-02T03:04:05Z"))
            write_report(folder / "report.json", report)

    asyncio.run(story())
    return folder


def source_of(
    recording: Recording, *evaluators: Any, benchmark: BenchmarkManifest = MANIFEST, **config: Any
) -> ReplaySource:
    """Open the recording for these evaluators."""
    return ReplaySource(
        recording, benchmark=benchmark, modes=(MODE,), evaluators=evaluators, config=RunnerConfig(**config)
    )


def scores_of(source: ReplaySource, one: BenchmarkCase, *evaluators: Any) -> tuple[list[float | None], str]:
    """Judge one recorded case; return the values, and the message of an evaluator that failed."""
    outcome = source.outcome("corpus", one, MODE)
    assert outcome.response is not None
    scores, error = asyncio.run(score(one, outcome.response, evaluators))
    return [found.value for found in scores], error.message if error else ""


@pytest.mark.parametrize("journal", [False, True])
def test_a_recording_gives_what_the_run_got(tmp_path: Path, journal: bool) -> None:
    """The same rankings, answers, errors, times and scores, from a report or a journal."""
    recording = read_recording(record(tmp_path, journal=journal))
    assert (recording.benchmark, recording.modes, recording.depth) == ("toy@test", (MODE,), 3)
    assert recording.recipe.name == "toy"
    assert recording.recipe.recipe.available_queries == (MODE,)
    source = source_of(recording, NDCG)
    for one in CASES:
        recorded: EvaluationCaseResult = recording.results["corpus", one.case_id, MODE]
        outcome = source.outcome("corpus", one, MODE)
        times = (outcome.asked_at, outcome.latency_ms, outcome.amortised, outcome.shallow)
        assert times == (recorded.asked_at, recorded.latency_ms, recorded.amortised, recorded.shallow)
        assert outcome.error == recorded.error
        if outcome.response is None:
            assert recorded.status == "errored"
            continue
        told = [(hit.id, hit.score, hit.source.get("document_id")) for hit in outcome.response.results]
        assert told == [(hit.id, hit.score, hit.document_id) for hit in recorded.hits]
        assert (outcome.response.answer, outcome.response.metadata) == (recorded.answer, {"tokens": 7})
        again, error = asyncio.run(score(one, outcome.response, (NDCG,)))
        assert (again, error) == (recorded.scores, recorded.error)


def test_a_report_is_named_by_its_file_too(tmp_path: Path) -> None:
    """And a folder without either is bad usage."""
    folder = record(tmp_path / "run")
    assert read_recording(folder / "report.json").results == read_recording(folder).results
    (tmp_path / "empty").mkdir()
    with pytest.raises(UsageError, match=r"holds neither a report\.json nor a journal"):
        read_recording(tmp_path / "empty")


def test_other_metrics_and_smaller_cut_offs_are_judged(tmp_path: Path) -> None:
    """As if the knowledge base had been asked for them: the ranking is d0, d1, d2, d3."""
    recording = read_recording(record(tmp_path))
    metrics = (BeirRetrievalMetric("mrr", 3), BeirRetrievalMetric("recall", 1), AnswerExactMatch())
    source = source_of(recording, *metrics)
    assert scores_of(source, CASES[0], *metrics)[0][:2] == [0.5, 0.0]
    assert scores_of(source, CASES[1], *metrics)[0][:2] == [pytest.approx(1 / 3), 0.0]
    assert scores_of(source, TEXT_CASE, AnswerExactMatch())[0] == [1.0]


@pytest.mark.parametrize("documents", [1, 2, 3, 4])
@pytest.mark.parametrize("top_k", [None, 2])
def test_replayed_is_as_deep_as_asked(tmp_path: Path, documents: int, top_k: int | None) -> None:
    """A smaller metric sees what it would have seen of the knowledge base itself, and is shallow where it would be."""
    wide = BeirRetrievalMetric("ndcg", 4)
    metric = BeirRetrievalMetric("recall", documents)
    source = source_of(read_recording(record(tmp_path, evaluators=(wide,))), metric, top_k=top_k)
    replayed = source.outcome("corpus", CASES[0], MODE)

    async def asked() -> Any:
        asker = Asker(RunnerConfig(), Depth.of((metric,), top_k))
        return await asker.ask(ToyKnowledgeBase(answer), CASES[0], MODE)

    real = asyncio.run(asked())
    assert replayed.response is not None
    hits = [hit.id for hit in replayed.response.results]
    # The recording has what was asked for last; asked anew, the base may give less or more of a longer tail.
    assert hits == [hit.id for hit in real.response.results][: len(hits)]
    assert (len({hit.partition("#")[0] for hit in hits}) >= documents) is not real.shallow
    assert replayed.shallow == real.shallow


@pytest.mark.parametrize(
    ("evaluators", "config", "message"),
    [
        ((BeirRetrievalMetric("ndcg", 5), NDCG), {}, r"holds 3 results a query, and beir_ndcg@5 looks deeper"),
        ((NDCG,), {"top_k": 4}, r"holds 3 results a query, and --heta-top-k looks deeper: .*--heta-top-k=4"),
        ((NDCG,), {"keep_texts": True}, "holds no texts of hits that could be kept"),
    ],
)
def test_what_was_not_recorded_is_refused(tmp_path: Path, evaluators: Any, config: Any, message: str) -> None:
    """Before anything is judged."""
    with pytest.raises(UsageError, match=message):
        source_of(read_recording(record(tmp_path)), *evaluators, **config)


def test_a_recording_of_something_else_is_refused(tmp_path: Path) -> None:
    """Another benchmark or split, or a mode that was not asked."""
    recording = read_recording(record(tmp_path))
    other = MANIFEST.model_copy(update={"split": "dev"})
    with pytest.raises(UsageError, match="is a recording of toy@test, not of toy@dev"):
        source_of(recording, NDCG, benchmark=other)
    with pytest.raises(UnknownNameError, match=r"unknown mode in .* 'x'"):
        ReplaySource(recording, benchmark=MANIFEST, modes=("x",), evaluators=(NDCG,), config=RunnerConfig())


def test_a_case_without_a_response_is_an_error(tmp_path: Path) -> None:
    """One that is not recorded, and one whose query has changed since."""
    source = source_of(read_recording(record(tmp_path)), NDCG)
    for one, message in ((case("new"), "holds no response"), (case("c0", query="changed"), "to another query")):
        outcome = source.outcome("corpus", one, MODE)
        assert outcome.response is None
        assert outcome.error is not None
        assert (outcome.error.error_type, message in outcome.error.message) == ("NotRecorded", True)


def test_texts_that_were_not_kept_do_not_pass_for_empty(tmp_path: Path) -> None:
    """A metric that looks at them fails and says how to keep them; with them it scores."""
    metric = EvidenceRecallAtK(3)
    without = source_of(read_recording(record(tmp_path / "a")), metric)
    assert scores_of(without, TEXT_CASE, metric) == (
        [],
        "evaluator evidence_recall@3: the texts of the hits were not recorded: run again with --heta-texts",
    )
    with_texts = source_of(read_recording(record(tmp_path / "b", keep_texts=True)), metric, keep_texts=True)
    assert scores_of(with_texts, TEXT_CASE, metric) == ([0.0], "")


def test_places_that_are_not_recorded_do_not_pass_for_absent(tmp_path: Path) -> None:
    """A page cannot be judged from document ids; a document can."""
    metric = EvidenceRecallAtK(3)
    source = source_of(read_recording(record(tmp_path, keep_texts=True)), metric)
    values, message = scores_of(source, PAGE_CASE, metric)
    assert values == []
    assert "'page_index' of the hits was not recorded, so this metric cannot be replayed" in message
    named = PAGE_CASE.model_copy(
        update={"expected": BenchmarkExpected(evidence=(BenchmarkEvidence(locator={"document_id": "d0"}),))}
    )
    assert scores_of(source, named, metric) == ([1.0], "")
    with pytest.raises(ReportError, match="'page' of the hits was not recorded"):
        _ = source.outcome("corpus", named, MODE).response.results[0].source["page"]  # type: ignore[union-attr]
