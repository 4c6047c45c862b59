"""The colours of a report, for light and dark paper: one place, so that a test can hold their contrast to WCAG 2.2.

Hues follow Okabe and Ito, told apart with every common kind of colour blindness. No colour stands alone: teams differ
by label, marker and dash, cells carry their figure or a sign.
"""

from collections.abc import Mapping

LIGHT: Mapping[str, str] = {
    "paper": "#ffffff",
    "panel": "#f4f6f9",
    "ink": "#1a2027",
    "quiet": "#55606d",
    "grid": "#dbe1e8",
    "accent": "#0072b2",
    "accent-soft": "#cfe4f3",
    "bad": "#a84300",
    "bad-soft": "#fbe6d9",
    "good": "#00785a",
    "gold": "#a87900",
    "silver": "#6c7886",
    "bronze": "#9c5a28",
    "on-medal": "#ffffff",
    "series-1": "#0072b2",
    "series-2": "#c45500",
    "series-3": "#00785a",
    "series-4": "#b0568a",
    "series-5": "#8a6d00",
    "series-6": "#6a51a3",
    "series-7": "#3a3f46",
}

DARK: Mapping[str, str] = {
    "paper": "#12161c",
    "panel": "#1b212a",
    "ink": "#e9edf2",
    "quiet": "#a7b1bd",
    "grid": "#343e4a",
    "accent": "#56b4e9",
    "accent-soft": "#173b52",
    "bad": "#ff9d5c",
    "bad-soft": "#43261a",
    "good": "#3ed1a5",
    "gold": "#f2c94c",
    "silver": "#c3cbd4",
    "bronze": "#d9925b",
    "on-medal": "#12161c",
    "series-1": "#56b4e9",
    "series-2": "#ff9d5c",
    "series-3": "#3ed1a5",
    "series-4": "#e49ac4",
    "series-5": "#e6d36a",
    "series-6": "#b7a1f0",
    "series-7": "#dde3ea",
}

SERIES = 7
"""How many lines have a colour, a marker and a dash of their own; the others are drawn in grey behind them."""


def stylesheet_variables() -> str:
    """The colours as CSS custom properties; paper is light whatever the screen was."""

    def block(colours: Mapping[str, str]) -> str:
        return ":root{" + "".join(f"--{name}:{colour};" for name, colour in colours.items()) + "}"

    return f"{block(LIGHT)}\n@media screen and (prefers-color-scheme: dark){{{block(DARK)}}}\n"
