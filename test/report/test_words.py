"""Figures and words as a reader sees them."""

import math

import pytest

from podium.tools.ranking.wording import (
    column_decimals,
    count,
    figure,
    fixed,
    listed,
    on_one_line,
    percent,
    probability,
    sentence,
    tick,
)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0.86875, "0.8688"),
        (12.0, "12"),
        (0.0, "0"),
        (-0.5, "−0.5000"),
        (1234.5678, "1235"),
        (0.00001234, "1.234e−05"),
        (1e9, "1.000e+09"),
        (None, "–"),
        (math.nan, "–"),
        (math.inf, "∞"),
        (-math.inf, "−∞"),
    ],
)
def test_four_significant_digits(value: float | None, shown: str) -> None:
    assert figure(value) == shown


def test_figures_without_measure_do_not_fill_a_page() -> None:
    assert fixed(1e200, 4) == "1.000e+200"
    assert len(fixed(1e300, column_decimals([1e300, 1.5]))) < 12


def test_fixed_decimals_never_show_minus_zero() -> None:
    assert [fixed(value, 2) for value in (-0.001, 1.005, -2.5, None)] == ["0.00", "1.00", "−2.50", "–"]


@pytest.mark.parametrize(
    ("share", "shown"),
    [(0, "0 %"), (0.001, "<1 %"), (0.4999, "50 %"), (0.9999, ">99 %"), (1, "100 %"), (None, "–")],
)
def test_a_small_chance_is_not_none_and_a_large_one_not_certainty(share: float | None, shown: str) -> None:
    assert percent(share) == shown


def test_p_values_as_papers_print_them() -> None:
    assert [probability(p) for p in (0.0001, 0.0111271, 1.0, None)] == ["<0.001", "0.011", "1.000", "–"]


def test_a_column_shows_enough_decimals_to_tell_its_figures_apart() -> None:
    values = [83.3321, 83.3324, 10.0]
    assert [fixed(value, column_decimals(values)) for value in values] == ["83.3321", "83.3324", "10.0000"]
    assert fixed(91.65, column_decimals([91.65, 77.03])) == "91.65"
    assert fixed(3.0, column_decimals([1.0, 3.0])) == "3"
    assert fixed(None, column_decimals([None])) == "–"


def test_text_of_strangers_stays_on_one_line_and_keeps_its_direction() -> None:
    assert on_one_line("a\nb\t c\u2028d") == "a b c d"
    assert on_one_line("evil\u202egnp.exe") == "evil\\u202egnp.exe"
    assert on_one_line("nul\x00 bell\x07") == "nul\\x00 bell\\x07"
    assert on_one_line("\ud800") == "\\ud800"
    assert on_one_line(" \n ") == "–"
    assert on_one_line("a rather long name", 10) == "a rather…"
    assert on_one_line("x" * 5000) == "x" * 5000


def test_plurals_lists_sentences_and_ticks() -> None:
    assert [count(1, "case"), count(1000, "case"), count(2, "entry", "entries")] == [
        "1 case",
        "1,000 cases",
        "2 entries",
    ]
    assert [listed([]), listed(["a"]), listed(["a", "b", "c"])] == ["", "a", "a, b and c"]
    assert sentence("teams are ranked") == "Teams are ranked."
    assert sentence("Done.") == "Done."
    assert [tick(0.2), tick(-1.0), tick(0.30000000000000004)] == ["0.2", "−1", "0.3"]
