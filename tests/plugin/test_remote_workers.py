"""Workers on other hosts, over real SSH: one evaluation, whose results are those of one process, or none."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_heta.engine.journal import read_journal
from tests.plugin.noting import EVALUATION, UNSAVEABLE, noted, ran, write_noting
from tests.plugin.project import ALONE, Project, statuses
from tests.plugin.ssh_hosts import SshHosts, ssh_hosts
from tests.plugin.test_workers import lasting

pytestmark = pytest.mark.skipif(shutil.which("ssh") is None, reason="there is no ssh client")

FILES = ("pytest.ini", "r.py", "many")


@pytest.fixture
def hosts(project: Project, tmp_path: Path) -> Iterator[SshHosts]:
    """Two hosts, on which all later runs of the project's evaluation have a worker each."""
    with ssh_hosts(tmp_path / "hosts", "one", "two") as started:
        project.spread = ("-p", "xdist", "-d", *started.tx())
        yield started


def install(project: Project, hosts: SshHosts) -> None:
    """Copy the suite to the hosts."""
    for host in hosts.hosts:
        for name in FILES:
            source = project.path / name
            if source.is_dir():
                shutil.copytree(source, host.suite / name)
            else:
                host.suite.mkdir(exist_ok=True)
                shutil.copy(source, host.suite / name)


def run(project: Project, *args: str) -> pytest.RunResult:
    """Run the evaluation."""
    return project.subprocess(*EVALUATION, *args)


def host_notes(hosts: SshHosts, event: str) -> list[list[str]]:
    """Return what the recipes noted of one event, for each host."""
    paths = [host.suite / "notes.txt" for host in hosts.hosts]
    texts = [path.read_text().splitlines() if path.exists() else [] for path in paths]
    return [[line for line in lines if line.startswith(event)] for lines in texts]


def test_two_hosts_give_the_report_of_one_process(project: Project, hosts: SshHosts) -> None:
    """Each asks a part with a knowledge base of its own; journal and report are where pytest was started."""
    write_noting(project, units=2, cases=20)
    install(project, hosts)
    ran(result := run(project, "--heta-min=mrr@3=0.4"))
    result.assert_outcomes(passed=41)
    asked = host_notes(hosts, "ask")
    assert sum(map(len, asked)) == 40
    assert all(asked)
    assert noted(project, "ask") == []
    assert not any((host.suite / ".heta").exists() for host in hosts.hosts)
    (folder,) = (project.path / ".heta/runs").glob("*/*")
    assert len(read_journal(folder)[1]) == 40
    over_ssh = project.report()
    project.spread = ALONE
    ran(run(project, "--heta-min=mrr@3=0.4"))
    assert lasting(over_ssh.model_dump()) == lasting(project.report().model_dump())


def test_units_stay_together_on_hosts_too(project: Project, hosts: SshHosts) -> None:
    """Where -d only says that the workers of --tx are to be used: each knowledge base is built on one host."""
    write_noting(project, units=4, cases=6, recipe=UNSAVEABLE)
    install(project, hosts)
    run(project).assert_outcomes(passed=24)
    assert sum(map(len, host_notes(hosts, "build"))) == 4


def test_a_lost_host_costs_the_case_that_it_was_asking(project: Project, hosts: SshHosts) -> None:
    """The other host asks the rest; the run fails and says why, and a resumed one asks only what is missing."""
    ids = write_noting(project, cases=60, recipe="SECONDS = 0.05\nrecipe.max_concurrency = 1\n")
    install(project, hosts)
    _, second = hosts.hosts

    def lose() -> None:
        deadline = time.monotonic() + 60
        while len(host_notes(hosts, "answer")[1]) < 5 and time.monotonic() < deadline:
            time.sleep(0.01)
        hosts.lose(second)

    thread = threading.Thread(target=lose)
    thread.start()
    result = run(project)
    thread.join()
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    text = ran(result)
    assert "heta: two does not answer: the cases of gw1 go to one" in text
    found = statuses(project.report())
    assert list(found) == ids
    assert sorted(found.values()) == ["finished"] * 59 + ["not_run"]
    asked = len(host_notes(hosts, "ask")[0])
    hosts.hosts = hosts.hosts[:1]
    project.spread = ("-p", "xdist", "-d", *hosts.tx())
    run(project, "--heta-resume").assert_outcomes(passed=60)
    assert set(statuses(project.report()).values()) == {"finished"}
    assert len(host_notes(hosts, "ask")[0]) == asked + 1


def test_a_host_with_another_recipe_is_refused(project: Project, hosts: SshHosts) -> None:
    """By the name of the file that differs, before anything is asked."""
    write_noting(project)
    install(project, hosts)
    path = hosts.hosts[1].suite / "r.py"
    path.write_text(path.read_text() + "SECONDS = 0\n")
    result = run(project)
    assert result.ret != pytest.ExitCode.OK
    assert "would not run the same evaluation: the recipe's file r.py" in ran(result)
    assert host_notes(hosts, "ask") == [[], []]


def test_a_host_that_would_judge_otherwise_is_refused(project: Project, hosts: SshHosts) -> None:
    """Thresholds of cases are judged where the cases run: a host whose ini file lacks them would let all pass."""
    write_noting(project)
    install(project, hosts)
    project.write("pytest.ini", (project.path / "pytest.ini").read_text() + "heta_case_min = ndcg@1=0.5\n")
    result = run(project)
    assert result.ret != pytest.ExitCode.OK
    assert "the thresholds of cases: none there, all modes beir_ndcg@1 >= 0.5 here" in " ".join(ran(result).split())
    assert host_notes(hosts, "ask") == [[], []]


def test_a_host_with_other_documents_is_refused(project: Project, hosts: SshHosts) -> None:
    """Whoever comes second: of the two, none can be trusted."""
    write_noting(project)
    install(project, hosts)
    path = hosts.hosts[1].suite / "many/documents.jsonl"
    path.write_text(path.read_text().replace("text d1", "another text"))
    result = run(project)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert "would not run the same evaluation: the documents of run unit 'u0'" in ran(result)
    assert "not_run" in statuses(project.report()).values()


def test_a_host_without_the_recipe_ends_the_run(project: Project, hosts: SshHosts) -> None:
    """In one line, where xdist would start workers that cannot begin for ever."""
    write_noting(project)
    install(project, hosts)
    (missing := hosts.hosts[1].suite / "r.py").unlink()
    result = run(project)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert f"gw1 (two) cannot take part: recipe 'r.py': no such file: {missing}" in ran(result)


def test_a_path_that_xdist_would_not_pass_on_is_refused(project: Project, hosts: SshHosts) -> None:
    """With what to write instead."""
    write_noting(project)
    project.write("s.heta.toml", 'benchmark = "many"\nrecipe = "r.py"\n')
    result = project.subprocess("s.heta.toml")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert "write -o testpaths=s.heta.toml" in ran(result)
