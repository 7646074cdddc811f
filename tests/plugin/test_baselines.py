"""Gates that hold a run against an earlier one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.plugin.project import LABELLED, SEARCH, Project, clean, node, statuses

BASE = "--heta-baseline=base.json"
UPDATE = "--heta-update-baseline"
ALL_RIGHT = SEARCH.replace('"pears": ["d1", "d2"]', '"pears": ["d2"]').replace('"stones": []', '"stones": ["d4"]')
"""As ``SEARCH``, with every case right: ndcg@1 and mrr@3 are 1."""

MANY = 40
MANY_SEARCH = """
WRONG = {wrong}

def search(query, top_k):
    return ["d2", "d1"] if int(query.split()[1]) in WRONG else ["d1", "d2"]
"""


def _many(project: Project, wrong: range) -> None:
    project.benchmark(queries={f"q{n}": f"text {n}" for n in range(MANY)}, gold={f"q{n}": "d1" for n in range(MANY)})
    project.write("r.py", MANY_SEARCH.format(wrong=list(wrong)))


def _baseline(project: Project) -> None:
    """Write a baseline in which every case is right, and go back to the search that has two wrong."""
    project.write("r.py", ALL_RIGHT)
    project.evaluate(BASE, UPDATE).assert_outcomes(passed=4)
    project.write("r.py", SEARCH)


def test_a_baseline_is_written_and_compared_with(spread: Project) -> None:
    """The first run passes and says that there is none; updating writes one; a run that equals it passes."""
    result = spread.evaluate(BASE, "--heta-max-drop=ndcg@10=0")
    result.assert_outcomes(passed=4)
    assert result.ret == 0
    assert "no baseline" in clean(result)
    assert not (spread.path / "base.json").exists()
    assert spread.evaluate(BASE, UPDATE).ret == 0
    first = (spread.path / "base.json").read_bytes()
    spread.evaluate(BASE, UPDATE)
    assert (spread.path / "base.json").read_bytes() == first
    result = spread.evaluate(BASE, "--heta-max-drop=ndcg@10=0")
    result.assert_outcomes(passed=5)
    result.stdout.fnmatch_lines(["compared with the baseline", "*0.6577*0.6577*+0.0000*"])


def test_a_baseline_can_be_required(spread: Project) -> None:
    """With --heta-require-baseline a run without one fails, and says so."""
    result = spread.evaluate(BASE, "--heta-require-baseline")
    assert result.ret == 1
    assert str(spread.path / "base.json") in clean(result)


@pytest.mark.parametrize(
    ("policy", "passed"),
    [
        ("--heta-max-drop=ndcg@1=0.5", True),
        ("--heta-max-drop=ndcg@1=0.49", False),
        ("--heta-max-drop=ndcg@1=50%", True),
        ("--heta-max-drop=ndcg@1=49%", False),
        ("--heta-significant=ndcg@1=0", True),
        ("--heta-non-inferior=ndcg@1=0.4", False),
        ("--heta-max-drop=recall@10=0.25", True),
    ],
)
def test_policies_judge_the_drop(project: Project, policy: str, passed: bool) -> None:
    """ndcg@1 falls from 1 to 0.5 in four cases: beyond some bounds, and not significant with so few."""
    _baseline(project)
    result = project.evaluate(BASE, policy)
    assert result.ret == (0 if passed else 1)
    assert [gate.passed for gate in project.report().gates] == [passed]
    result.assert_outcomes(passed=4 + passed, failed=1 - passed)


def test_significance_takes_cases(spread: Project) -> None:
    """With 15 of 40 cases worse the drop is significant; the gate says how likely it is by chance."""
    _many(spread, range(0))
    spread.evaluate(BASE, UPDATE).assert_outcomes(passed=MANY)
    _many(spread, range(15))
    result = spread.evaluate(BASE, "--heta-significant=ndcg@1=1%", "--heta-non-inferior=ndcg@1=0.9")
    result.assert_outcomes(passed=MANY + 1, failed=1)
    gates = {gate.name: gate for gate in spread.report().gates}
    assert [gate.passed for gate in gates.values()] == [False, True]
    assert gates["search.ndcg@1 no significant drop > 1%"].value == pytest.approx(15 / MANY)
    assert "significant (p = 0.0" in clean(result)


def test_what_cannot_be_found_is_said_before(project: Project) -> None:
    """The header of a run names the smallest drop that its cases can show, where that is more than is allowed."""
    _many(project, range(20))
    project.evaluate(BASE, UPDATE)
    text = clean(project.evaluate(BASE, "--heta-significant=ndcg@1=0.001"))
    assert "heta: search.ndcg@1 no significant drop > 0.001: in 40 cases a drop below" in text.split("collected")[0]


def test_last_failed_runs_the_worse_cases_worst_first(spread: Project) -> None:
    """After a failed gate --lf selects the cases that got worse, by how much, and no other."""
    spread.write("r.py", ALL_RIGHT)
    spread.evaluate(BASE, UPDATE).assert_outcomes(passed=4)
    spread.write("r.py", SEARCH)
    args = (BASE, "--heta-max-drop=mrr@3=0.1")
    spread.evaluate(*args).assert_outcomes(passed=4, failed=1)
    assert [case.case_id for case in spread.report().cases] == ["q1", "q2", "GS/2016 x", "q4"]
    again = ("--heta-benchmark=data", "--heta-recipe=r.py", *args, "--lf")
    assert spread.collected(*again) == [node("q4"), node("q2")]
    spread.evaluate(*args, "--lf")
    assert set(statuses(spread.report())) == {"q2", "q4"}


def test_a_suite_holds_baseline_and_policies(spread: Project) -> None:
    """In a suite file the baseline's path starts there, and each policy is a table."""
    suite = spread.write(
        "suites/gates.heta.toml",
        'benchmark = "../data"\nrecipe = "../r.py"\nbaseline = "base.json"\n[max-drop]\n"ndcg@1" = 0.1\n'
        '"mrr@3" = "90%"\n[significant]\n"ndcg@1" = 0\n[non-inferior]\n"ndcg@1" = 1\n',
    )
    spread.write("r.py", ALL_RIGHT)
    assert spread.run("suites", UPDATE).ret == 0
    assert (suite.parent / "base.json").exists()
    spread.write("r.py", SEARCH)
    result = spread.run("suites", "--heta-report=out.json")
    assert {gate.name: gate.passed for gate in spread.report().gates} == {
        "search.ndcg@1 drop <= 0.1": False,
        "search.mrr@3 drop <= 90%": True,
        "search.ndcg@1 no significant drop > 0": True,
        "search.ndcg@1 drop surely <= 1": True,
    }
    result.assert_outcomes(passed=4 + 3, failed=1)


def test_a_policy_may_be_about_a_slice(project: Project) -> None:
    """A policy with where compares the cases of the slice alone; an unknown label is an error before the run."""
    project.labelled()
    project.run(*LABELLED, BASE, UPDATE)
    project.write("r.py", SEARCH.replace('"fish": ["d3"]', '"fish": []'))
    ok = project.run(*LABELLED, BASE, "--heta-max-drop=evidence_recall@10 where kind=fruit = 0")
    bad = project.run(*LABELLED, BASE, "--heta-max-drop=evidence_recall@10 where kind=other = 0")
    assert (ok.ret, bad.ret) == (0, 1)
    unknown = project.run(*LABELLED, BASE, "--heta-max-drop=evidence_recall@10 where colour=red = 0")
    assert unknown.ret == 4
    assert "colour" in clean(unknown)


def test_another_benchmark_is_refused(project: Project) -> None:
    """A baseline of other cases or another corpus is no baseline: the run fails and says what differs."""
    _baseline(project)
    project.benchmark("more", {"x1": "apples"}, {"x1": "d1"})
    result = project.run("--heta-benchmark=more", "--heta-recipe=r.py", BASE, "--heta-max-drop=ndcg@1=0")
    assert result.ret == 1
    assert "beir_more" in clean(result)


def test_added_and_removed_cases_are_listed(project: Project) -> None:
    """The comparison is on the cases that both have, and the others are named."""
    _baseline(project)
    result = project.evaluate(BASE, "--heta-max-drop=ndcg@1=0", "--heta-case=q1", "--heta-case=GS/2016 x")
    assert result.ret == 0
    assert "2 cases of the baseline not in this run, not compared: q2, q4" in clean(result)


def test_a_broken_baseline_fails_the_run(project: Project) -> None:
    """A file that is no baseline is named; the cases run, the report is written, the exit code is 1."""
    project.write("base.json", "{")
    result = project.evaluate(BASE, "--heta-max-drop=ndcg@1=0")
    assert result.ret == 1
    assert str(Path(project.path, "base.json")) in clean(result)
    assert len(project.report().cases) == 4


def test_each_evaluation_has_a_baseline_of_its_own(spread: Project) -> None:
    """Two recipes in one run are written to, and compared with, two files."""
    spread.write("s.py", ALL_RIGHT)
    assert spread.evaluate("--heta-recipe=s.py", BASE, UPDATE).ret == 0
    assert sorted(path.name for path in spread.path.glob("base*.json")) == [
        "base-beir_data-r.json",
        "base-beir_data-s.json",
    ]
    spread.write("s.py", SEARCH)
    spread.evaluate("--heta-recipe=s.py", BASE, "--heta-max-drop=ndcg@1=0.1").assert_outcomes(passed=8 + 1, failed=1)
