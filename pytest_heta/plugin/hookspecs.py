"""The hooks of pytest-heta: what a conftest or another plugin can add or decide."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pytest_heta.benchmarks.registry import Family


@pytest.hookspec
def pytest_heta_benchmarks(config: pytest.Config) -> Mapping[str, Family] | None:
    """Return benchmark families by name, for ``--heta-benchmark=NAME:VARIANT``.

    Called before the first benchmark is resolved, in every process. A family of this hook comes before an installed or
    built-in one of the same name. It is called as ``family(variant, *, split, options, root, download)``.
    """
