"""Workers on other machines, seen from the controller: what they are told, and what happens when one is lost.

Importing this imports nothing heavy: the run may be none of ours.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import pytest

from pytest_heta.plugin.identity import HOST, resumes, runs_folder, worker_input
from pytest_heta.plugin.options import SUITE_SUFFIX

if TYPE_CHECKING:
    from pytest_heta.plugin.session import HetaSession

_JOURNALS = "*/*.jsonl"
_USAGE = "pytest.UsageError: "


def is_remote(spec: Any) -> bool:
    """Tell whether a worker runs in another folder or on another machine, by its execnet specification."""
    return not spec.popen or bool(spec.chdir or spec.via)


def refuse_paths(config: pytest.Config) -> None:
    """Refuse arguments that xdist would not pass on to other machines.

    Raises:
        pytest.UsageError: for the first one.

    """
    synced = (*config.getoption("rsyncdir"), *config.getini("rsyncdirs"))
    roots = [Path(folder).resolve() for folder in synced]
    for argument in map(str, config.invocation_params.args):
        path = Path(argument.split("::")[0])
        if path.exists() and not any(path.is_relative_to(root) for root in roots):
            name = path.as_posix()
            instead = f"-o testpaths={name}" if name.endswith(SUITE_SUFFIX) else f"--OPTION={name}, with '='"
            raise pytest.UsageError(
                f"{argument}: pytest-xdist passes a path of this machine on to others only where it is absolute and "
                f"below --rsyncdir; write {instead}, which each worker reads in its own folder"
            )


def told_to_host(config: pytest.Config, heta: HetaSession | None) -> dict[str, Any]:
    """Return what only a worker on another machine is told, exact builtins only.

    ``facts`` are those of the evaluations that the options name, by the node ids of their nodes; ``journals`` are the
    files of the run that is resumed, by their path in its folder.
    """
    facts: dict[str, dict[str, str]] = {}
    if heta is not None:
        from pytest_heta.plugin.anchors import node_path

        for anchor in heta.anchors:
            prefix = node_path(anchor, config.rootpath)
            facts |= {f"{prefix}::{one.name}": one.facts_to_agree() for one in heta.anchored(anchor)}
    journals: dict[str, str] = {}
    if resumes(config):
        folder = runs_folder(config) / worker_input(config)["heta_run_id"]
        journals = {
            path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8", errors="replace")
            for path in sorted(folder.glob(_JOURNALS))
        }
    return {HOST: {"facts": facts, "journals": journals}}


class LostHosts:
    """Ends the run where a worker cannot even begin, and has the workers of a host that is lost replaced on another.

    It leaves runs that are none of ours as xdist has them.
    """

    def __init__(self, config: pytest.Config) -> None:
        """Know no worker yet."""
        self._config = config
        self._at_work: list[Any] = []

    def pytest_xdist_node_collection_finished(self, node: Any, ids: Sequence[str]) -> None:
        """Note a worker that has begun."""
        self._at_work.append(node)

    @pytest.hookimpl(tryfirst=True)
    def pytest_testnodedown(self, node: Any, error: object | None) -> None:
        """Look at a worker that ended otherwise than it should: xdist starts another by the same specification."""
        begun = node in self._at_work
        if begun:
            self._at_work.remove(node)
        spec = node.gateway.spec
        if error is None or not is_remote(spec) or not self._config.pluginmanager.has_plugin("heta-controller"):
            return
        if not begun:
            # Any other would end like it, again and again.
            *trace, line = str(error).strip().splitlines() or ["it ended"]
            if trace and not line.startswith(_USAGE):
                self._tell("\n".join(trace))
            _end(node, f"cannot take part: {line.removeprefix(_USAGE)}", pytest.ExitCode.USAGE_ERROR)
        found = next(filter(_answers, (spec, *self._other_specs(spec))), None)
        if found is None:
            _end(node, "is lost, and no other host answers; go on with --heta-resume", pytest.ExitCode.TESTS_FAILED)
        if found is not spec:
            node.gateway.spec = _copy(found)
            self._tell(f"{_host(spec)} does not answer: the cases of {node.gateway.id} go to {_host(found)}")

    def _other_specs(self, lost: Any) -> list[Any]:
        specs = (other.gateway.spec for other in self._at_work)
        return [spec for spec in dict.fromkeys(specs) if spec != lost]

    def _tell(self, line: str) -> None:
        reporter = self._config.pluginmanager.get_plugin("terminalreporter")
        if reporter is not None:
            reporter.write_line(f"\nheta: {line}")


def _end(node: Any, reason: str, code: pytest.ExitCode) -> NoReturn:
    pytest.exit(f"{node.gateway.id} ({_host(node.gateway.spec)}) {reason}", returncode=code)


def _host(spec: Any) -> str:
    return str(spec.ssh or spec)


def _answers(spec: Any) -> bool:
    """Tell whether another worker could be started. Only over ssh is that tried: other ways may serve one at a time."""
    import execnet

    if not spec.ssh or spec.via:
        return True
    group = execnet.Group()
    try:
        group.makegateway(_copy(spec))
    except (execnet.HostNotFound, OSError, EOFError):
        return False
    finally:
        group.terminate(timeout=1)
    return True


def _copy(spec: Any) -> Any:
    """Return a specification that says the same, for a worker of its own name."""
    import execnet

    copy = execnet.XSpec(str(spec))
    copy.id = None
    return copy
