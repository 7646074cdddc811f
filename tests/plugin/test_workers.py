"""Under xdist a run gives the same report, and builds a knowledge base once."""

from __future__ import annotations

from typing import Any

import pytest

from tests.plugin.project import ALONE, BUILT, N0, N2, Project

VOLATILE = {
    "report_id",
    "created_at",
    "durations",
    "latency",
    "asked_at",
    "latency_ms",
    "build_seconds",
    "cached",
    "command",
}
"""What differs between two runs: the command, names and times of the run, and who had to build."""


def lasting(value: Any) -> Any:
    """Return a part of a report without what differs between runs."""
    if isinstance(value, dict):
        return {key: lasting(part) for key, part in value.items() if key not in VOLATILE}
    return [lasting(part) for part in value] if isinstance(value, list | tuple) else value


def test_the_report_is_the_same_however_it_is_run(project: Project) -> None:
    """Without xdist, with -n0, with -n2 and with another hash seed the reports differ in times only."""
    project.write("r.py", BUILT.replace("text in name", "name in ('d1', 'd2')"))
    project.benchmark(queries={f"q{n}": f"text {n}" for n in range(40)}, gold={f"q{n}": "d2" for n in range(40)})
    found = []
    for spread, seed in ((ALONE, "0"), (ALONE, "1"), (N0, "2"), (N2, "3")):
        project.spread = spread
        project.pytester.syspathinsert()
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("PYTHONHASHSEED", seed)
            project.subprocess(
                "--heta-benchmark=data", "--heta-recipe=r.py", "--heta-report=out.json", "--heta-min=mrr@3=0.5"
            ).assert_outcomes(passed=41)
        found.append(lasting(project.report().model_dump()))
    assert found[1:] == found[:1] * 3
    assert found[0]["score_summary"]["words.beir_mrr@3"] == 0.5


def test_a_knowledge_base_is_built_once_over_all_workers(project: Project) -> None:
    """Two workers that need the same knowledge base share one build, and the next run none."""
    project.spread = N2
    project.write("r.py", BUILT)
    project.benchmark(queries={f"q{n}": "d1" for n in range(40)}, gold={f"q{n}": "d1" for n in range(40)})
    for cached in (False, True):
        project.evaluate("--dist=load").assert_outcomes(passed=40)
        assert (project.path / "builds.txt").read_text() == "built\n"
        assert [kb.cached for kb in project.report().knowledge_bases] == [cached]
