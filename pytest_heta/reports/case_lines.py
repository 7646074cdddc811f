"""One case in a terminal: its query, its gold labels, its scores, and what came, with the gold documents marked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pytest_heta.records import EvaluationCaseResult, EvaluationScore, GoldLabel, RankedHit
from pytest_heta.reports.lines import Line, wrapped
from pytest_heta.reports.metric_names import headline_metrics
from pytest_heta.reports.text import ABSENT, cells, fit, listed, number, one_line, plural, some
from pytest_heta.reports.thresholds import Threshold, concerns, short_name

_TOP_HITS = 10
_LONGEST_TEXT = 1000
_NAMED = 10


def case_lines(result: EvaluationCaseResult, thresholds: Sequence[Threshold] = (), width: int = 80) -> list[Line]:
    """Return a case in short, no line wider than ``width``: the top hits, a line each, and no more of long texts.

    The scores are those that ``thresholds`` bound and one of each family; a hit of a gold document has a star.
    """
    return [
        Line(fit(f"query: {one_line(result.query)}", width)),
        *_facts(result, width),
        *wrapped(_scores(result, thresholds), width, indent="", hang="  "),
        *_table(result, width),
    ]


def ranking_lines(result: EvaluationCaseResult, width: int = 80) -> list[Line]:
    """Return a case in full, no line wider than ``width``: all hits and their texts, of long ones the beginning."""
    return [
        Line(fit(one_line(f"case {result.case_id} ({result.mode}, unit {result.unit_id})"), width), "bold"),
        *wrapped(f"query: {one_line(result.query)}", width),
        *_facts(result, width, "  "),
        *wrapped(_scores(result, ()), width),
        *(() if result.hits else (Line("  no hits"),)),
        *(line for rank, hit in enumerate(result.hits, start=1) for line in _whole_hit(result, rank, hit, width)),
    ]


def expected_and_found(result: EvaluationCaseResult) -> tuple[str, str]:
    """Say which documents were expected, and which came first; those that were expected have a star."""
    expected = [_gold_name(gold) for gold in _relevant(result)]
    found = [f"{_hit_name(hit)}{_star(result, hit)}" for hit in result.hits]
    return f"expected {some(expected, _NAMED) or 'nothing'}", f"found {some(found, _NAMED) or 'nothing'}"


def _facts(result: EvaluationCaseResult, width: int, indent: str = "") -> Iterator[Line]:
    gold = some([_gold_text(result, gold) for gold in result.gold], _NAMED)
    yield from wrapped(f"gold: {gold or 'none'}", width, indent=indent, hang=f"{indent}  ")
    if result.answer is not None:
        yield Line(fit(f"{indent}answer: {one_line(result.answer)}", width))
    if result.error is not None:
        yield Line(fit(f"{indent}{one_line(f'{result.error.error_type}: {result.error.message}')}", width), "bad")


def _relevant(result: EvaluationCaseResult) -> list[GoldLabel]:
    return [gold for gold in result.gold if gold.relevance > 0]


def _gold_text(result: EvaluationCaseResult, gold: GoldLabel) -> str:
    ranks = (rank for rank, hit in enumerate(result.hits, start=1) if hit.document_id == gold.document_id)
    rank = next(ranks, None) if gold.document_id is not None else None
    place = f"rank {rank}" if rank else "not found" if gold.document_id is not None else ""
    return f"{_gold_name(gold)} ({listed([f'grade {number(gold.relevance)}', place])})"


def _gold_name(gold: GoldLabel) -> str:
    return one_line(gold.document_id or fit(f'"{gold.text or "a text"}', 40) + '"')


def _hit_name(hit: RankedHit) -> str:
    return one_line(hit.document_id or hit.id)


def _star(result: EvaluationCaseResult, hit: RankedHit) -> str:
    found = hit.document_id is not None and any(gold.document_id == hit.document_id for gold in _relevant(result))
    return "*" if found else ""


def _scores(result: EvaluationCaseResult, thresholds: Sequence[Threshold]) -> str:
    bounds = [threshold for threshold in thresholds if concerns(threshold, result)]
    bounded = {threshold.metric for threshold in bounds}
    shown = {*bounded, *headline_metrics([score.name for score in result.scores])}
    first = sorted((score for score in result.scores if score.name in shown), key=lambda each: each.name not in bounded)
    return f"scores: {listed([_score(score, bounds) for score in first]) or 'none'}"


def _score(score: EvaluationScore, bounds: Sequence[Threshold]) -> str:
    limits = listed([f"{bound.bound} {number(bound.value)}" for bound in bounds if bound.metric == score.name])
    value = "unscored" if score.value is None else f"{score.value:.3f}"
    return f"{short_name(score.name)} {value}{f' ({limits})' if limits else ''}"


def _table(result: EvaluationCaseResult, width: int) -> Iterator[Line]:
    top = result.hits[:_TOP_HITS]
    if not top:
        yield Line("no hits")
        return
    names = min(max(8, *(cells(_hit_name(hit)) for hit in top)), width // 3)
    yield Line(f"rank {'score':>10}   {'document':<{names}}  text (* gold)"[:width])
    for rank, hit in enumerate(top, start=1):
        name = fit(_hit_name(hit), names)
        row = f"{_rank_and_score(result, rank, hit)}{name}{' ' * (names - cells(name))}  {one_line(hit.text or '')}"
        yield Line(fit(row.rstrip(), width))
    if len(result.hits) > len(top):
        yield Line(f"and {plural(len(result.hits) - len(top), 'hit')} more")


def _rank_and_score(result: EvaluationCaseResult, rank: int, hit: RankedHit) -> str:
    return f"{rank:>4} {ABSENT if hit.score is None else f'{hit.score:.4f}':>10} {_star(result, hit):1} "


def _whole_hit(result: EvaluationCaseResult, rank: int, hit: RankedHit, width: int) -> Iterator[Line]:
    part = f"  {one_line(hit.id)}" if hit.document_id not in (None, hit.id) else ""
    row = f"  {_rank_and_score(result, rank, hit)}{_hit_name(hit)}{part}"
    yield Line(fit(row, width), "good" if _star(result, hit) else "plain")
    yield from wrapped(fit(one_line(hit.text or ""), _LONGEST_TEXT), width, "dim", " " * 9, " " * 9)
