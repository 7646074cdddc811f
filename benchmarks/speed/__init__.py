"""Measurements, as commands that anyone can run."""
