"""With any number of workers and any distribution: each knowledge base is built once, and the report is the same."""

from __future__ import annotations

from typing import Any

import pytest

from tests.plugin.noting import EVALUATION, UNSAVEABLE, forget_notes, noted, notes, ran, write_noting
from tests.plugin.project import ALONE, Project
from tests.plugin.test_workers import lasting


def workers(count: int) -> tuple[str, ...]:
    """Return the arguments for so many workers."""
    return ("-p", "xdist", f"-n{count}")


def run(project: Project, *args: str) -> pytest.RunResult:
    """Run the evaluation."""
    result = project.run(*EVALUATION, *args)
    ran(result)
    return result


@pytest.mark.parametrize(("count", "dist"), [(8, ""), (8, "load"), (4, "worksteal"), (4, "loadscope"), (4, "loadfile")])
def test_workers_build_each_of_six_knowledge_bases_once(project: Project, count: int, dist: str) -> None:
    """However the items are distributed, and whoever needs one while another builds it; none asks another's cases."""
    ids = write_noting(project, units=6, cases=20)
    project.spread = workers(count)
    run(project, *([f"--dist={dist}"] if dist else [])).assert_outcomes(passed=120)
    assert sorted(noted(project, "build")) == [f"many-r-u{unit}" for unit in range(6)]
    asked = noted(project, "ask")
    # What is stolen from a worker may have been asked before.
    assert sorted(set(asked) if dist == "worksteal" else asked) == sorted(ids)
    assert sorted(noted(project, "open")) == sorted(noted(project, "close"))
    assert [result.case_id for result in project.report().cases] == ids


def test_a_unit_stays_on_one_worker_where_its_knowledge_base_cannot_be_saved(project: Project) -> None:
    """Each is built by the one worker that asks it all its cases."""
    write_noting(project, units=3, cases=40, recipe=UNSAVEABLE)
    project.spread = workers(3)
    run(project).assert_outcomes(passed=120)
    assert sorted(noted(project, "build")) == ["many-r-u0", "many-r-u1", "many-r-u2"]
    for unit in range(3):
        assert (
            len({pid for kind, name, pid in notes(project) if name.startswith((f"u{unit}-", f"many-r-u{unit}"))}) == 1
        )


def test_units_of_a_suite_file_stay_together_too(project: Project) -> None:
    """Though the suite comes to light in the workers."""
    write_noting(project, units=3, cases=40, recipe=UNSAVEABLE)
    project.write("s.heta.toml", 'benchmark = "jsonl:many"\nrecipe = "r.py"\n')
    project.spread = workers(3)
    result = project.run("s.heta.toml")
    ran(result)
    result.assert_outcomes(passed=120)
    assert sorted(noted(project, "build")) == ["many-r-u0", "many-r-u1", "many-r-u2"]


def test_several_workers_help_with_a_big_unit(project: Project) -> None:
    """It is shared out in shards."""
    write_noting(project, cases=120, recipe="SECONDS = 0.01\nrecipe.max_concurrency = 1\n")
    project.spread = workers(3)
    run(project).assert_outcomes(passed=120)
    asked = [pid for kind, _, pid in notes(project) if kind == "ask"]
    assert len(set(asked)) == 3
    assert noted(project, "build") == ["many-r"]


def test_the_users_other_tests_run_beside_the_cases(project: Project) -> None:
    """Under xdist too, each once."""
    write_noting(project, units=2, cases=20)
    project.write("test_own.py", "import pytest\n@pytest.mark.parametrize('n', range(9))\ndef test_own(n): pass\n")
    project.spread = workers(2)
    run(project, "test_own.py").assert_outcomes(passed=49)
    assert len(noted(project, "build")) == 2
    assert [count.planned for count in project.report().counts.values()] == [40, 40]


def test_the_report_does_not_depend_on_the_number_of_workers(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without xdist, with 0, 1, 3 and 8 workers, and with other hash seeds, only times and who built differ."""
    write_noting(project, units=3, cases=30)
    reports: list[Any] = []
    for spread in (ALONE, *map(workers, (0, 1, 3, 8))):
        project.spread = spread
        monkeypatch.setenv("PYTHONHASHSEED", str(len(reports)))
        outcomes = run(project, "--heta-case-min=mrr@3=0.5", "--heta-min=mrr@3=0.1").parseoutcomes()
        assert (outcomes["passed"], outcomes["failed"]) == (49, 42)
        reports.append(lasting(project.report().model_dump()))
    assert reports[1:] == reports[:1] * 4


def test_last_failed_after_four_workers(project: Project) -> None:
    """--lf runs exactly the cases that failed, with workers and without."""
    ids = write_noting(project, units=2, cases=30)
    project.spread = workers(4)
    run(project, "--heta-case-min=ndcg@1=0.5").assert_outcomes(passed=16, failed=44)
    for spread in (workers(4), ALONE):
        project.spread = spread
        forget_notes(project)
        run(project, "--heta-case-min=ndcg@1=0.5", "--lf").assert_outcomes(failed=44)
        failed = [name for name in ids if int(name.rpartition("-c")[2]) % 4]
        assert [result.case_id for result in project.report().cases] == failed
        assert sorted(noted(project, "ask")) == sorted(failed)


def test_ids_and_their_order_do_not_depend_on_the_hash_seed_or_locale(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two processes that differ in both collect the same."""
    write_noting(project, units=3, cases=3)
    found = []
    for seed, locale in (("1", "C"), ("2", "C.UTF-8")):
        monkeypatch.setenv("PYTHONHASHSEED", seed)
        monkeypatch.setenv("LC_ALL", locale)
        result = project.subprocess(*EVALUATION, "--collect-only", "-q")
        found.append([line for line in result.outlines if "::" in line])
    assert found[0] == found[1]
    assert found[0][:2] == ["r.py::many@all::u0::u0-c0[words]", "r.py::many@all::u0::u0-c1[words]"]


def opened_at_once(project: Project) -> int:
    """Return how many knowledge bases were open at once at most."""
    most = now = 0
    for kind, _, _ in notes(project):
        now += (kind == "open") - (kind == "close")
        most = max(most, now)
    return most


@pytest.mark.parametrize(("args", "most"), [((), 4), (("--heta-open-kbs=1",), 1), (("--heta-open-kbs=2",), 2)])
def test_few_knowledge_bases_are_open_at_once(project: Project, args: tuple[str, ...], most: int) -> None:
    """Four, or as many as the option says; all are closed at the end. (One more is, while it is being built.)"""
    write_noting(project, units=6, cases=2)
    run(project).assert_outcomes(passed=12)
    forget_notes(project)
    run(project, *args).assert_outcomes(passed=12)
    assert opened_at_once(project) == most
    assert len(noted(project, "open")) == len(noted(project, "close")) == 6


def test_rebuild_builds_once_more(project: Project) -> None:
    """Each knowledge base once a run, however many workers there are; the next run takes these from the cache."""
    write_noting(project, units=2, cases=40)
    project.spread = workers(2)
    for args, builds in (((), 2), ((), 0), (("--heta-rebuild", "--dist=load"), 2), ((), 0)):
        forget_notes(project)
        run(project, *args).assert_outcomes(passed=80)
        assert len(noted(project, "build")) == builds
        assert [kb.cached for kb in project.report().knowledge_bases] == [builds == 0] * 2


def test_the_cache_can_be_off_or_elsewhere(project: Project) -> None:
    """Off, each run builds and keeps nothing; a folder of its own is used instead of the usual one."""
    write_noting(project, units=2, cases=2)
    for builds in (2, 4):
        run(project, "--heta-kb-cache=off").assert_outcomes(passed=4)
        assert len(noted(project, "build")) == builds
    assert not (project.path / "cache").exists()
    for _ in range(2):
        run(project, "--heta-kb-cache=mine").assert_outcomes(passed=4)
        assert len(noted(project, "build")) == 6
    assert (project.path / "mine").is_dir()
    assert not (project.path / "cache").exists()


def test_the_cache_off_builds_once_under_xdist_too(project: Project) -> None:
    """A knowledge base that is not kept is not shared: its unit stays on one worker."""
    write_noting(project, units=2, cases=40)
    project.spread = workers(2)
    run(project, "--heta-kb-cache=off").assert_outcomes(passed=80)
    assert sorted(noted(project, "build")) == ["many-r-u0", "many-r-u1"]
