"""Retrieval and RAG benchmarks as pytest suites."""
