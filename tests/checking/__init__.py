"""Tests of pytest_heta.checking."""
