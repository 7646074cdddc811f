"""Suites, sample data and measurements."""
