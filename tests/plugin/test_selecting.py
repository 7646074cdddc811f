"""Cases are items that are chosen as any other."""

from __future__ import annotations

from tests.plugin.project import BUILT, EVALUATION, NAMES, QUERIES, Project, node, statuses

ALL = [node(case_id) for case_id in QUERIES]


def test_each_case_is_an_item_with_a_readable_id(project: Project) -> None:
    """Ids name the recipe file, benchmark, run unit, case and mode, in the order of the benchmark."""
    assert project.collected(*EVALUATION) == ALL
    assert not (project.path / "out.json").exists()
    assert not (project.path / ".heta").exists()


def test_only_the_benchmark_runs(project: Project) -> None:
    """The user's tests stay out where a benchmark is named and no path."""
    project.write("test_own.py", "def test_own(): assert False")
    assert project.collected(*EVALUATION) == ALL
    assert sorted(project.collected(*EVALUATION, "test_own.py")) == sorted(["test_own.py::test_own", *ALL])
    assert project.collected() == ["test_own.py::test_own"]


def test_node_ids_can_be_pasted(spread: Project) -> None:
    """A node id chooses its case, with the mode or without, and the report counts what was chosen out of how many."""
    result = spread.evaluate(node("GS/2016 x"), node("q1").removesuffix("[search]"))
    result.assert_outcomes(passed=2)
    report = spread.report()
    assert statuses(report) == {"q1": "finished", "GS/2016 x": "finished"}
    assert (report.selection["cases"], report.selection["selected"]) == (4, 2)


def test_the_node_id_of_a_benchmark_or_unit_chooses_all_below(project: Project) -> None:
    """Ids of inner nodes can be pasted too."""
    for prefix in ("r.py", "r.py::beir_data@test", "r.py::beir_data@test::corpus"):
        assert project.collected(*EVALUATION, prefix) == ALL


def test_keywords_match_the_original_id(project: Project) -> None:
    """-k knows an id as the benchmark spells it, where that is no name for a node."""
    assert project.collected(*EVALUATION, "-k", "GS/2016") == [node("GS/2016 x")]
    assert project.collected(*EVALUATION, "-k", "not q1 and not GS/2016") == [node("q2"), node("q4")]


def test_deselect_takes_a_node_id(project: Project) -> None:
    """--deselect leaves a case out."""
    assert project.collected(*EVALUATION, "--deselect", node("q2")) == [ALL[0], *ALL[2:]]


def test_last_failed_runs_what_failed(spread: Project) -> None:
    """--lf runs the cases again that missed a threshold, and only these."""
    args = ("--heta-case-min=ndcg@1=0.5", "-v")
    spread.evaluate(*args).assert_outcomes(passed=2, failed=2)
    assert list(statuses(spread.report())) == list(QUERIES)
    spread.evaluate(*args, "--lf").assert_outcomes(failed=2)
    assert list(statuses(spread.report())) == ["q2", "q4"]


def test_stepwise_goes_on_from_what_failed(project: Project) -> None:
    """--stepwise stops at the first failure, and starts with that case the next time."""
    project.evaluate("--heta-case-min=ndcg@1=0.5", "--stepwise").assert_outcomes(passed=1, failed=1)
    project.evaluate("--stepwise").assert_outcomes(passed=3, deselected=1)
    assert list(statuses(project.report())) == ["q2", "GS/2016 x", "q4"]


def test_stopping_early_leaves_cases_not_run(project: Project) -> None:
    """-x and --maxfail stop; what they leave out is counted as not run, and no gate passes over it."""
    result = project.evaluate("--heta-case-min=ndcg@1=0.5", "-x", "--heta-min=ndcg@1=0")
    assert result.ret == 1
    assert statuses(project.report()) == {"q1": "finished", "q2": "finished", "GS/2016 x": "not_run", "q4": "not_run"}
    assert [gate.passed for gate in project.report().gates] == [False]
    result.stdout.fnmatch_lines(["*4 planned: 2 scored, 0 unscored, 0 errored, 2 not run*"])
    project.evaluate("--heta-case-min=ndcg@1=0.5", "--maxfail=2").assert_outcomes(passed=2, failed=2)
    assert set(statuses(project.report()).values()) == {"finished"}


def test_durations_name_the_cases(project: Project) -> None:
    """--durations lists cases like tests."""
    result = project.evaluate("--durations=0", "-vv")
    result.stdout.fnmatch_lines([f"*s call*{node('q1').split('[')[0]}*"])


def test_limit_takes_the_first_cases(spread: Project) -> None:
    """--heta-limit cuts the benchmark, and the report says so."""
    spread.evaluate("--heta-limit=2").assert_outcomes(passed=2)
    report = spread.report()
    assert list(statuses(report)) == ["q1", "q2"]
    assert [report.selection[key] for key in ("cases", "selected", "limit")] == [4, 2, 2]


UNITS = """
from pytest_heta import BeirBenchmark, BenchmarkRunUnit

class Own(BeirBenchmark):
    async def run_units(self, prepared):
        yield BenchmarkRunUnit(unit_id="first half", document_ids=("d1", "d2"), case_ids=("q1", "q2"))
        yield BenchmarkRunUnit(unit_id="rest", document_ids=("d3", "d4"), case_ids=("GS/2016 x", "q4"))

benchmark = Own("data", data_root="data")
"""


def test_each_run_unit_has_a_node_and_a_knowledge_base(spread: Project) -> None:
    """Units are built one by one of their own documents; -k knows their ids, and what is not asked is not built."""
    spread.write("own.py", UNITS)
    spread.write("r.py", BUILT.replace("if text in name", ""))
    args = ("--heta-benchmark=own.py", "--heta-recipe=r.py", "--heta-report=out.json")
    spread.run(*args).assert_outcomes(passed=4)
    found = {result.case_id: [hit.document_id for hit in result.hits] for result in spread.report().cases}
    assert found == {"q1": ["d1", "d2"], "q2": ["d1", "d2"], "GS/2016 x": ["d3", "d4"], "q4": ["d3", "d4"]}
    assert [kb.name for kb in spread.report().knowledge_bases] == ["beir_data-r-first half", "beir_data-r-rest"]
    assert (spread.path / "builds.txt").read_text() == "built\n" * 2
    spread.run(*args, "-k", "first", "--heta-rebuild").assert_outcomes(passed=2)
    assert [kb.unit_id for kb in spread.report().knowledge_bases] == ["first half"]
    assert (spread.path / "builds.txt").read_text() == "built\n" * 3


def test_names_stay_in_step() -> None:
    """The expected names of this file's cases are right: the digest is that of the original id."""
    from hashlib import sha256

    assert NAMES["GS/2016 x"] == "GS-2016-x-" + sha256(b"GS/2016 x").hexdigest()[:8]
