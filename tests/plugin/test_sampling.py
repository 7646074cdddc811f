"""Which cases run, and the parts by which they are reported and judged."""

from __future__ import annotations

import pytest

from tests.plugin.project import LABELLED, Project, clean, statuses

QUERIES = {f"q{n}": f"text {n}" for n in range(30)}
EVERYTHING = "def search(query, top_k): return ['d1', 'd2']\n"


def _sampled(project: Project, *args: str) -> list[str]:
    project.evaluate(*args)
    return [case.case_id for case in project.report().cases]


def test_a_sample_is_the_same_whatever_the_order(spread: Project) -> None:
    """--heta-sample takes the same cases from a shuffled benchmark, and a larger sample holds a smaller one."""
    spread.write("r.py", EVERYTHING)
    spread.benchmark(queries=QUERIES, gold=dict.fromkeys(QUERIES, "d1"))
    five, ten = _sampled(spread, "--heta-sample=5"), _sampled(spread, "--heta-sample=10")
    assert (len(five), len(ten)) == (5, 10)
    assert set(five) < set(ten)
    assert spread.report().selection["sample"] == 10
    spread.benchmark(queries=dict(reversed(QUERIES.items())), gold=dict.fromkeys(reversed(QUERIES), "d1"))
    assert set(_sampled(spread, "--heta-sample=5")) == set(five)


def test_a_sample_can_be_stratified(spread: Project) -> None:
    """--heta-stratify takes the same share of each label."""
    spread.labelled()
    spread.run(*LABELLED, "--heta-sample=2", "--heta-stratify=kind").assert_outcomes(passed=2)
    assert sorted(case.labels["kind"] for case in spread.report().cases) == ["fruit", "other"]
    assert spread.report().selection["stratify"] == "kind"


def test_cases_can_be_named(spread: Project) -> None:
    """--heta-case takes the benchmark's own ids, and the report records them."""
    spread.evaluate("--heta-case=GS/2016 x", "--heta-case=q2").assert_outcomes(passed=2)
    assert statuses(spread.report()) == {"q2": "finished", "GS/2016 x": "finished"}
    assert spread.report().selection["case_ids"] == ["GS/2016 x", "q2"]


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("--heta-case=q9",), "none of the 4 cases has the id 'q9'"),
        (("--heta-stratify=kind",), "stratifying by 'kind' needs a number of cases to sample"),
        (("--heta-sample=2", "--heta-stratify=color"), "unknown label to stratify by 'color'"),
        (("--heta-slice=color",), "unknown label"),
        (("--heta-min=evidence_recall@10 where color=red = 0.1",), "unknown label"),
        (("--heta-sample=0",), "invalid positive value: '0'"),
    ],
)
def test_what_cannot_be_selected_is_an_error_before_the_run(
    project: Project, args: tuple[str, ...], words: str
) -> None:
    """Exit code 4 and one line that says what is wrong."""
    project.labelled()
    result = project.run(*LABELLED, *args)
    assert result.ret == 4
    assert words in clean(result)


def test_slices_are_reported(spread: Project) -> None:
    """--heta-slice shows means and counts by label, in the summary and in the report."""
    spread.labelled()
    result = spread.run(*LABELLED, "--heta-slice=kind")
    result.stdout.fnmatch_lines(["*kind*", "*fruit*1.0000*", "*other*0.5000*"])
    assert "kind" in str(spread.report().metadata)


def test_thresholds_may_be_about_a_slice(spread: Project) -> None:
    """A bound with where judges the mean of the slice; one of cases fails the cases of the slice alone."""
    spread.labelled()
    gates = [f"--heta-min=evidence_recall@10 where kind={kind} = 0.9" for kind in ("fruit", "other")]
    result = spread.run(*LABELLED, *gates)
    result.assert_outcomes(passed=4 + 1, failed=1)
    assert [(gate.value, gate.passed) for gate in spread.report().gates] == [(1.0, True), (0.5, False)]
    result = spread.run(*LABELLED, "--heta-case-min=evidence_recall@1 where kind=fruit = 0.9")
    result.assert_outcomes(passed=3, failed=1)
    assert "evidence_recall@1 where kind=fruit = 0.000, below the minimum 0.900" in clean(result)


def test_a_suite_selects_and_slices(project: Project) -> None:
    """A suite file has keys for all of it."""
    project.labelled()
    project.write(
        "part.heta.toml",
        'benchmark = "jsonl:labelled"\nrecipe = "r.py"\nsample = 2\nstratify = "kind"\nslices = ["kind"]\n'
        '[min]\n"evidence_recall@10 where kind=fruit" = 0.9\n',
    )
    result = project.run("--heta-report=out.json")
    result.assert_outcomes(passed=3)
    assert project.report().selection["sample"] == 2
    assert "fruit" in clean(result)
