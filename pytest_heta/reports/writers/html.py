"""The report as one HTML file: needs nothing beside it, no network, and shows foreign text as text only."""

from __future__ import annotations

import base64
from bisect import bisect_left
from collections.abc import Sequence
from functools import cache
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from string import Template

from pytest_heta.records import EvaluationReport
from pytest_heta.reports.slices import known_labels
from pytest_heta.reports.text import benchmark_title, recipe_name
from pytest_heta.reports.whole_file import write_whole
from pytest_heta.reports.writers.elements import element, join
from pytest_heta.reports.writers.entrants import Entrant, entrants
from pytest_heta.reports.writers.html_data import DETAILS, PageData
from pytest_heta.reports.writers.html_sections import (
    charts_section,
    comparison_section,
    errors_section,
    gates_section,
    header,
    means_section,
    origin_section,
    slices_section,
)

LIMIT = 2_000_000
"""The bytes that a page may have before it keeps less of each ranking."""

_MOST_SLICES = 40
# Holds what is escaped in all foreign text, so that none can be taken for it.
_DATA = "<!--data-->"


def write_html(path: Path, report: EvaluationReport, others: Sequence[EvaluationReport]) -> tuple[Path, ...]:
    """Write the report as HTML.

    Raises:
        UsageError: The other reports are on another benchmark.
        ReportError: The file cannot be written.
    """
    write_whole(path, (html_page(report, others).encode("utf-8", "replace"),))
    return (path,)


def html_page(report: EvaluationReport, others: Sequence[EvaluationReport] = (), limit: int = LIMIT) -> str:
    """Return the page. So that it stays below ``limit`` bytes, it keeps as few hits of each case as it must.

    Headline numbers, gates, charts, slices and comparison are plain HTML and SVG; a script adds the table of cases. The
    page's security policy allows this script and style sheet by their digests, and nothing else.

    Raises:
        UsageError: The other reports are on another benchmark.
    """
    found = entrants(report, others)
    sliced = slice_labels(report)
    page = _page(report, found, sliced)
    room = limit - len(page.encode("utf-8", "replace"))
    packed = cache(PageData(found, sliced).packed)
    fits = bisect_left(DETAILS, True, key=lambda detail: len(packed(detail)) < room)
    return page.replace(_DATA, packed(DETAILS[min(fits, len(DETAILS) - 1)]))


def slice_labels(report: EvaluationReport) -> list[str]:
    """Return the labels by which cases can be grouped: those with 2 to 40 different values."""
    labels = {(case.unit_id, case.case_id): case.labels for case in report.cases}.values()
    values = {name: {str(one.get(name)) for one in labels} for name in known_labels(labels)}
    return [name for name, different in values.items() if 2 <= len(different) <= _MOST_SLICES]


def _page(report: EvaluationReport, found: Sequence[Entrant], sliced: Sequence[str]) -> str:
    style, script = _template("page.css"), _template("page.js")
    title = f"{benchmark_title(report)} with {recipe_name(report)}"
    sections = (
        header(report, found),
        gates_section(report),
        means_section(found),
        comparison_section(found),
        charts_section(found),
        slices_section(found, sliced),
        errors_section(report),
    )
    return Template(_template("page.html")).substitute(
        title=element("title", title),
        policy=f"default-src 'none'; style-src {_digest(style)}; script-src {_digest(script)}; base-uri 'none'",
        style=style,
        sections=join(sections),
        origin=origin_section(report),
        data=_DATA,
        script=script,
    )


@cache
def _template(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(sha256(text.encode()).digest()).decode()}'"
