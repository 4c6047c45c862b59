"""Contrast of every colour a report uses, by the formulas of WCAG 2.2 and, for colour blindness, of Machado et al."""

import itertools
import math
from collections.abc import Mapping

import numpy as np
import pytest

from podium.errors import listed
from podium.tools.ranking.wording import (
    column_decimals,
    count,
    figure,
    fixed,
    on_one_line,
    probability,
)
from podium.tools.report.final_table import HEAT
from podium.tools.report.page import stylesheet_variables
from podium.tools.report.vega import DARK, LIGHT, SERIES, STRONGEST

THEMES = pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
TEXT, LARGE_TEXT_OR_SHAPE = 4.5, 3.0


def channels(colour: str) -> np.ndarray:
    return np.array([int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)])


def linear(colour: np.ndarray) -> np.ndarray:
    return np.where(colour <= 0.04045, colour / 12.92, ((colour + 0.055) / 1.055) ** 2.4)


def contrast(one: np.ndarray, other: np.ndarray) -> float:
    weights = np.array([0.2126, 0.7152, 0.0722])
    bright, dim = sorted((float(linear(one) @ weights), float(linear(other) @ weights)), reverse=True)
    return (bright + 0.05) / (dim + 0.05)


def test_the_formula_gives_the_known_extremes() -> None:
    assert contrast(channels("#000000"), channels("#ffffff")) == pytest.approx(21)
    assert contrast(channels("#777777"), channels("#ffffff")) == pytest.approx(4.48, abs=0.01)


PAPERS, MEDALS = ("paper", "panel"), ("gold", "silver", "bronze")
SERIES_COLOURS = [f"series-{number}" for number in range(1, SERIES + 1)]
CONTRASTS = [
    *((ink, paper, TEXT) for ink in ("ink", "quiet", "accent", "bad") for paper in PAPERS),
    *(("ink", tint, TEXT) for tint in ("accent-soft", "bad-soft")),
    *((shape, paper, LARGE_TEXT_OR_SHAPE) for shape in SERIES_COLOURS for paper in PAPERS),
    *(("on-medal", medal, TEXT) for medal in MEDALS),
    *(("ink", f"h{level}", TEXT) for level in range(1, HEAT + 1)),
    *(("at", ground, TEXT) for ground in ("paper", "at-soft")),
]


@THEMES
@pytest.mark.parametrize(("colour", "ground", "least"), CONTRASTS)
def test_text_and_shapes_stand_out_from_their_ground(
    theme: Mapping[str, str], colour: str, ground: str, least: float
) -> None:
    assert contrast(channels(theme[colour]), channels(theme[ground])) >= least


@THEMES
@pytest.mark.parametrize("opacity", np.linspace(0, STRONGEST, 6))
def test_text_on_a_cell_is_legible(theme: Mapping[str, str], opacity: float) -> None:
    cell = opacity * channels(theme["accent"]) + (1 - opacity) * channels(theme["panel"])
    assert contrast(channels(theme["ink"]), cell) >= TEXT


# Machado, Oliveira, Fernandes (2009), severity 1.0
BLINDNESS = {
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
}


@THEMES
@pytest.mark.parametrize("kind", BLINDNESS)
def test_the_first_three_lines_differ_for_the_colour_blind(theme: Mapping[str, str], kind: str) -> None:
    """The medal ranks by colour alone; the further lines also by marker and dash."""
    seen = [
        np.clip(np.array(BLINDNESS[kind]) @ linear(channels(theme[f"series-{n}"])), 0, 1) ** (1 / 2.2)
        for n in (1, 2, 3)
    ]
    for one, other in itertools.combinations(seen, 2):
        assert np.linalg.norm(one - other) > 0.15


def test_both_themes_name_the_same_colours_and_paper_is_light() -> None:
    assert LIGHT.keys() == DARK.keys()
    style = stylesheet_variables()
    light, dark = style.split("@media")
    assert f"--paper:{LIGHT['paper']}" in light
    assert dark.startswith(" screen and (prefers-color-scheme: dark)")
    assert f"--paper:{DARK['paper']}" in dark


# Figures and words as a reader sees them.


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


def test_fixed_decimals_never_show_minus_zero_or_fill_a_page() -> None:
    assert [fixed(value, 2) for value in (-0.001, 1.005, -2.5, None)] == ["0.00", "1.00", "−2.50", "–"]
    assert fixed(1e200, 4) == "1.000e+200"
    assert len(fixed(1e300, column_decimals([1e300, 1.5]))) < 12


def test_p_values_as_papers_print_them() -> None:
    assert [probability(p) for p in (0.0001, 0.0111271, 1.0, None)] == ["<0.001", "0.011", "1.000", "–"]


def test_text_of_strangers_stays_on_one_line_and_keeps_its_direction() -> None:
    assert on_one_line("a\nb\t c\u2028d") == "a b c d"
    assert on_one_line("evil\u202egnp.exe") == "evil\\u202egnp.exe"
    assert on_one_line("nul\x00 bell\x07") == "nul\\x00 bell\\x07"
    assert on_one_line("\ud800") == "\\ud800"
    assert on_one_line(" \n ") == "–"
    assert on_one_line("a rather long name", 10) == "a rat…name"
    assert on_one_line("x" * 5000) == "x" * 5000


def test_plurals_and_lists() -> None:
    assert (count(1, "case"), count(1000, "case")) == ("1 case", "1,000 cases")
    assert count(2, "entry", "entries") == "2 entries"
    assert [listed([]), listed(["a"]), listed(["a", "b", "c"])] == ["", "a", "a, b and c"]
