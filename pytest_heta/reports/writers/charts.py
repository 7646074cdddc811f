"""Small charts in SVG: histograms and curves, a colour for each result, readable without any script."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Sequence
from itertools import pairwise

from pytest_heta.reports.writers.elements import Html, element, join

WIDTH, HEIGHT = 320, 190
_LEFT, _RIGHT, _TOP, _BOTTOM = 40, 20, 12, 30
_INNER, _TALL = WIDTH - _LEFT - _RIGHT, HEIGHT - _TOP - _BOTTOM
SERIES = 6
"""How many colours the style sheet has; further results begin anew."""

Series = tuple[str, Sequence[float]]


def histogram(title: str, series: Sequence[Series], edges: Sequence[float], label: Callable[[float], str]) -> Html:
    """Return bars that count the values between ``edges`` (ascending, the last bin closed), one colour a series."""
    counts = [count_bins(values, edges) for _, values in series]
    top = max(max(row, default=0) for row in counts) or 1
    bins = len(edges) - 1
    room = _INNER / bins
    bar = max((room - 2) / len(series), 0.5)
    bars = [
        element(
            "rect",
            element("title", f"{name}: {count} from {label(low)} to {label(high)}"),
            x=_LEFT + place * room + 1 + number * bar,
            y=_TOP + _TALL * (1 - count / top),
            width=bar,
            height=_TALL * count / top,
            class_=series_class(number),
        )
        for number, ((name, _), row) in enumerate(zip(series, counts, strict=True))
        for place, (count, (low, high)) in enumerate(zip(row, pairwise(edges), strict=True))
        if count
    ]
    every = max(1, round(bins / 5))
    ticks = [
        (_LEFT + place * room, label(edge)) for place, edge in enumerate(edges) if place % every == 0 or place == bins
    ]
    return _chart(title, [(0.0, "0"), (1.0, str(top))], ticks, bars)


def count_bins(values: Sequence[float], edges: Sequence[float]) -> list[int]:
    """Return how many values each bin holds; values beyond the edges belong to the outer bins."""
    counts, inner = [0] * (len(edges) - 1), edges[1:-1]
    for value in values:
        counts[bisect_right(inner, value)] += 1
    return counts


def score_edges(values: Sequence[float], bins: int = 10) -> list[float]:
    """Return equal bins over [0, 1], or over the range of the values where that is wider."""
    low, high = min(0.0, *values, 0.0), max(1.0, *values, 1.0)
    return [low + (high - low) * place / bins for place in range(bins + 1)]


def time_edges(values: Sequence[float], bins: int = 15) -> list[float]:
    """Return bins of equal ratio between the shortest and the longest time."""
    low = max(min(values), 1e-3)
    high = max(*values, low * 1.1)
    return [low * (high / low) ** (place / bins) for place in range(bins + 1)]


def curves(title: str, depths: Sequence[int], series: Sequence[tuple[str, Sequence[float | None]]]) -> Html:
    """Return a line a series over the depths k, on a logarithmic axis; means, from 0 to at least the highest."""
    known = [value for _, values in series for value in values if value is not None]
    top = _ceiling(max(known, default=1.0))
    span = math.log(depths[-1] / depths[0]) or 1.0
    places = [_LEFT + _INNER * math.log(depth / depths[0]) / span for depth in depths]
    lines = [
        _curve(number, name, [(x, value) for x, value in zip(places, values, strict=True)], top, depths)
        for number, (name, values) in enumerate(series)
    ]
    ticks = [(place, f"@{depth}") for place, depth in zip(places, depths, strict=True)]
    return _chart(title, [(0.0, "0"), (0.5, f"{top / 2:.3g}"), (1.0, f"{top:.3g}")], ticks, lines)


def _ceiling(value: float) -> float:
    """Return the end of an axis: the next of 0.1, 0.2, 0.4, …, 1; beyond 1 the value itself."""
    return next((end for end in (0.1, 0.2, 0.4, 0.6, 0.8, 1.0) if value <= end), value)


def _curve(
    number: int, name: str, points: Sequence[tuple[float, float | None]], top: float, depths: Sequence[int]
) -> Html:
    placed = [
        (x, _TOP + _TALL * (1 - y / top), y, k) for (x, y), k in zip(points, depths, strict=True) if y is not None
    ]
    line = element(
        "polyline",
        points=" ".join(f"{x:.1f},{y:.1f}" for x, y, _, _ in placed),
        class_=f"line {series_class(number)}",
    )
    dots = (
        element("circle", element("title", f"{name}: {value:.4f} @{k}"), cx=x, cy=y, r=3, class_=series_class(number))
        for x, y, value, k in placed
    )
    return join([line, *dots])


def _chart(
    title: str, levels: Sequence[tuple[float, str]], ticks: Sequence[tuple[float, str]], marks: Sequence[Html]
) -> Html:
    """Return a figure: grid lines at ``levels`` (shares of the height), labels at ``ticks``, marks over them."""
    grid = []
    for share, text in levels:
        y = _TOP + _TALL * (1 - share)
        grid.append(element("line", x1=_LEFT, x2=WIDTH - _RIGHT, y1=y, y2=y, class_="grid"))
        grid.append(element("text", text, x=_LEFT - 6, y=y + 4, text_anchor="end"))
    labels = [element("text", text, x=x, y=HEIGHT - 10, text_anchor="middle") for x, text in ticks]
    picture = element("svg", *grid, *labels, *marks, viewBox=f"0 0 {WIDTH} {HEIGHT}", role="img", aria_label=title)
    return element("figure", element("figcaption", title), picture)


def series_class(number: int) -> str:
    """Return the class that gives the marks of a series their colour."""
    return f"series{number % SERIES}"


def legend(names: Sequence[str]) -> Html:
    """Return which colour belongs to which result."""
    items = (
        element("li", element("span", class_=f"swatch {series_class(number)}"), name)
        for number, name in enumerate(names)
    )
    return element("ul", *items, class_="legend")
