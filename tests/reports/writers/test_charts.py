"""Charts in SVG."""

from __future__ import annotations

import re

import pytest

from pytest_heta.reports.writers.charts import count_bins, curves, histogram, score_edges, time_edges


def test_every_value_is_in_one_bin() -> None:
    """A bin holds its lower edge, the last one its upper edge too; what is beyond belongs to the outer bins."""
    assert count_bins([-1, 0, 0.4, 0.5, 0.99, 1.0, 7], [0, 0.5, 1.0]) == [3, 4]


def test_edges_hold_all_values() -> None:
    """Scores have [0, 1] at least; times have bins of equal ratio."""
    assert score_edges([0.5], bins=2) == [0.0, 0.5, 1.0]
    assert score_edges([-1.0, 3.0], bins=2) == [-1.0, 1.0, 3.0]
    assert time_edges([1.0, 100.0], bins=2) == pytest.approx([1, 10, 100])
    assert time_edges([0.0], bins=1) == pytest.approx([0.001, 0.0011])


def test_bars_are_as_high_as_their_counts() -> None:
    """The highest fills the height; each says what it counts, in text."""
    chart = histogram("t", [("one <x>", [0.1, 0.2, 0.7]), ("two", [0.9])], [0, 0.5, 1], str)
    heights = [float(height) for height in re.findall(r'height="([\d.]+)"', chart)]
    assert heights == pytest.approx([max(heights), max(heights) / 2, max(heights) / 2])
    assert "<title>one &lt;x&gt;: 2 from 0 to 0.5</title>" in chart


def test_a_curve_rises_with_its_values_and_skips_what_is_absent() -> None:
    """On a logarithmic axis of depths, from the bottom at 0 to the top at the axis' end."""
    chart = curves("recall at k", [1, 10, 100], [("bm25", [0.0, None, 1.0])])
    (points,) = re.findall(r'points="([^"]*)"', chart)
    assert points == "40.0,160.0 300.0,12.0"
    assert "bm25: 1.0000 @100" in chart
    assert "@10<" in chart
