"""Numbers, times and names as a reader of a terminal wants them. ASCII only, whatever the terminal can show."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

from pytest_heta.records import EvaluationReport

ABSENT = "-"


def number(value: float) -> str:
    """Return the shortest text that reads back as exactly ``value``, whole numbers without a point."""
    return repr(float(value)).removesuffix(".0")


def tell_apart(value: float, limit: float, digits: int = 3) -> tuple[str, str]:
    """Return both numbers with ``digits`` decimals, or as many more as it takes for unequal ones to look unequal."""
    if value == limit:
        return f"{value:.{digits}f}", f"{limit:.{digits}f}"
    for decimals in range(digits, 18):
        shown = f"{value:.{decimals}f}", f"{limit:.{decimals}f}"
        if float(shown[0]) != float(shown[1]):  # not the texts: "-0.000" and "0.000" look alike
            return shown
    return repr(value), repr(limit)


def seconds(value: float) -> str:
    """Return a duration with about three digits: ``0.42 s``, ``12.3 s``, ``3 min 05 s``, ``2 h 07 min``."""
    if value < 9.995:
        return f"{value:.2f} s"
    if value < 59.95:
        return f"{value:.1f} s"
    minutes, rest = divmod(round(value), 60)
    if minutes < 60:
        return f"{minutes} min {rest:02d} s"
    return f"{minutes // 60} h {minutes % 60:02d} min"


def milliseconds(value: float | None) -> str:
    """Return a time with about three digits: ``0.42``, ``12.3``, ``1234``; ``-`` where there is none."""
    if value is None:
        return ABSENT
    return f"{value:.2f}" if value < 9.995 else f"{value:.1f}" if value < 99.95 else f"{value:.0f}"


def mean(value: float | None) -> str:
    """Return a mean with four decimals; ``-`` where there is none."""
    return ABSENT if value is None else f"{value:.4f}"


def plural(count: int, noun: str) -> str:
    """Return ``1 case``, ``2 cases``."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def listed(parts: Sequence[str]) -> str:
    """Join what is not empty with commas."""
    return ", ".join(part for part in parts if part)


def some(names: Sequence[str], most: int = 5) -> str:
    """Name the first few and count the rest."""
    rest = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + rest


def one_line(text: str) -> str:
    """Return foreign text without line breaks, escape sequences or anything else that could garble a terminal."""
    return "".join(char if char.isprintable() else "?" for char in " ".join(text.split()))


def cells(text: str) -> int:
    """Return how many columns of a terminal the text takes: wide characters two, combining ones none."""
    return sum(
        0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text
    )


def fit(text: str, width: int) -> str:
    """Return ``text`` as it is, or its beginning and ``...`` where it takes more than ``width`` columns."""
    if cells(text) <= width:
        return text
    shown, used = "", 0
    for char in text:
        used += cells(char)
        if used > width - 3:
            break
        shown += char
    return shown.rstrip() + "..."[:width]


def recipe_name(report: EvaluationReport) -> str:
    """Return the name that the recipe gives itself, or that of the knowledge base."""
    return str(report.recipe.get("name") or report.knowledge_base_name)


def benchmark_title(report: EvaluationReport) -> str:
    """Return ``beir_scifact@test (official)``."""
    return f"{report.benchmark.name}@{report.benchmark.split} ({report.benchmark.version})"
