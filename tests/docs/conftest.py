"""The user's project in which the examples run."""

from tests.plugin.conftest import project

__all__ = ["project"]
