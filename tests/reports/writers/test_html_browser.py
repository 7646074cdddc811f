"""The page in a real Chromium: it opens, sorts, filters, drills down, compares, and stays silent."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_heta.records import EvaluationCaseResult, EvaluationReport, GoldLabel, RankedHit
from pytest_heta.reports.writers import write_report_file
from tests.reports.samples import errored, finished, not_run, report_of
from tests.reports.writers.browser import Browser, chromium

NASTY = "</script><img src=x onerror=document.title='broken'>"
METRICS = ("ndcg@1", "ndcg@10", *(f"recall@{k}" for k in (1, 3, 5, 10, 100)))


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """One browser for all tests here."""
    with chromium(tmp_path_factory.mktemp("profile")) as started:
        yield started


def _case(number: int, value: float, **fields: Any) -> EvaluationCaseResult:
    hits = (
        RankedHit(id="d0#0", document_id="d0", score=2.5, text="first text"),
        RankedHit(id="g#0", document_id=f"g{number}", score=1.25, text=NASTY),
    )
    gold = (GoldLabel(document_id=f"g{number}", original_id=f"gold/{number}"),)
    scores = {"ndcg@1": 0.0} | dict.fromkeys(METRICS[1:], value)
    return finished(
        f"case{number}",
        scores,
        **{"query": f"question {number} {NASTY}", "hits": hits, "gold": gold, "latency_ms": number + 0.5, **fields},
    )


def _report(name: str, values: list[float]) -> EvaluationReport:
    cases = [_case(number, value, labels={"kind": "ab"[number % 2]}) for number, value in enumerate(values)]
    return report_of([*cases, errored("broken", NASTY, query="why"), not_run("later")], METRICS, recipe={"name": name})


@pytest.fixture(scope="module")
def single(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of one report with 60 cases whose scores rise."""
    path = tmp_path_factory.mktemp("page") / "single.html"
    write_report_file(path, _report("vector", [number / 100 for number in range(60)]))
    return path


@pytest.fixture(scope="module")
def pair(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of a report against another: one win, one tie, one loss of three, the same failures."""
    path = tmp_path_factory.mktemp("page") / "pair.html"
    write_report_file(path, _report("vector", [0.9, 0.5, 0.1]), others=[_report("bm25", [0.2, 0.5, 0.4])])
    return path


def _column(browser: Browser, place: int) -> list[str]:
    return browser.texts(f"#table tbody tr:not(.detail) td:nth-child({place})")


def test_the_page_opens_without_a_word(browser: Browser, single: Path) -> None:
    """No console message, no request beside the file itself, no text that became markup."""
    browser.open(single)
    assert browser.errors() == []
    assert browser.run("return performance.getEntriesByType('resource').length") == 0
    assert browser.run("return document.images.length") == 0
    assert browser.run("return document.title") == "beir_scifact@test (official) with vector"
    assert _column(browser, 2)[0] == f"question 0 {NASTY}"


def test_a_browser_that_cannot_unpack_the_cases_says_so(browser: Browser, single: Path, tmp_path: Path) -> None:
    """All else is there; the table stays hidden."""
    page = single.read_text(encoding="utf-8")
    start = page.index('id="data">') + len('id="data">')
    (tmp_path / "damaged.html").write_text(f"{page[:start]}AAAA{page[start + 4 :]}", encoding="utf-8")
    browser.visit(tmp_path / "damaged.html")
    browser.wait("!document.getElementById('broken').hidden")
    assert browser.run("return document.getElementById('cases').hidden")
    assert "0.2902" in browser.texts("#means")[0]


def test_cases_come_in_pages_and_sort_by_every_column(browser: Browser, single: Path) -> None:
    """A click on a heading sorts, another turns the order; what has no value comes last either way."""
    browser.open(single)
    assert browser.texts("#count") == ["62 of 62 cases"]
    assert len(_column(browser, 1)) == 50
    browser.click("#next")
    assert _column(browser, 1)[0] == "case50"
    browser.click("th[data-key=score] button")
    assert _column(browser, 4)[:3] == ["0.0000", "0.0000", "0.0100"]
    browser.click("th[data-key=score] button")
    assert _column(browser, 1)[:2] == ["case59", "case58"]
    assert browser.run("return document.querySelector('th[data-key=score]').ariaSort") == "descending"
    browser.click("#next")
    assert _column(browser, 1)[-1] == "later"


def test_cases_are_filtered(browser: Browser, single: Path) -> None:
    """By words in query or id, by what became of them, and by slice."""
    browser.open(single)
    browser.keys("#text", "QUESTION case7 onerror")
    assert _column(browser, 1) == ["case7"]
    browser.run("document.getElementById('controls').reset()")
    browser.choose("#kind", "errored")
    assert _column(browser, 1) == ["broken"]
    assert browser.texts("#count") == ["1 of 62 cases"]
    browser.choose("#kind", "all cases")
    browser.choose("#slice", "kind=b")
    assert browser.texts("#count") == ["30 of 62 cases"]
    assert _column(browser, 1)[:2] == ["case1", "case3"]


def test_another_metric_shows_its_scores(browser: Browser, single: Path) -> None:
    """The page begins with the headline metric; the heading of the column names the chosen one."""
    browser.open(single)
    assert browser.texts("th[data-key=score]") == ["ndcg@10"]
    browser.choose("#metric", "ndcg@1")
    assert browser.texts("th[data-key=score]") == ["ndcg@1"]
    assert set(_column(browser, 4)) == {"0.0000"}


def test_a_case_opens_by_click_and_by_keyboard(browser: Browser, single: Path) -> None:
    """Expected document, hits with the expected one marked, scores; the error of one that failed."""
    browser.open(single)
    browser.click("#table tbody tr:nth-child(3) td:nth-child(2)")
    (detail,) = browser.texts(".detail")
    for text in ("gold/2", "expected documents at rank 2", "ndcg@10 0.0200", "first text"):
        assert text in detail
    assert browser.texts(".detail li.gold") == [f"gold/2 1.25 ← expected\n{NASTY}"]
    browser.keys(".open[data-order='2']", "\ue007")
    assert browser.texts(".detail") == []
    browser.keys(".open[data-order='2']", "\ue015")
    assert browser.run("return document.activeElement.textContent") == "case3"
    browser.keys("body", "/")
    assert browser.run("return document.activeElement.id") == "text"
    browser.choose("#kind", "errored")
    browser.click("tbody .open")
    assert f"QueryError: {NASTY}" in browser.texts(".detail")[0]
    assert browser.run("return document.title") == "beir_scifact@test (official) with vector"
    assert browser.errors() == []


def test_two_results_stand_side_by_side(browser: Browser, pair: Path) -> None:
    """Differences, wins and losses follow the chosen results; a case shows both rankings."""
    browser.open(pair)
    caption = "ndcg@10: vector, vector_search minus bm25, vector_search, case by case: 1 wins, 2 ties, 1 losses"
    assert browser.texts("#differences figcaption") == [caption]
    assert _column(browser, 6) == ["+0.7000", "0.0000", "-0.3000", "0.0000", ""]
    browser.choose("#kind", "losses")
    assert _column(browser, 1) == ["case2"]
    browser.choose("#shown", "bm25, vector_search")
    browser.choose("#against", "vector, vector_search")
    assert _column(browser, 1) == ["case0"]
    browser.click("tbody .open")
    assert browser.texts(".detail h3") == ["expected", "bm25, vector_search", "vector, vector_search"]
    assert browser.errors() == []


def test_it_is_dark_where_the_reader_wants_it_dark(browser: Browser, single: Path) -> None:
    """Paper and ink follow prefers-color-scheme, with a contrast of at least 7 to 1 in both."""
    browser.open(single)
    paper = {}
    for scheme in ("light", "dark"):
        feature = [{"name": "prefers-color-scheme", "value": scheme}]
        browser.command("Emulation.setEmulatedMedia", features=feature)
        colors = browser.run("const s = getComputedStyle(document.body); return [s.backgroundColor, s.color]")
        back, ink = (_luminance(json.loads(color[3:].replace("(", "[").replace(")", "]"))) for color in colors)
        paper[scheme] = back
        assert (max(back, ink) + 0.05) / (min(back, ink) + 0.05) >= 7
    browser.command("Emulation.setEmulatedMedia", features=[])
    assert paper["light"] > 0.9
    assert paper["dark"] < 0.05


def _luminance(color: list[int]) -> float:
    """Return the relative luminance as WCAG 2 defines it."""
    parts = [value / 255 for value in color]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_it_prints_without_its_controls(browser: Browser, single: Path) -> None:
    """On paper there is no form, and nothing is wider than the page."""
    browser.open(single)
    browser.command("Emulation.setEmulatedMedia", media="print")
    assert browser.run("return getComputedStyle(document.getElementById('controls')).display") == "none"
    assert browser.run("return document.documentElement.scrollWidth <= innerWidth")
    browser.command("Emulation.setEmulatedMedia", media="")


def test_a_narrow_window_does_not_scroll_sideways(browser: Browser, pair: Path) -> None:
    """Tables scroll by themselves; the page does not."""
    browser.open(pair)
    browser.command("Emulation.setDeviceMetricsOverride", width=420, height=800, deviceScaleFactor=1, mobile=False)
    assert browser.run("return document.documentElement.scrollWidth") <= 420
    browser.command("Emulation.clearDeviceMetricsOverride")
