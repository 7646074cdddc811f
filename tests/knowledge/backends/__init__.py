"""Tests of knowledge bases in real engines, against real servers."""
