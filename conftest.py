"""Root conftest: only what pytest demands at the root."""

pytest_plugins = ["pytester"]
