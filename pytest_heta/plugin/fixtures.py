"""The fixtures of a case item. Each can be overridden in a conftest; what they give is what is judged."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pytest_heta.plugin.nodes import UnitNode
    from pytest_heta.records import BenchmarkCase, EvaluationScore, QueryResponse


@pytest.fixture(scope="class")
def _heta_unit(request: pytest.FixtureRequest) -> UnitNode:
    # The run unit and, in it, the item that runs now. Of class scope, as a unit is a pytest.Class: a fixture that asks
    # for ``request`` is dear, and this is the only one.
    if not hasattr(request.node, "running"):
        pytest.fail(f"the fixtures of heta belong to benchmark cases, not to {request.node.nodeid}", pytrace=False)
    unit: UnitNode = request.node
    return unit


@pytest.fixture(scope="class")
def heta_kb(_heta_unit: UnitNode) -> Any:
    """The knowledge base of this item's run unit, built once and shared by the unit's cases."""
    from pytest_heta.plugin.asking import knowledge_base

    return knowledge_base(_heta_unit)


@pytest.fixture
def heta_case(_heta_unit: UnitNode) -> BenchmarkCase:
    """The benchmark case of this item: its query, gold labels and metadata."""
    return _heta_unit.running.planned.case


@pytest.fixture
def heta_response(_heta_unit: UnitNode, heta_case: BenchmarkCase, heta_kb: Any) -> QueryResponse:
    """The response of the knowledge base to this item's case, a QueryResponse."""
    from pytest_heta.plugin.asking import response

    return response(_heta_unit.running, heta_case, heta_kb)


@pytest.fixture
def heta_scores(
    _heta_unit: UnitNode, heta_case: BenchmarkCase, heta_response: QueryResponse
) -> dict[str, EvaluationScore]:
    """The scores of this item's response by metric name, each an EvaluationScore."""
    from pytest_heta.plugin.asking import scores

    return scores(_heta_unit.running, heta_case, heta_response)
