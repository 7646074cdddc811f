"""Numbers, times and foreign text for a terminal."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_heta.reports.text import cells, fit, milliseconds, number, one_line, plural, seconds, tell_apart


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0.00 s"),
        (9.994, "9.99 s"),
        (9.996, "10.0 s"),
        (59.94, "59.9 s"),
        (59.96, "1 min 00 s"),
        (7620.0, "2 h 07 min"),
    ],
)
def test_seconds_have_about_three_digits(value: float, text: str) -> None:
    """The unit grows with the duration, and no rounding gives 60 seconds."""
    assert seconds(value) == text


@pytest.mark.parametrize(
    ("value", "text"), [(None, "-"), (0.123, "0.12"), (9.996, "10.0"), (99.96, "100"), (1234.5, "1234")]
)
def test_milliseconds_have_about_three_digits(value: float | None, text: str) -> None:
    """Fewer decimals as the time grows, and a dash for none."""
    assert milliseconds(value) == text


def test_numbers_are_exact_and_short() -> None:
    """A threshold is shown as it was meant: no rounding, and no point where there is nothing behind it."""
    assert [number(value) for value in (0.65, 60.0, 0.1 + 0.2, -1.0)] == ["0.65", "60", "0.30000000000000004", "-1"]


def test_unequal_numbers_get_the_digits_they_need() -> None:
    """Three decimals, or more; below all decimals the exact form; equal ones stay short."""
    assert tell_apart(0.2, 0.35) == ("0.200", "0.350")
    assert tell_apart(0.34996, 0.35) == ("0.34996", "0.35000")
    assert tell_apart(1e-300, 0.0) == ("1e-300", "0.0")
    assert tell_apart(-1e-5, 0.0) == ("-0.00001", "0.00000")
    assert tell_apart(2.0, 2.0, 0) == ("2", "2")


def test_counts_agree_with_their_noun() -> None:
    """One case, but no cases and two cases."""
    assert [plural(count, "case") for count in (0, 1, 2)] == ["0 cases", "1 case", "2 cases"]


def test_foreign_text_cannot_garble_a_terminal() -> None:
    """Line breaks become spaces, escape sequences and other control characters question marks."""
    assert one_line(" a\n\tb\u2028c \x1b[31mred\x00 ") == "a b c ?[31mred?"


def test_wide_characters_take_two_columns_and_combining_ones_none() -> None:
    """Chinese is as wide as it looks, and so is an accent of its own."""
    assert (cells("中文"), cells("e\u0301"), cells("abc")) == (4, 1, 3)


@given(st.text(st.sampled_from("ab 中\u0301"), max_size=20), st.integers(3, 20))
def test_a_fitted_text_never_takes_more_than_its_columns(text: str, width: int) -> None:
    """What fits is left alone; what does not ends in dots and begins as it did."""
    shown = fit(text, width)
    assert cells(shown) <= width
    assert shown == text if cells(text) <= width else text.startswith(shown.removesuffix("..."))
