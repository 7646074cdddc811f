"""The nodes: anchor file :: benchmark :: run unit :: case[mode]."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property
from os.path import relpath
from pathlib import Path
from typing import Any

import pytest

from pytest_heta.errors import HetaError
from pytest_heta.plugin.anchored import AnchoredEvaluation, PlannedCase
from pytest_heta.plugin.asking import plain_case
from pytest_heta.plugin.check import GIVEN, CaseFailed, check_heta_case, check_plain_case, check_recorded_case
from pytest_heta.plugin.fixtures import FIXTURES
from pytest_heta.plugin.running import begin, end
from pytest_heta.plugin.session import HetaSession
from pytest_heta.records import EvaluationCaseResult
from pytest_heta.reports.collector import collector_paused


class AnchorFile(pytest.Module):
    """An anchor: a recipe, or a suite of them. A Module, so that the user's module-scoped fixtures find their node."""

    obj = None

    def __init__(self, *, heta: HetaSession, path: Path, parent: pytest.Collector, **kwargs: Any) -> None:
        """Keep the session that knows what the file asks for."""
        # Said, because pytest has no name for a file outside its root folder: its items would have no file in their id.
        kwargs["nodeid"] = Path(relpath(path, parent.config.rootpath)).as_posix()
        super().__init__(path=path, parent=parent, **kwargs)
        self.heta = heta

    def collect(self) -> Iterable[pytest.Collector]:
        """Yield the benchmarks of this file."""
        try:
            anchored = self.heta.anchored(self.path.resolve())
        except HetaError as error:
            raise self.CollectError(str(error)) from None
        for one in anchored:
            yield BenchmarkNode.from_parent(self, name=one.name, heta=self.heta, anchored=one)


class BenchmarkNode(pytest.Class):
    """One recipe on one benchmark."""

    obj = None

    def __init__(self, *, heta: HetaSession, anchored: AnchoredEvaluation, **kwargs: Any) -> None:
        """Keep the session and the evaluation."""
        super().__init__(**kwargs)
        self.heta, self.anchored = heta, anchored

    def collect(self) -> Iterable[pytest.Collector]:
        """Yield the run units."""
        for name, items in self.anchored.units.items():
            yield UnitNode.from_parent(self, name=name, benchmark=self, items=items)


class UnitNode(pytest.Class):
    """One knowledge base and its cases."""

    obj = None

    def __init__(self, *, benchmark: BenchmarkNode, items: dict[str, PlannedCase], **kwargs: Any) -> None:
        """Keep the planned items by name."""
        super().__init__(**kwargs)
        self.benchmark, self.items = benchmark, items
        self.planned = next(iter(items.values())).unit

    def collect(self) -> Iterable[pytest.Item]:
        """Return the cases."""
        checks = self._checks()
        shared: dict[Callable[..., None], Any] = {}
        items: list[CaseItem] = []
        with collector_paused():
            for name, planned in self.items.items():
                check = checks[recorded(self.benchmark.anchored, planned) is not None]
                # What pytest finds out about the fixtures of one is true of all, as it is among parameters.
                item = self._item(name, planned, check, fixtureinfo=shared.get(check))
                shared.setdefault(check, getattr(item, "_fixtureinfo", None))
                items.append(item)
        return items

    def _checks(self) -> tuple[Callable[..., None], Callable[..., None]]:
        """Return what to run for a case, and for one that a resumed run has finished.

        Where nobody overrides our fixtures a case does without them, which halves what the plugin adds to each.
        """
        name, planned = next(iter(self.items.items()))
        example = self._item(name, planned, check_heta_case)
        known = getattr(getattr(example, "_fixtureinfo", None), "name2fixturedefs", {})
        ours = all(len(known.get(fixture, ())) == 1 for fixture in FIXTURES)
        return (check_plain_case if ours else check_heta_case), check_recorded_case

    def _item(self, name: str, planned: PlannedCase, check: Callable[..., None], **kwargs: Any) -> CaseItem:
        return CaseItem.from_parent(self, name=name, check=check, unit=self, planned=planned, **kwargs)


def recorded(anchored: AnchoredEvaluation, planned: PlannedCase) -> EvaluationCaseResult | None:
    """Return the result of a case that a resumed run has finished."""
    return anchored.finished.get((planned.unit.unit.unit_id, planned.case.case_id, planned.mode))


class CaseItem(pytest.Function):
    """One case in one mode. A Function, so that fixtures, the user's own too, work as in any test."""

    tells_errors = True

    def __init__(self, *, unit: UnitNode, planned: PlannedCase, check: Callable[..., None], **kwargs: Any) -> None:
        """Keep what is to be asked; the original ids match ``-k`` too."""
        super().__init__(callobj=check, **kwargs)
        self.check = check
        self.unit, self.planned = unit, planned
        self.heta, self.anchored, self.prefix = unit.benchmark.heta, unit.benchmark.anchored, unit.benchmark.nodeid
        self.recorded = recorded(self.anchored, planned)
        self.extra_keyword_matches.update((planned.case.case_id, planned.unit.unit.unit_id))

    @cached_property
    def id(self) -> Any:
        """The id in parts, by which pytest 9.2 compares: read from the text, as ``--lf`` does, with the mode apart."""
        return type(super().id).parse(self.nodeid)

    def setup(self) -> None:
        """Make this the running item, then set the fixtures up, and what they would give where they are not needed."""
        begin(self)
        super().setup()
        if self.check is check_plain_case:
            self.stash[GIVEN] = plain_case(self)

    def teardown(self) -> None:
        """Stop being the running item."""
        super().teardown()
        end()

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Show what the case missed, without the plugin's frames."""
        if isinstance(excinfo.value, CaseFailed):
            return str(excinfo.value)
        return super().repr_failure(excinfo)

    def reportinfo(self) -> tuple[Path, int, str]:
        """Head a failure with benchmark, unit and case."""
        # Not None: pytest needs a line where it tells of a skip.
        return self.path, 0, " :: ".join((self.anchored.name, self.planned.unit.unit.unit_id, self.name))
