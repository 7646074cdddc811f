"""``@pytest.mark.heta(benchmark=…, recipe=…)``: a test of the user's own, once for each case of a benchmark.

Such tests share evaluations, and with them knowledge bases and the queries that are worked ahead, where their marks say
the same. What they find is theirs: it is judged by their assertions, and belongs to no report.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_heta.engine.recipes import parse_recipe_spec
from pytest_heta.engine.selection import Selection
from pytest_heta.errors import HetaError, UsageError
from pytest_heta.plugin import details
from pytest_heta.plugin.check import JUDGED
from pytest_heta.plugin.records import forget
from pytest_heta.plugin.running import begin, end
from pytest_heta.plugin.specs import EvaluationSpec, selected_by_options
from pytest_heta.reports.collector import collector_paused

if TYPE_CHECKING:
    from pytest_heta.plugin.anchored import AnchoredEvaluation, PlannedCase
    from pytest_heta.plugin.session import HetaSession

PARAMETER = "heta_planned"
"""The name of the parameter that says which case a test is about."""

_FIXTURES = {"heta_case", "heta_kb", "heta_response", "heta_scores"}
_ARGUMENTS = ("benchmark", "recipe", "mode", "limit", "top_k")


@dataclass(eq=False)
class MarkedCase:
    """A case as the parameter of tests. Told apart by identity: pytest compares parameters, and often."""

    heta: HetaSession
    anchored: AnchoredEvaluation
    planned: PlannedCase
    stash: pytest.Stash = field(default_factory=pytest.Stash)
    tells_errors: bool = False


@dataclass(eq=False)
class MarkedUnit:
    """A run unit as the parameter of its knowledge base, for which pytest makes the fixture anew, and orders tests."""

    name: str


_Parameters = tuple[str, MarkedCase, MarkedUnit]
"""The id that a test gets, and its parameters."""


class MarkedTests:
    """Makes tests of marks, and tells their fixtures which case runs; registered where the first mark is met."""

    def __init__(self, heta: HetaSession) -> None:
        """Begin with no test."""
        self._heta = heta
        self._cases: dict[EvaluationSpec, list[_Parameters]] = {}
        self._last: MarkedCase | None = None

    def parametrize(self, metafunc: pytest.Metafunc, mark: pytest.Mark) -> None:
        """Give a test a parameter for each case of the benchmark of its mark; one that uses no case stays as it is.

        Raises:
            pytest.Collector.CollectError: where the mark, or something that it names, cannot be used.

        """
        if _FIXTURES.isdisjoint(metafunc.fixturenames):
            return
        try:
            spec = selected_by_options(marked_spec(mark, metafunc.definition.path.parent), metafunc.config)
            with collector_paused():
                cases = self._cases_of(spec)
        except HetaError as error:
            where = metafunc.definition.nodeid
            raise pytest.Collector.CollectError(f"{where}: @pytest.mark.heta: {error}") from None
        names = [PARAMETER, *({"heta_kb"} & set(metafunc.fixturenames))]
        values = [parameters[: len(names)] for _, *parameters in cases]
        metafunc.fixturenames.append(PARAMETER)
        metafunc.parametrize(names, values, indirect=names[1:], ids=[name for name, *_ in cases], scope="class")

    def _cases_of(self, spec: EvaluationSpec) -> list[_Parameters]:
        """Return the cases with the ids that tests get, the same objects for the same marks."""
        if spec not in self._cases:
            self._cases[spec] = list(_parameters(self._heta, self._heta.marked(spec)))
        return self._cases[spec]

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Make the case of a marked test the running one."""
        case = marked_case(item)
        if case is None:
            return
        if self._last is not None and self._last is not case:
            forget(self._last.stash)
        self._last = case
        begin(case)

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> None:
        """Note that the case does not run any more."""
        if marked_case(item) is not None:
            end()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[Any]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Show the case where a test of it failed; the next try, or the next test, asks anew."""
        report = yield
        case = marked_case(item)
        if case is not None and report.failed:
            judged = case.stash.get(JUDGED, None)
            if judged is not None and judged.outcome.response is not None:
                section = details.section_with_texts(case, case.planned.case, judged.outcome, judged.scores)
                report.sections.append(section)
            forget(case.stash)
        return report


def marked_case(item: pytest.Item) -> MarkedCase | None:
    """Return the case of a marked test, or None for another test."""
    case = getattr(getattr(item, "callspec", None), "params", {}).get(PARAMETER)
    return case if isinstance(case, MarkedCase) else None


def marked_spec(mark: pytest.Mark, root: Path) -> EvaluationSpec:
    """Read the arguments of a mark; relative paths start at ``root``, the folder of the test file.

    Raises:
        UsageError: where an argument is unknown, missing or of the wrong kind.

    """
    given = mark.kwargs
    unknown = [*map(repr, mark.args), *(name for name in given if name not in _ARGUMENTS)]
    if unknown:
        raise UsageError(f"unknown argument {unknown[0]}; it takes {', '.join(f'{name}=…' for name in _ARGUMENTS)}")
    modes = given.get("mode") or ()
    modes = (modes,) if isinstance(modes, str) else modes
    if not isinstance(modes, list | tuple) or not all(isinstance(mode, str) for mode in modes):
        raise UsageError(f"mode must be a text or a list of texts, not {modes!r}")
    return EvaluationSpec(
        benchmark=_text(given, "benchmark"),
        recipe=parse_recipe_spec(_text(given, "recipe"), root),
        root=root,
        modes=tuple(modes),
        top_k=_number(given, "top_k"),
        selection=Selection(limit=_number(given, "limit")),
    )


def _text(given: Mapping[str, Any], name: str) -> str:
    value = given.get(name)
    if not isinstance(value, str | Path) or not str(value):
        raise UsageError(f"{name} is missing" if value is None else f"{name} must be a text, not {value!r}")
    return str(value)


def _number(given: Mapping[str, Any], name: str) -> int | None:
    value = given.get(name)
    if value is not None and (type(value) is not int or value < 1):
        raise UsageError(f"{name} must be a whole number from 1, not {value!r}")
    return value


def _parameters(heta: HetaSession, anchored: AnchoredEvaluation) -> Iterator[_Parameters]:
    several = anchored.evaluation.plan.unit_count > 1
    for unit_name, items in anchored.units.items():
        unit = MarkedUnit(unit_name)
        for name, planned in items.items():
            case_name = name.removesuffix(f"[{planned.mode}]")
            parts = (unit_name, case_name, planned.mode) if several else (case_name, planned.mode)
            yield "-".join(parts), MarkedCase(heta, anchored, planned), unit
