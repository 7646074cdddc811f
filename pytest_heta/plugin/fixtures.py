"""The fixtures of a case item, and of a marked test. Each can be overridden in a conftest.

What they give is what is judged.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from pytest_heta.plugin.running import running_case

if TYPE_CHECKING:
    from pytest_heta.records import BenchmarkCase, EvaluationScore, QueryResponse


@pytest.fixture(scope="class")
def heta_kb() -> Any:
    """The knowledge base of this item's run unit, built once and shared by the unit's cases."""
    from pytest_heta.plugin.asking import knowledge_base

    return knowledge_base(running_case())


@pytest.fixture
def heta_case() -> BenchmarkCase:
    """The benchmark case of this item: its query, gold labels and metadata."""
    return running_case().planned.case


@pytest.fixture
def heta_response(heta_case: BenchmarkCase, heta_kb: Any) -> QueryResponse:
    """The response of the knowledge base to this item's case, a QueryResponse."""
    from pytest_heta.plugin.asking import response

    return response(running_case(), heta_case, heta_kb)


@pytest.fixture
def heta_scores(heta_case: BenchmarkCase, heta_response: QueryResponse) -> dict[str, EvaluationScore]:
    """The scores of this item's response by metric name, each an EvaluationScore."""
    from pytest_heta.plugin.asking import scores

    return scores(running_case(), heta_case, heta_response)


FIXTURES = ("heta_case", "heta_kb", "heta_response", "heta_scores")
