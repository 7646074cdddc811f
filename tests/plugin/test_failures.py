"""What is shown of cases: of those that fail, of the best and worst, and of those that were asked for."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

from pytest_heta.reports.text import cells
from tests.plugin.project import Project, clean

TELLING = """
from pytest_heta import QueryResult

def search(query, top_k):
    names = ["d1", "d2"] if query == "pears" else []
    return [QueryResult(id=name, kind="document", score=1.0, text=f"all about {name} " * 9) for name in names]
"""


def test_a_failing_case_shows_itself(spread: Project) -> None:
    """Below its misses stand query, gold with ranks, scores with bounds, and the top hits with stars and cut texts."""
    spread.write("r.py", TELLING)
    result = spread.evaluate("--heta-case-min=ndcg@1=0.5", "--heta-case=q2")
    result.assert_outcomes(failed=1)
    clean(result)
    start = result.outlines.index("ndcg@1 = 0.000, below the minimum 0.500 (beir_data, case q2, search)")
    shown = result.outlines[start : start + 9]
    assert shown[1].strip("- ") == "case q2 (search)"
    assert shown[2:4] == ["query: pears", "gold: d2 (grade 1, rank 2)"]
    assert shown[4].startswith("scores: ndcg@1 0.000 (min 0.5), ")
    assert "mrr@10 0.500" in " ".join(shown[4:6])
    assert shown[-3].split() == ["rank", "score", "document", "text", "(*", "gold)"]
    assert shown[-2].startswith("   1     1.0000   d1        all about d1 all about d1")
    assert shown[-1].startswith("   2     1.0000 * d2        all about d2 all about d2")
    assert shown[-1].endswith("...")
    assert max(map(cells, shown)) <= 80
    assert "all about" not in (spread.path / "out.json").read_text()


def test_the_reason_in_junit_stays_short(project: Project) -> None:
    """JUnit has the misses as the message of the failure, without the hits."""
    project.evaluate("--heta-case-min=ndcg@1=0.5", "--heta-case=q2", "--junitxml=junit.xml")
    failures = list(ElementTree.parse(project.path / "junit.xml").getroot().iter("failure"))
    assert [failure.get("message") for failure in failures] == [
        "ndcg@1 = 0.000, below the minimum 0.500 (beir_data, case q2, search)"
    ]


def test_a_case_whose_evaluator_failed_shows_itself(project: Project) -> None:
    """The evaluator's error stands first, then the case as it is; no frame of the plugin."""
    project.write(
        "conftest.py",
        "class Broken:\n"
        "    name = 'broken'\n"
        "    async def evaluate(self, *, case, response): raise RuntimeError('no score today')\n"
        "def pytest_heta_evaluators(config, benchmark): return [*benchmark.evaluators(), Broken()]\n",
    )
    result = project.evaluate("--heta-case=q1")
    result.assert_outcomes(failed=1)
    assert "RuntimeError: evaluator broken: no score today (conftest.py:3)" in result.outlines
    assert "gold: d1 (grade 1, rank 1)" in result.outlines
    assert ".py:" not in clean(result).replace("r.py::", "").replace("(conftest.py:3)", "")


def test_verbose_summaries_show_the_best_and_worst(project: Project) -> None:
    """With -v both ends are listed by the headline metric with what was expected and found; without, the worst."""
    lines = project.evaluate("-v").outlines
    worst, best = lines.index("  lowest ndcg@10"), lines.index("  highest ndcg@10")
    assert lines[worst + 1 : worst + 7] == [
        "    0.0000  case q4: stones",
        "            expected d4",
        "            found nothing",
        "    0.6309  case q2: pears",
        "            expected d2",
        "            found d1, d2*",
    ]
    assert lines[best + 1 : best + 4] == [
        "    1.0000  case q1: apples",
        "            expected d1",
        "            found d1*, d2",
    ]
    text = clean(project.evaluate())
    assert "lowest ndcg@10" in text
    assert "highest" not in text
    assert "expected" not in text


def test_a_case_can_be_shown_in_full(spread: Project) -> None:
    """--heta-show prints all hits with their texts after the summary, and the report keeps those of this case only."""
    spread.write("r.py", TELLING.replace(' if query == "pears" else []', ""))
    result = spread.evaluate("--heta-show=q2", "--heta-show=GS/2016 x")
    assert result.ret == 0
    clean(result)
    result.stdout.fnmatch_lines(
        [
            "*heta: case q2 of beir_data with *",
            "case q2 (search, unit corpus)",
            "  query: pears",
            "  gold: d2 (grade 1, rank 2)",
            "     1     1.0000   d1",
            "         all about d1 all about d1*",
            "     2     1.0000 * d2",
            "         all about d2 all about d2*",
            "*heta: case GS/2016 x of beir_data with *",
        ]
    )
    texts = {case.case_id: {hit.text is not None for hit in case.hits} for case in spread.report().cases}
    assert texts == {"q1": {False}, "q2": {True}, "GS/2016 x": {True}, "q4": {False}}


def test_a_case_that_is_not_there_is_said(project: Project) -> None:
    """An id that no case has, or that was not selected, leaves one line, and the run as it is."""
    result = project.evaluate("--heta-show=q9", "--heta-show=q2", "--heta-limit=1")
    assert result.ret == 0
    assert [line for line in result.outlines if "--heta-show" in line] == [
        f"heta: --heta-show: no case of this run has the id '{case_id}'" for case_id in ("q9", "q2")
    ]
