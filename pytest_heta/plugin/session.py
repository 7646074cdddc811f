"""What one process of a run holds: the event loop, and the evaluations of each anchor file."""

from __future__ import annotations

import os
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import pytest

from pytest_heta.benchmarks.registry import Family, resolve_benchmark
from pytest_heta.engine.agreement import FACTS, evaluation_facts
from pytest_heta.engine.cache import KnowledgeBaseCache
from pytest_heta.engine.config import RunnerConfig
from pytest_heta.engine.evaluation import Evaluation
from pytest_heta.engine.header import journal_header
from pytest_heta.engine.journal import JournalWriter
from pytest_heta.engine.loop import LoopThread
from pytest_heta.engine.plan import make_plan, name_some
from pytest_heta.engine.recipes import load_recipe
from pytest_heta.engine.resume import changed_units, finished_results, read_bases, write_bases
from pytest_heta.engine.shard import PLAN, SHARD, Shard, plan_ids
from pytest_heta.errors import HetaError, UsageError
from pytest_heta.loading import describe_failure
from pytest_heta.locations import default_cache_dir, kb_cache_dir
from pytest_heta.plugin.anchored import AnchoredEvaluation
from pytest_heta.plugin.anchors import anchor_of, node_path, write_anchors
from pytest_heta.plugin.host import host_of
from pytest_heta.plugin.identity import resumes, runs_folder, worker_input
from pytest_heta.plugin.names import node_names
from pytest_heta.plugin.options import SUITE_SUFFIX, option_value
from pytest_heta.plugin.progress import Progress
from pytest_heta.plugin.specs import EvaluationSpec, needs_baseline, specs_of_options, with_options
from pytest_heta.plugin.suites import read_suite
from pytest_heta.records import BenchmarkWorkspace, KnowledgeBaseReport
from pytest_heta.reports.collector import RareCollector
from pytest_heta.reports.gates import resolve_gates
from pytest_heta.reports.policies import Policy, resolve_policies
from pytest_heta.reports.recording import read_recording
from pytest_heta.reports.replay import ReplaySource
from pytest_heta.reports.slices import check_slices
from pytest_heta.reports.thresholds import Threshold

_HUB_OFFLINE = "HF_HUB_OFFLINE"

Receiver = Callable[[str, str, list[KnowledgeBaseReport]], None]
"""Takes a node id, its result in JSON, and news of knowledge bases."""


class HetaSession:
    """Everything of one process; made when the run first needs it, closed at its end."""

    def __init__(self, config: pytest.Config) -> None:
        """Read the options; nothing is loaded yet.

        Raises:
            UsageError: where an option cannot be used.

        """
        self.config = config
        self.specs = specs_of_options(config)
        write_anchors((spec.recipe for spec in self.specs), config.rootpath)
        self.settings = _settings(config)
        self.workspace = _workspace(config)
        self.download = not option_value(config, "--heta-offline")
        if not self.download:
            _keep_hub_offline(config)
        self.shown_cases = frozenset(option_value(config, "--heta-show"))
        self._summed_up = False
        self.loop = LoopThread(threads=max(16, self.settings.concurrency + 8))
        self._start_ns: int = worker_input(config)["heta_start_ns"]
        folder = self.settings.kb_cache
        self._cache = (
            KnowledgeBaseCache(folder, notice=self.notify, session_start_ns=self._start_ns) if folder else None
        )
        self._anchored: dict[Path, list[AnchoredEvaluation]] = {}
        self._marked: dict[EvaluationSpec, AnchoredEvaluation] = {}
        self.run_id: str = worker_input(config)["heta_run_id"]
        self.host = host_of(config)
        self._runs = self.host.runs if self.host else runs_folder(config)
        self._resumes = resumes(config)
        self._replay = _folder(config, option_value(config, "--heta-replay"))
        shard = option_value(config, "--heta-shard")
        self.shard = Shard.parse(shard) if shard else None
        self._writer: str = getattr(config, "workerinput", {}).get("workerid", "main")
        self.progress = Progress(config)
        self.receive: Receiver | None = None
        self._journals: dict[str, JournalWriter | None] = {}
        self._collector: RareCollector | None = None

    @cached_property
    def anchors(self) -> tuple[Path, ...]:
        """The files that the options make anchors."""
        return tuple(dict.fromkeys(map(self._anchor_of, self.specs)))

    def anchored(self, anchor: Path) -> list[AnchoredEvaluation]:
        """Return the evaluations of a recipe file or suite file, prepared and planned when first asked for.

        Raises:
            HetaError: where one of them cannot be used.

        """
        if anchor not in self._anchored:
            self._anchored[anchor] = self._load(anchor, self._specs_at(anchor))
        return self._anchored[anchor]

    def marked(self, spec: EvaluationSpec) -> AnchoredEvaluation:
        """Return the evaluation that marks of tests ask for, one for all marks that say the same.

        Raises:
            HetaError: where it cannot be used.

        """
        if spec not in self._marked:
            self._marked[spec] = self._evaluated(spec, several=False)
        return self._marked[spec]

    def all_anchored(self) -> Iterable[AnchoredEvaluation]:
        """Yield all evaluations that were asked for."""
        for group in (*self._anchored.values(), self._marked.values()):
            yield from group

    def items_are_collected(self) -> None:
        """Spare the garbage collector what now lives until the end."""
        self._collector = RareCollector()

    def results_are_assembled(self) -> None:
        """Spare the garbage collector these as well."""
        if self._collector is not None:
            self._collector.leave_out()

    def let_collector_be(self) -> None:
        """Give the garbage collector back as it was."""
        if self._collector is not None:
            self._collector.end()

    def run_folder(self, prefix: str) -> Path:
        """Return the folder in which this run keeps what belongs to one benchmark node."""
        return self._runs / self.run_id / node_names([prefix])[prefix]

    def journal(
        self, prefix: str, anchored: AnchoredEvaluation, line: str, news: Sequence[KnowledgeBaseReport]
    ) -> None:
        """Write one finished case down, before anybody hears of it, and how knowledge bases came to be."""
        try:
            if prefix not in self._journals:
                folder = self.run_folder(prefix)
                selection = {SHARD: str(self.shard)} if self.shard else {}
                header = journal_header(anchored.evaluation, selection)
                self._journals[prefix] = JournalWriter(folder, self._writer, header)
            writer = self._journals[prefix]
            if writer is not None:
                if news:
                    write_bases(self.run_folder(prefix), self._writer, news)
                writer.write(line)
        except Exception as error:  # such as a recipe that cannot say what identifies it
            # The result still travels on its report; only a killed run would lose it.
            self._journals[prefix] = None
            self.notify(str(error))

    def stop(self) -> None:
        """Stop all queries: no item will ask for what they find."""
        for anchored in self.all_anchored():
            self.loop.run(anchored.evaluation.stop_queries())

    def notify(self, message: str) -> None:
        """Tell something in pytest's summary of warnings or, once that was printed, on the standard error output."""
        if self._summed_up:
            print(f"heta: {message}", file=sys.stderr)
        else:
            _notify(self.config, message)

    def close(self) -> None:
        """Close all knowledge bases, end the loop."""
        self._summed_up = True
        if self._cache is not None:
            self._cache.stop()
        try:
            for anchored in self.all_anchored():
                self.loop.run(anchored.evaluation.aclose())
        finally:
            self.loop.close()
            if self.host is not None:
                self.host.close()
            for writer in filter(None, self._journals.values()):
                writer.close()

    def _specs_at(self, anchor: Path) -> Sequence[EvaluationSpec]:
        if anchor.name.endswith(SUITE_SUFFIX):
            return [with_options(spec, self.config) for spec in read_suite(anchor)]
        return [spec for spec in self.specs if self._anchor_of(spec) == anchor]

    def _anchor_of(self, spec: EvaluationSpec) -> Path:
        return anchor_of(spec.recipe, self.config.rootpath)

    def _load(self, anchor: Path, specs: Sequence[EvaluationSpec]) -> list[AnchoredEvaluation]:
        several = len({spec.recipe for spec in specs}) > 1
        loaded: list[AnchoredEvaluation] = []
        for spec in specs:
            anchored = self._evaluated(spec, several=several)
            if any(other.name == anchored.name for other in loaded):
                raise UsageError(f"{spec.benchmark!r} and another benchmark here have the same name: {anchored.name}")
            prefix = f"{node_path(anchor, self.config.rootpath)}::{anchored.name}"
            if self.host is not None and anchor in self.anchors:
                self.host.check(prefix, anchored, self.config.rootpath)
            if self._resumes:
                self._take_over(prefix, anchored)
            loaded.append(anchored)
        return loaded

    def _evaluated(self, spec: EvaluationSpec, *, several: bool) -> AnchoredEvaluation:
        try:
            return self.loop.run(self._evaluation(spec, several))
        except HetaError:
            raise
        except Exception as failure:  # such as one of the user's own benchmark
            raise UsageError(f"{spec.benchmark}: {describe_failure(failure)}") from failure
        finally:
            self.progress.clear()

    def _take_over(self, prefix: str, anchored: AnchoredEvaluation) -> None:
        """Find what the resumed run has finished of an evaluation."""
        folder, evaluation = self.run_folder(prefix), anchored.evaluation
        notice = _silent if hasattr(self.config, "workerinput") else self.notify
        if self.config.hook.pytest_heta_check_case.get_hookimpls():
            notice("a hook decides on each case (pytest_heta_check_case), which takes its response: all are asked anew")
            return
        finished = finished_results(folder, journal_header(evaluation), notice=notice)
        bases = read_bases(folder)
        changed = self.loop.run(changed_units(evaluation.plan, bases))
        if changed:
            notice(f"the documents have changed of {name_some(changed)}: what was finished there is asked anew")
        anchored.known_bases = [base for base in bases if base.unit_id not in changed]
        anchored.finished = {
            key: result
            for key, result in finished.items()
            if key[0] not in changed and {score.name for score in result.scores}.issuperset(evaluation.metrics)
        }

    async def _evaluation(self, spec: EvaluationSpec, several: bool) -> AnchoredEvaluation:
        started = time.perf_counter()
        benchmark = resolve_benchmark(
            spec.benchmark, root=spec.root, download=self.download, families=benchmark_families(self.config)
        )
        if hasattr(benchmark, "progress"):
            benchmark.progress = partial(self.progress, benchmark.manifest.name)
        recording = read_recording(self._replay) if self._replay else None
        recipe = recording.recipe if recording else await load_recipe(spec.recipe)
        plan = await make_plan(benchmark, self.workspace, spec.selection)
        whole, manifest = plan.units, plan.manifest
        if self.shard is not None:
            plan = replace(plan, units=self.shard.apply(whole))
        evaluation = Evaluation(
            plan=plan,
            recipe=recipe,
            modes=spec.modes,
            evaluators=self.config.hook.pytest_heta_evaluators(config=self.config, benchmark=benchmark),
            name=f"{manifest.name}-{spec.recipe.label}",
            config=self._settings_for(spec),
            cache=self._cache,
            progress=partial(self.progress, manifest.name),
        )
        evaluation.pool.notice = self.notify
        metrics, modes = evaluation.metrics, evaluation.modes
        if spec.baseline is None and (spec.policies or needs_baseline(self.config)):
            raise UsageError("there is no baseline to compare with or to write: say which, with --heta-baseline=FILE")
        if recording is not None:
            evaluation.replay = ReplaySource(
                recording,
                benchmark=manifest,
                modes=modes,
                evaluators=evaluation.evaluators,
                config=evaluation.config,
            )
        bounds: tuple[Threshold | Policy, ...] = (*spec.gates, *spec.case_thresholds, *spec.policies)
        check_slices(spec.slices, [bound.where for bound in bounds], [case.labels for case in plan.all_cases])
        name = f"{manifest.name}@{manifest.split}"
        return AnchoredEvaluation(
            name=f"{name}+{spec.recipe.label}" if several else name,
            spec=spec,
            loop=self.loop,
            evaluation=evaluation,
            gates=resolve_gates(spec.gates, metrics, modes),
            case_thresholds=resolve_gates(spec.case_thresholds, metrics, modes),
            policies=resolve_policies(spec.policies, metrics, modes),
            prepare_seconds=time.perf_counter() - started,
            facts={PLAN: plan_ids(whole), FACTS: list(evaluation_facts(evaluation).items())} if self.shard else {},
        )

    def _settings_for(self, spec: EvaluationSpec) -> RunnerConfig:
        return replace(self.settings, top_k=spec.top_k)


def benchmark_families(config: pytest.Config) -> dict[str, Family]:
    """Return the benchmark families that the hook gives; of two with one name the first implementation's."""
    found: list[Mapping[str, Family]] = config.pluginmanager.hook.pytest_heta_benchmarks(config=config)
    return {name: family for families in reversed(found) for name, family in families.items()}


def _keep_hub_offline(config: pytest.Config) -> None:
    """Have recipes that fetch models keep to ``--heta-offline``, as far as they use the Hugging Face Hub."""
    if _HUB_OFFLINE not in os.environ:
        os.environ[_HUB_OFFLINE] = "1"
        config.add_cleanup(partial(os.environ.__delitem__, _HUB_OFFLINE))


def _silent(message: str) -> None:
    """Say nothing: the controller says it."""


def _notify(config: pytest.Config, message: str) -> None:
    """Tell something in pytest's summary of warnings, past all filters: a notice must not become an error."""
    warning = warnings.WarningMessage(pytest.PytestWarning(message), pytest.PytestWarning, __name__, 0)
    arguments = {"warning_message": warning, "when": "config", "nodeid": "", "location": None}
    config.hook.pytest_warning_recorded.call_historic(kwargs=arguments)


def _settings(config: pytest.Config) -> RunnerConfig:
    defaults = RunnerConfig()
    cache = option_value(config, "--heta-kb-cache")
    return RunnerConfig(
        concurrency=option_value(config, "--heta-concurrency") or defaults.concurrency,
        timeout=option_value(config, "--heta-timeout"),
        open_knowledge_bases=option_value(config, "--heta-open-kbs") or defaults.open_knowledge_bases,
        kb_cache=None if cache == "off" else _folder(config, cache) or kb_cache_dir(_cache_dir(config)),
        rebuild=bool(option_value(config, "--heta-rebuild")),
        keep_texts=bool(option_value(config, "--heta-texts")),
    )


def _workspace(config: pytest.Config) -> BenchmarkWorkspace:
    output = config.rootpath / ".heta"
    return BenchmarkWorkspace(root_dir=config.rootpath, cache_dir=_cache_dir(config), output_dir=output)


def _cache_dir(config: pytest.Config) -> Path:
    return _folder(config, option_value(config, "--heta-cache-dir")) or default_cache_dir()


def _folder(config: pytest.Config, value: Any) -> Path | None:
    return Path(config.invocation_params.dir, str(value)).expanduser() if value else None
