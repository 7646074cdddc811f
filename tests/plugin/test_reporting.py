"""What a run leaves behind: the report, JUnit, the last line and the exit code."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree

from tests.plugin.project import BUILT, EVALUATION, QUERIES, Project, clean, node, statuses


def test_a_run_ends_with_summary_and_report(spread: Project) -> None:
    """Scores are those of the rankings; gates count as items, are in JUnit, and turn the run red."""
    result = spread.evaluate("--heta-min=ndcg@1=0.6", "--heta-min=search.mrr@3=0.6", "--junitxml=junit.xml", "-q")
    assert result.ret == 1
    result.assert_outcomes(passed=5, failed=1)
    assert result.outlines[-1].startswith("1 failed, 5 passed")
    assert "FAIL  " in clean(result)
    report = spread.report()
    assert report.score_summary["search.beir_ndcg@1"] == 0.5
    assert report.score_summary["search.beir_mrr@3"] == 0.625
    assert [(gate.metric, gate.value, gate.passed) for gate in report.gates] == [
        ("beir_ndcg@1", 0.5, False),
        ("beir_mrr@3", 0.625, True),
    ]
    assert [result.node_id for result in report.cases] == [node(case_id) for case_id in QUERIES]
    assert [[hit.document_id for hit in result.hits] for result in report.cases] == [
        ["d1", "d2"],
        ["d1", "d2"],
        ["d3"],
        [],
    ]
    assert report.counts["search.beir_ndcg@1"].model_dump() == {
        "planned": 4,
        "scored": 4,
        "unscored": 0,
        "errored": 0,
        "not_run": 0,
    }
    suite = ElementTree.parse(spread.path / "junit.xml").getroot()[0]
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("6", "1", "0")
    scores = {
        case.get("name"): {each.get("name"): each.get("value") for each in case.iter("property")}
        for case in suite.iter("testcase")
    }
    assert scores["q1[search]"]["beir_ndcg@1"] == "1.0"
    assert scores["q2[search]"]["beir_mrr@3"] == "0.5"
    failed = [case for case in suite.iter("testcase") if case.find("failure") is not None]
    assert len(failed) == 1
    assert "ndcg@1 = 0.500, below the minimum 0.600" in "".join(failed[0].itertext())


def test_passing_gates_keep_the_run_green(project: Project) -> None:
    """A bound that is met exactly is met; a gate given twice is one; maxima are judged too."""
    args = ("--heta-min=ndcg@1=0.5", "--heta-min=beir_ndcg@1=0.5", "--heta-max=mrr@3=0.625")
    result = project.evaluate(*args, "-v")
    assert result.ret == 0
    result.assert_outcomes(passed=6)
    result.stdout.fnmatch_lines(["r.py::beir_data@test::gates::*ndcg@1* PASSED*", "*gates: 2 of 2 passed*"])
    result = project.evaluate("--heta-max=ndcg@1=0.49")
    assert result.ret == 1
    result.assert_outcomes(passed=4, failed=1)


def test_case_thresholds_fail_cases_with_one_line_each(spread: Project) -> None:
    """A case lists all that it missed: metric, value, bound, benchmark, case and mode, and nothing else."""
    result = spread.evaluate("--heta-case-min=ndcg@1=0.5", "--heta-case-max=recall@3=0.9", "-q")
    assert result.ret == 1
    result.assert_outcomes(failed=4)
    place = "(beir_data, case GS/2016 x, search)"
    text = clean(result)
    assert f"recall@3 = 1.000, above the maximum 0.900 {place}" in result.outlines
    assert "ndcg@1 = 0.000, below the minimum 0.500 (beir_data, case q2, search)" in result.outlines
    assert "recall@3 = 1.000, above the maximum 0.900 (beir_data, case q2, search)" in result.outlines
    assert ".py:" not in text.replace("r.py::", "")
    assert set(statuses(spread.report()).values()) == {"finished"}


def test_the_report_needs_no_terminal(spread: Project) -> None:
    """With -p no:terminal the report is written and the exit code is right."""
    result = spread.evaluate("-p", "no:terminal", "--heta-min=ndcg@1=0.6")
    assert result.ret == 1
    assert len(spread.report().cases) == 4
    assert not spread.report().gates[0].passed


def test_the_report_may_go_to_several_places(project: Project) -> None:
    """Each --heta-report is written, in folders that are made, and beside it one in the folder of the run."""
    project.evaluate("--heta-report=new/folder/second.json").assert_outcomes(passed=4)
    runs = list(project.path.glob(".heta/runs/*/*/report.json"))
    assert len(runs) == 1
    first, second, third = (
        path.read_bytes() for path in (project.path / "out.json", project.path / "new/folder/second.json", runs[0])
    )
    assert first == second == third


def test_a_report_that_cannot_be_written_fails_the_run(project: Project) -> None:
    """One line says why, the exit code is not 0, and the report of the run folder is there all the same."""
    project.write("file", "")
    result = project.evaluate("--heta-report=file/out.json")
    assert result.ret == 1
    text = clean(result)
    assert text.count(str(project.path / "file/out.json")) == 1
    assert len(list(project.path.glob(".heta/runs/*/*/report.json"))) == 1
    assert len(project.report().cases) == 4


def test_texts_are_kept_when_asked_for(project: Project) -> None:
    """The report holds the texts of the hits with --heta-texts only."""
    project.write(
        "r.py",
        "from pytest_heta import QueryResult\n"
        "def search(query, top_k): return [QueryResult(id='d1', text='all about apples', kind='document')]\n",
    )
    project.evaluate("--heta-limit=1")
    assert "all about apples" not in (project.path / "out.json").read_text()
    project.evaluate("--heta-limit=1", "--heta-texts")
    assert project.report().cases[0].hits[0].text == "all about apples"


def test_every_benchmark_meets_every_recipe(spread: Project) -> None:
    """Two benchmarks and two recipes are four evaluations with a report each, and a comparison a benchmark."""
    spread.benchmark("more", {"x1": "apples"}, {"x1": "d1"})
    spread.write("s.py", "def search(query, top_k): return ['d2']\n")
    result = spread.evaluate("--heta-benchmark=more", "--heta-recipe=s.py", "--heta-min=ndcg@1=0.1")
    result.assert_outcomes(passed=2 * (4 + 1) + 3, failed=1)
    found = {path.name: json.loads(path.read_text())["score_summary"] for path in spread.path.glob("out-*.json")}
    means = {name: summary["search.beir_ndcg@1"] for name, summary in found.items()}
    assert means == {
        "out-beir_data-r.json": 0.5,
        "out-beir_more-r.json": 1.0,
        "out-beir_data-s.json": 0.25,
        "out-beir_more-s.json": 0.0,
    }
    assert not (spread.path / "out.json").exists()
    result.stdout.fnmatch_lines(["*heta: beir_data@test compared*", "*heta: beir_more@test compared*"])


def test_two_recipes_of_one_file_are_told_apart(project: Project) -> None:
    """Recipes of the same file have their attribute in their node ids and reports."""
    project.write("r.py", "def one(query, top_k): return ['d1']\ndef two(query, top_k): return ['d2']\n")
    args = ("--heta-benchmark=data", "--heta-recipe=r.py:one", "--heta-recipe=r.py:two", "--heta-report=out.json")
    ids = project.collected(*args)
    assert len(ids) == len(set(ids)) == 8
    assert ids[0].startswith("r.py::beir_data@test+r.one::")
    project.run(*args).assert_outcomes(passed=8)
    assert [hit.document_id for hit in project.report("out-beir_data-r.two.json").cases[0].hits] == ["d2"]


def test_modes_are_asked_one_after_the_other(project: Project) -> None:
    """A recipe with several modes has an item for each, and --heta-mode and --heta-top-k choose."""
    project.write(
        "r.py",
        BUILT.replace('("words",)', '("words", "more")').replace(
            "hits = [name for name in self.names if text in name]", "hits = self.names"
        ),
    )
    assert len(project.collected(*EVALUATION)) == 8
    project.evaluate().assert_outcomes(passed=8)
    assert project.report().query_modes == ("words", "more")
    assert {len(result.hits) for result in project.report().cases} == {4}
    project.evaluate("--heta-mode=more", "--heta-top-k=3").assert_outcomes(passed=4)
    assert project.report().query_modes == ("more",)
    assert {len(result.hits) for result in project.report().cases} == {3}


def test_a_benchmark_list_can_be_asked_for(project: Project) -> None:
    """--heta-benchmark=list prints the known benchmarks, collects nothing, and ends well."""
    result = project.run("--heta-benchmark=list")
    assert result.ret == 0
    assert {"beir:scifact", "uda:fin", "multihop-rag"} <= set(result.outlines)


def test_ini_options_stand_in_for_the_command_line(project: Project) -> None:
    """What the ini file says holds unless the command line says otherwise."""
    project.write(
        "pytest.ini",
        "[pytest]\nheta_min =\n  ndcg@1=0.9\nheta_report = ini.json\nheta_texts = true\nheta_top_k = 1\n"
        "heta_mode = search\nheta_offline = true\nheta_cache_dir = ini-cache\nheta_timeout = 30\n",
    )
    args = EVALUATION[:2]
    project.run(*args).assert_outcomes(passed=4, failed=1)
    assert {len(result.hits) for result in project.report("ini.json").cases} == {1, 0}
    result = project.run(*args, "--heta-min=ndcg@1=0.1", "--heta-top-k=2", "--heta-report=cli.json")
    result.assert_outcomes(passed=5)
    assert max(len(result.hits) for result in project.report("cli.json").cases) == 2


def test_the_cache_folder_can_be_chosen(project: Project) -> None:
    """Knowledge bases are kept below --heta-cache-dir, are taken from there, and are built anew when asked."""
    project.write("r.py", BUILT)
    builds = project.path / "builds.txt"
    for args, built, cached in (
        ((), 1, False),
        ((), 1, True),
        (("--heta-rebuild",), 2, False),
        (("--heta-kb-cache=off",), 3, False),
    ):
        project.evaluate("--heta-cache-dir=kept", *args).assert_outcomes(passed=4)
        assert len(builds.read_text().splitlines()) == built
        assert [kb.cached for kb in project.report().knowledge_bases] == [cached]
    assert (project.path / "kept").is_dir()
    assert not (project.path / "cache").exists()
