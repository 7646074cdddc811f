"""The shards of one run, evaluated on several machines, joined into the report of the whole run."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_heta.engine.agreement import FACTS, Facts, disagreements, documents_of
from pytest_heta.engine.journal import JournalHeader, explain_difference, read_journal
from pytest_heta.engine.resume import ResultKey
from pytest_heta.engine.shard import PLAN, SHARD, Shard
from pytest_heta.errors import ReportError, UsageError
from pytest_heta.records import EvaluationCaseResult, EvaluationReport, GateResult, KnowledgeBaseReport
from pytest_heta.reports.aggregate import latency_summary, summarize_scores
from pytest_heta.reports.assemble import RunFacts, busy_seconds
from pytest_heta.reports.gates import check_report
from pytest_heta.reports.history import REPORT
from pytest_heta.reports.json_file import read_report
from pytest_heta.reports.slices import SLICES, with_slices
from pytest_heta.reports.text import plural, some
from pytest_heta.reports.thresholds import Threshold, parse_threshold

_SAME = ("benchmark", "knowledge_base_name", "recipe", "query_modes", "metrics")
_OWN = frozenset({SHARD, "planned", "selected"})
"""What the selections of two shards of one run differ in."""


@dataclass(frozen=True)
class Part:
    """What one shard left behind: its report, or its journal alone where it did not come to its end."""

    name: str
    shard: Shard
    report: EvaluationReport | None
    header: JournalHeader | None
    results: tuple[EvaluationCaseResult, ...]


@dataclass(frozen=True)
class Merged:
    """The report of the whole run; the shards of which nothing was given, and the gates that cannot be judged anew."""

    report: EvaluationReport
    missing: tuple[Shard, ...]
    unjudged: tuple[GateResult, ...]


def read_part(path: Path) -> Part:
    """Read a report in JSON, or the folder of one evaluation of a run, which holds its report, its journal or both.

    Raises:
        UsageError: it is no shard of a run.
        ReportError: something in it cannot be read.
    """
    header, results = read_journal(path) if path.is_dir() else (None, ())
    file = path / REPORT if path.is_dir() else path
    report = None if header is not None and not file.exists() else read_report(file)
    if report is not None:
        results = report.cases
    selection = report.selection if report is not None else header.selection if header is not None else {}
    if SHARD not in selection or (report is not None and PLAN not in report.metadata):
        raise UsageError(f"{path} is no shard: only runs with --heta-shard can be merged")
    part = Part(str(path), Shard.parse(str(selection[SHARD])), report, header, tuple(results))
    foreign = sorted({result.case_id for result in results if not part.shard.holds(result.case_id)})
    if foreign:
        raise ReportError(f"{path}: holds cases that do not belong to shard {part.shard}: {some(foreign)}")
    return part


def merge_parts(parts: Sequence[Part], facts: RunFacts) -> Merged:
    """Join the shards of one run.

    Means, counts and gates are those that one run would have. A case of a shard that is missing, or that did not come
    to its end, was not run. Of ``facts`` only the report's id and time are used: a stage took as long as in the slowest
    shard, and what else the shards say differently of themselves is in ``metadata["shards"]``.

    Raises:
        UsageError: a shard is given twice, they are not of one run, or none has a report.
    """
    reports = {part.shard: part.report for part in parts if part.report is not None}
    if not reports:
        raise UsageError(f"none of {', '.join(part.name for part in parts)} has a {REPORT}: resume one of them first")
    first = next(iter(reports.values()))
    plan: list[tuple[str, list[str]]] = first.metadata[PLAN]
    _check(parts, {(unit_id, case_id) for unit_id, case_ids in plan for case_id in case_ids})
    cases = tuple(_in_order(plan, first.query_modes, parts))
    summary, counts = summarize_scores(cases, first.query_modes, first.metrics)
    seconds = {mode: busy_seconds(one for one in cases if one.mode == mode) for mode in first.query_modes}
    merged = first.model_copy(
        update={
            "report_id": facts.report_id,
            "created_at": facts.created_at,
            "cases": cases,
            "score_summary": summary,
            "counts": counts,
            "latency": latency_summary(cases, first.query_modes, seconds),
            "knowledge_bases": tuple(_knowledge_bases(plan, reports.values())),
            "selection": _selection(first, plan, len(cases)),
            "durations": _longest(report.durations for report in reports.values()),
            "versions": _versions(report.versions for report in reports.values()),
            "metadata": _metadata(reports),
        }
    )
    merged = with_slices(merged, list(first.metadata.get(SLICES, {})))
    judged, unjudged = _thresholds(first.gates)
    known = {(result.unit_id, result.case_id, result.mode) for part in parts for result in part.results}
    lost = len(cases) - len(known)
    gates = tuple(_without(lost, gate) for gate in check_report(judged, merged))
    return Merged(merged.model_copy(update={"gates": gates}), _missing(plan, parts), unjudged)


def _check(parts: Sequence[Part], planned: Collection[tuple[str, str]]) -> None:
    first = next(part for part in parts if part.report is not None)
    seen: dict[Shard, str] = {}
    for part in parts:
        if part.shard in seen:
            raise UsageError(f"{seen[part.shard]} and {part.name} are both shard {part.shard}")
        seen[part.shard] = part.name
        differences = list(_differences(first, part))
        unplanned = [one.case_id for one in part.results if (one.unit_id, one.case_id) not in planned]
        if unplanned and not differences:
            differences = [f"it holds cases that were not planned: {some(unplanned)}"]
        if differences:
            raise UsageError(f"{part.name} is no shard of the same run as {first.name}: {'; '.join(differences)}")


def _differences(first: Part, part: Part) -> Iterator[str]:
    if part.shard.count != first.shard.count:
        yield f"it is shard {part.shard}, not one of {first.shard.count}"
    if part.header is not None and first.header is not None:
        yield from explain_difference(first.header, part.header, ignore=("selection",))
    one, other = first.report, part.report
    assert one is not None
    if other is None:
        yield from _differences_of_header(one, part)
        return
    for field in _SAME:
        if getattr(one, field) != getattr(other, field):
            yield f"{field.replace('_', ' ')} differ: {_told(getattr(one, field))} and {_told(getattr(other, field))}"
    if one.metadata.get("evaluators") != other.metadata.get("evaluators"):
        yield "their metrics are defined differently"
    yield from _told_differently(one, other)
    if _shared_selection(one) != _shared_selection(other) or one.metadata.get(PLAN) != other.metadata.get(PLAN):
        yield "they planned other cases"


def _told_differently(one: EvaluationReport, other: EvaluationReport) -> Iterator[str]:
    """Hold what two reports know of their cases, recipes and documents against each other; old ones know nothing."""
    facts, others = (dict(report.metadata.get(FACTS, ())) for report in (one, other))
    if facts and others:
        yield from disagreements(facts, others)
    documents, elsewhere = _documents(one), _documents(other)
    common = documents.keys() & elsewhere.keys()
    yield from disagreements({key: documents[key] for key in common}, {key: elsewhere[key] for key in common})


def _documents(report: EvaluationReport) -> Facts:
    digests = {base.unit_id: base.manifest.get("documents_digest") for base in report.knowledge_bases}
    return {documents_of(unit_id): digest for unit_id, digest in digests.items() if digest}


def _differences_of_header(report: EvaluationReport, part: Part) -> Iterator[str]:
    """A shard of which only the journal is left, held against a report."""
    header = part.header
    assert header is not None
    names = {
        "benchmark": (f"{report.benchmark.name}@{report.benchmark.split}", header.benchmark),
        "recipe": (str(report.recipe.get("name")), header.recipe),
        "modes": (report.query_modes, header.modes),
        "metrics": (sorted(report.metrics), sorted(header.evaluators)),
    }
    for name, (one, other) in names.items():
        if one != other:
            yield f"{name} differ: {_told(one)} and {_told(other)}"


def _told(value: Any) -> str:
    if isinstance(value, str):
        return repr(value)
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value))
    fields = value if isinstance(value, Mapping) else value.model_dump(exclude_defaults=True)
    return ", ".join(f"{name} {item!r}" for name, item in fields.items())


def _in_order(
    plan: Iterable[tuple[str, list[str]]], modes: Sequence[str], parts: Sequence[Part]
) -> Iterator[EvaluationCaseResult]:
    """Yield the results in plan order: unit, mode, case. What a shard with a report lacks was deselected in it."""
    found: dict[ResultKey, EvaluationCaseResult] = {
        (result.unit_id, result.case_id, result.mode): result for part in parts for result in part.results
    }
    complete = [part.shard for part in parts if part.report is not None]
    for unit_id, case_ids in plan:
        for mode in modes:
            for case_id in case_ids:
                result = found.get((unit_id, case_id, mode))
                if result is not None:
                    yield result
                elif not any(shard.holds(case_id) for shard in complete):
                    yield EvaluationCaseResult(unit_id=unit_id, case_id=case_id, mode=mode, status="not_run")


def _missing(plan: Iterable[tuple[str, list[str]]], parts: Sequence[Part]) -> tuple[Shard, ...]:
    """Return the shards that have cases and of which nothing was given."""
    count = parts[0].shard.count
    case_ids = {case_id for _, case_ids in plan for case_id in case_ids}
    absent = {Shard(index, count) for index in range(1, count + 1)} - {part.shard for part in parts}
    return tuple(shard for shard in sorted(absent, key=lambda shard: shard.index) if any(map(shard.holds, case_ids)))


def _knowledge_bases(
    plan: Iterable[tuple[str, list[str]]], reports: Iterable[EvaluationReport]
) -> Iterator[KnowledgeBaseReport]:
    """Yield one report a unit: of several that opened its KB, the one that failed or built it tells more."""
    found: dict[str, list[KnowledgeBaseReport]] = {}
    for report in reports:
        for base in report.knowledge_bases:
            found.setdefault(base.unit_id, []).append(base)
    for unit_id, _ in plan:
        if unit_id in found:
            yield min(found[unit_id], key=lambda base: (base.error is None, base.cached))


def _shared_selection(report: EvaluationReport) -> dict[str, Any]:
    return {name: value for name, value in report.selection.items() if name not in _OWN}


def _selection(report: EvaluationReport, plan: Iterable[tuple[str, list[str]]], selected: int) -> dict[str, Any]:
    planned = sum(len(case_ids) for _, case_ids in plan) * len(report.query_modes)
    counts = {"planned": planned, "selected": selected}
    return {name: counts.get(name, value) for name, value in report.selection.items() if name != SHARD}


def _longest(durations: Iterable[Mapping[str, float]]) -> dict[str, float]:
    longest: dict[str, float] = {}
    for stages in durations:
        for stage, seconds in stages.items():
            longest[stage] = max(seconds, longest.get(stage, 0.0))
    return longest


def _versions(of_shards: Iterable[Mapping[str, str]]) -> dict[str, str]:
    """Return the version of each library, and all of them where the shards had different ones."""
    found: dict[str, dict[str, None]] = {}
    for versions in of_shards:
        for library, version in versions.items():
            found.setdefault(library, {})[version] = None
    return {library: ", ".join(versions) for library, versions in found.items()}


def _metadata(reports: Mapping[Shard, EvaluationReport]) -> dict[str, Any]:
    """Return what all shards say of themselves, and under ``shards`` what each says in its own way."""
    said = {
        str(shard): {key: value for key, value in report.metadata.items() if key not in (PLAN, FACTS, SLICES)}
        for shard, report in reports.items()
    }
    first, *others = said.values()
    shared = {key: value for key, value in first.items() if all(key in one and one[key] == value for one in others)}
    own = {
        str(shard): {"report_id": report.report_id}
        | {key: value for key, value in said[str(shard)].items() if key not in shared}
        for shard, report in reports.items()
    }
    return shared | {"shards": own}


def _without(lost: int, gate: GateResult) -> GateResult:
    """Fail a gate where cases are lost: nobody knows their labels, so a gate on a slice does not miss them."""
    if not lost or not gate.passed:
        return gate
    reason = f"{gate.reason}; {plural(lost, 'case')} not run, so this gate cannot pass"
    return gate.model_copy(update={"passed": False, "reason": reason})


def _thresholds(gates: Iterable[GateResult]) -> tuple[list[Threshold], tuple[GateResult, ...]]:
    """Return the thresholds behind gates, and those gates that come from something else, such as a baseline."""
    found: list[Threshold] = []
    others: list[GateResult] = []
    for gate in gates:
        threshold = _threshold(gate)
        if threshold is None:
            others.append(gate)
        else:
            found.append(threshold)
    return found, tuple(others)


def _threshold(gate: GateResult) -> Threshold | None:
    prefix = f"{gate.mode}." if gate.mode else ""
    subject = gate.name.removeprefix(prefix).rpartition(" >= " if gate.bound == "min" else " <= ")[0]
    try:
        threshold = parse_threshold(f"{prefix}{subject} = {gate.threshold!r}", gate.bound)
    except UsageError:
        return None
    return threshold if f"{prefix}{threshold.text}" == gate.name else None
