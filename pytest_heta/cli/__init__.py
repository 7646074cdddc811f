"""The commands of ``python -m pytest_heta``, one module each."""
