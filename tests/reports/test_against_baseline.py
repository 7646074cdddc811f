"""A run against its baseline: refused where they are not of a kind, and judged on the cases that both have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_heta.records import EvaluationCaseResult, EvaluationReport, KnowledgeBaseReport
from pytest_heta.reports.against_baseline import BaselineComparison, compare_with_baseline, without_baseline
from pytest_heta.reports.baseline import baseline_of
from pytest_heta.reports.baseline_lines import baseline_lines
from pytest_heta.reports.foresight import undetectable_drops
from pytest_heta.reports.policies import Policy, PolicyKind
from pytest_heta.reports.slices import Slice
from pytest_heta.reports.text import cells
from tests.reports.samples import MODE, errored, finished, not_run, report_of

NDCG = "beir_ndcg@10"


def _report(values: Sequence[float | None], **fields: Any) -> EvaluationReport:
    return report_of([finished(str(number), {NDCG: value}) for number, value in enumerate(values)], **fields)


def _against(before: EvaluationReport, after: EvaluationReport, *policies: Policy) -> BaselineComparison:
    return compare_with_baseline(after, baseline_of(before), policies)


def _policy(kind: PolicyKind = "max_drop", amount: float = 0.01, **fields: Any) -> Policy:
    return Policy(kind, "ndcg@10", amount, **fields)


def test_a_drop_is_judged_on_the_cases_that_both_have() -> None:
    """Added and removed cases are listed and move nothing."""
    after = report_of([finished("0", {NDCG: 0.5}), finished("1", {NDCG: 0.5}), finished("new", {NDCG: 0.0})])
    found = _against(_report([0.5, 0.5, 1.0]), after, _policy())
    assert (found.added, found.removed) == ((("corpus", "new"),), (("corpus", "2"),))
    assert found.notes == (
        "1 case not in the baseline, not compared: new",
        "1 case of the baseline not in this run, not compared: 2",
    )
    (gate,) = found.gates
    assert (gate.name, gate.passed, gate.value) == (f"{MODE}.ndcg@10 drop <= 0.01", True, 0.0)
    assert gate.reason == "ndcg@10 went from 0.500 to 0.500: no drop (beir_scifact, vector_search, 2 cases)"
    assert found.worse == ()


def test_a_failed_gate_names_the_cases_that_got_worse_worst_first() -> None:
    """Those that fell in the gated metric; better and equal ones are not among them."""
    found = _against(_report([0.5, 1.0, 0.5, 0.5]), _report([0.25, 0.0, 0.5, 0.75]), _policy(amount=0.2))
    (gate,) = found.gates
    assert not gate.passed
    assert (gate.value, gate.threshold, gate.bound) == (0.25, 0.2, "max")
    assert [(case.case_id, case.mode, case.metric, case.drop) for case in found.worse] == [
        ("1", MODE, NDCG, 1.0),
        ("0", MODE, NDCG, 0.25),
    ]


def test_significance_is_corrected_for_all_significance_gates() -> None:
    """The same drop that is significant alone (7 of 7 worse: p = 2/128) is not as one of four."""
    metrics = ("a", "b", "c", "d")
    before = report_of([finished(str(n), dict.fromkeys(metrics, 1.0)) for n in range(7)], metrics)
    fallen = dict.fromkeys(metrics, 1.0) | {"a": 0.5}
    after = report_of([finished(str(n), fallen) for n in range(7)], metrics)
    alone = _against(before, after, Policy("significant", "a", 0.1))
    among = _against(before, after, *(Policy("significant", metric, 0.1) for metric in metrics))
    assert [gate.passed for gate in alone.gates] == [False]
    assert [gate.passed for gate in among.gates] == [True] * 4
    assert "a drop of 0.500, more than the allowed 0.100, not significant (p = 0.06" in among.gates[0].reason


def test_non_inferiority_must_be_shown() -> None:
    """Few noisy cases show nothing, many equal ones do."""
    noisy = _against(_report([0.0, 1.0] * 5), _report([1.0, 0.0] * 5), _policy("non_inferior", 0.1))
    equal = _against(_report([0.0, 1.0] * 50), _report([0.0, 1.0] * 50), _policy("non_inferior", 0.1))
    assert [gate.passed for gate in (*noisy.gates, *equal.gates)] == [False, True]


def test_a_slice_is_judged_by_itself() -> None:
    """A drop in half of the cases is twice as large there."""
    kinds = [{"kind": "a"}, {"kind": "b"}]
    before = report_of([finished(str(n), {NDCG: 1.0}, labels=kinds[n % 2]) for n in range(10)])
    after = report_of([finished(str(n), {NDCG: n % 2}, labels=kinds[n % 2]) for n in range(10)])
    found = _against(before, after, *(_policy(amount=0.5, where=Slice("kind", kind)) for kind in "ab"))
    assert [(gate.name, gate.value, gate.passed) for gate in found.gates] == [
        (f"{MODE}.ndcg@10 where kind=a drop <= 0.5", 1.0, False),
        (f"{MODE}.ndcg@10 where kind=b drop <= 0.5", 0.0, True),
    ]


def test_an_error_now_is_a_drop_and_an_error_then_is_not_compared() -> None:
    """A failed query is worth 0 against a value; a baseline without a value flatters nobody."""
    before = report_of([finished("0", {NDCG: 1.0}), errored("1")])
    after = report_of([errored("0"), finished("1", {NDCG: 1.0})])
    found = _against(before, after, _policy())
    ((_, _, change),) = found.changes
    assert (change.cases, change.difference) == (1, -1.0)
    assert not found.gates[0].passed
    assert found.notes == ("1 case failed in the baseline and cannot be compared: make it anew",)


def test_a_case_that_lost_its_score_counts_zero() -> None:
    """A response without an answer cannot leave the comparison; the gate says how many did."""
    found = _against(_report([0.5, 0.0]), _report([None, 0.0]), _policy())
    assert (found.gates[0].value, found.gates[0].passed) == (0.25, False)
    assert found.gates[0].reason.endswith("(beir_scifact, vector_search, 2 cases, 1 of them without a value now, as 0)")


def test_a_case_that_was_not_run_closes_the_gates() -> None:
    """Whatever the others are worth."""
    after = report_of([finished("0", {NDCG: 1.0}), not_run("1")])
    (gate,) = _against(_report([0.5, 0.5]), after, _policy()).gates
    assert not gate.passed
    assert gate.reason.endswith("; 1 case not run, so this gate cannot pass")


def test_a_mode_or_metric_without_baseline_fails_its_gate() -> None:
    """There is nothing to compare, and that is no pass; a note says what the baseline lacks."""
    after = report_of(
        [finished("0", {NDCG: 1.0, "f1": 1.0}, mode=mode) for mode in (MODE, "m")], (NDCG, "f1"), (MODE, "m")
    )
    found = _against(_report([0.5]), after, _policy(mode="m"), Policy("max_drop", "f1", 1.0, mode=MODE))
    assert [(gate.passed, gate.value) for gate in found.gates] == [(False, None)] * 2
    assert "the baseline has no value of it for these cases (beir_scifact, m)" in found.gates[0].reason
    assert found.notes == ("the baseline has no mode m", "the baseline has no metric f1")


def _with(report: EvaluationReport, **fields: Any) -> EvaluationReport:
    return report.model_copy(update=fields)


BASE = _report([0.5, 1.0])
DOCUMENTS = tuple(
    (KnowledgeBaseReport(unit_id="corpus", name="kb", manifest={"documents_digest": digest}),) for digest in "ab"
)


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        (
            BASE,
            _with(BASE, benchmark=BASE.benchmark.model_copy(update={"split": "dev"})),
            "its split is 'test', not 'dev'",
        ),
        (
            _with(BASE, knowledge_bases=DOCUMENTS[0]),
            _with(BASE, knowledge_bases=DOCUMENTS[1]),
            "it has other documents in 1 run unit (corpus)",
        ),
        (
            _with(BASE, metadata={"evaluators": {NDCG: "linear"}}),
            _with(BASE, metadata={"evaluators": {NDCG: "exponential"}}),
            "ndcg@10 was defined as 'linear', and is now 'exponential'",
        ),
        (
            BASE,
            report_of([finished("0", {NDCG: 0.5}, query="other"), finished("1", {NDCG: 1.0})]),
            "1 case had another query or other gold labels (0)",
        ),
        (BASE, report_of([finished("x", {NDCG: 1.0})]), "they have no case in common"),
        (BASE, report_of([finished("0", {"uda_em": 1.0})], ("uda_em",)), "they have no metric in common"),
    ],
)
def test_a_baseline_of_another_kind_is_refused(before: EvaluationReport, after: EvaluationReport, words: str) -> None:
    """One failed gate says what differs, and nothing is compared."""
    found = _against(before, after)
    assert [(gate.name, gate.passed, gate.value) for gate in found.gates] == [("baseline fits", False, None)]
    assert found.gates[0].reason == f"the baseline cannot be compared with this run: {words}"
    assert (found.changes, found.notes) == ((), (found.gates[0].reason,))


def test_a_missing_baseline_fails_only_where_it_is_required() -> None:
    """The run says so and passes, or has one failed gate."""
    for required in (False, True):
        found = without_baseline(Path("b.json"), required=required)
        assert [gate.passed for gate in found.gates] == [False] * required
        assert found.notes == (
            "there is no baseline b.json yet, so nothing was compared: write it with --heta-update-baseline",
        )


def test_another_selection_is_said() -> None:
    """The baseline knows which cases it was made of."""
    after = _with(BASE, selection={"sample": 2, "cases": 9})
    assert _against(BASE, after).notes == ("selected for the baseline: all; for this run: sample 2",)


def test_the_lines_of_a_comparison() -> None:
    """A table of the gated metrics, or of all; then the cases behind failed gates; no line too wide."""
    metrics = (NDCG, "beir_map@10")
    before = report_of([finished(str(n), dict.fromkeys(metrics, 1.0)) for n in range(8)], metrics)
    after = report_of([finished(str(n), {NDCG: n % 2, "beir_map@10": 1.0}) for n in range(8)], metrics)
    found = _against(before, after, _policy())
    lines = baseline_lines(found, 80)
    assert [line.text for line in lines[:5]] == [
        "compared with the baseline",
        "vector_search  before     now   change    95 % interval       p   +/=/-",
        "  ndcg@10      1.0000  0.5000  -0.5000  -0.8750 -0.1250  0.1282   0/4/4",
        "  worse where a gate failed: 4 scores",
        "    -1.0000  case 0 (vector_search, beir_ndcg@10)",
    ]
    assert any(line.text.startswith("  map@10") for line in baseline_lines(_against(before, after), 80))
    assert max(cells(line.text) for line in baseline_lines(found, 40)) <= 40


def test_drops_that_cannot_be_found_are_told_before_the_run() -> None:
    """Where the allowed drop is smaller than the smallest detectable one; a max_drop needs no such power."""
    baseline = baseline_of(_report([0.0, 1.0] * 100))
    labels: Mapping[tuple[str, str], Mapping[str, Any]] = {("corpus", str(n)): {"kind": n % 2} for n in range(200)}
    names = [
        Policy("significant", NDCG, 0.01),
        Policy("significant", NDCG, 0.2),
        Policy("max_drop", NDCG, 0.01),
        Policy("non_inferior", NDCG, 0.05),
    ]
    lines = undetectable_drops(baseline, names, (MODE,), labels)
    unsure = "is not sure to be found (power 80 %)"
    assert lines == [
        f"{MODE}.ndcg@10 no significant drop > 0.01: in 200 cases a drop below 0.133 {unsure}",
        f"{MODE}.ndcg@10 drop surely <= 0.05: in 200 cases a drop below 0.119 {unsure}",
    ]
    few = {key: labels[key] for key in list(labels)[:4]}
    (line,) = undetectable_drops(baseline, names[:1], (MODE,), few)
    assert line.endswith("in 4 cases no drop at all is sure to be found (power 80 %)")


outcomes = st.lists(
    st.tuples(st.floats(0, 1), st.sampled_from(["keep", "error", "timeout", "lose", "unscored", "skip"]))
)


@given(outcomes.filter(bool), st.randoms())
def test_no_failure_can_open_a_gate(cases: list[tuple[float, str]], random: Any) -> None:
    """Errors, timeouts, lost scores, skips and another order never make a drop smaller or let a closed gate pass."""
    whole = [finished(str(n), {NDCG: value}) for n, (value, _) in enumerate(cases)]
    damaged = [_damaged(result, damage) for result, (_, damage) in zip(whole, cases, strict=True)]
    random.shuffle(damaged)
    baseline = report_of([finished(str(n), {NDCG: 0.5}) for n in range(len(cases))])
    good, bad = (_against(baseline, report_of(results), _policy(amount=0.1)) for results in (whole, damaged))
    assert good.gates[0].passed or not bad.gates[0].passed
    if not any(damage == "skip" for _, damage in cases):
        assert bad.gates[0].value is not None
        assert good.gates[0].value is not None
        assert bad.gates[0].value >= good.gates[0].value


def _damaged(result: EvaluationCaseResult, damage: str) -> EvaluationCaseResult:
    if damage == "unscored":
        return finished(result.case_id, {NDCG: None})
    if damage == "lose":
        return finished(result.case_id, {})
    if damage == "skip":
        return not_run(result.case_id)
    return result if damage == "keep" else errored(result.case_id, f"{damage} after 3 s")
