"""The page around a report: templates that escape whatever they are given, colours and style inside the file."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from importlib.resources import files
from pathlib import Path
from typing import Any

from podium import __version__
from podium.errors import UsageError
from podium.tools.ranking.result import Interval, column_decimals

# What a section of a report shows: a plot, its words, and the same figures as a table.

HINT_LIMITS_REM = tuple(range(16, 77, 2))  # the widths that the page's stylesheet knows


@dataclass(frozen=True, kw_only=True)
class Table:
    """Plain words in rows; the first column names the row. The template escapes every cell."""

    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    caption: str = ""

    @property
    def hint(self) -> str:
        """Below which width of its frame a reader has to be told that the table goes on: estimated by its words."""
        widths = [
            max(len(cell) for cell in (*(row[column] for row in self.rows), self._longest_word(self.head[column])))
            for column in range(len(self.head))
        ]
        rem = sum(0.52 * width + 1.1 for width in widths)  # a figure's width in the tables' type, and the padding
        return next((f"hint-{limit}" for limit in HINT_LIMITS_REM if rem <= limit), "hint-always")

    @staticmethod
    def _longest_word(head: str) -> str:
        return max(head.split(), key=len, default="")


@dataclass(frozen=True, kw_only=True)
class Exhibit:
    """A plot (SVG that our writer has escaped) with a caption, and its table for those who cannot see it.

    `wide` plots take the whole width of the page, the others stand two by two where there is room. `file` is the
    name of the figure's files, without ending; empty where there are none.
    """

    title: str
    caption: str
    svg: str
    table: Table
    wide: bool = False
    file: str = ""


# The colours of a report, for light and dark paper: one place, so that a test can hold their contrast to WCAG 2.2.
#
# Hues follow Okabe and Ito, told apart with every common kind of colour blindness. No colour stands alone: teams
# differ by label, marker and dash, cells carry their figure or a sign.

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


# How text and figures are shown on a page and in a plot.

NOTHING = "–"  # what stands where there is no figure


def on_one_line(text: str, longest: int | None = None) -> str:
    """`text` without control characters, changes of writing direction or line breaks; its end cut where too long.

    It still has to be escaped: this is about what a reader sees, not about markup.
    """
    printable = "".join(c if c.isprintable() else _escaped(c) for c in text)
    line = " ".join(printable.split()) or NOTHING
    if longest is None or len(line) <= longest:
        return line
    return f"{line[: longest - 1].rstrip()}…"


def _escaped(character: str) -> str:
    """A space for what breaks lines, the escape of anything else that would not show or would turn the text around."""
    return " " if character.isspace() else character.encode("unicode_escape").decode("ascii")


def figure(value: float | None, digits: int = 4) -> str:
    """A figure with `digits` significant digits, whole numbers as they are, a true minus sign."""
    if value is None or math.isnan(value):
        return NOTHING
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    if value == int(value) and abs(value) < 1e6:
        text = f"{int(value)}"
    elif 1e-4 <= abs(value) < 1e6:
        decimals = max(0, digits - 1 - math.floor(math.log10(abs(value))))
        text = f"{value:.{decimals}f}"
    else:
        text = f"{value:.{digits - 1}e}"
    return text.replace("-", "−")


def tick(value: float) -> str:
    """A figure on an axis, without trailing zeros."""
    return f"{value:g}".replace("-", "−")


def telling(values: Iterable[float | None]) -> Callable[[float | None], str]:
    """How to print a column: with as many decimals as it takes to tell its different figures apart, two to six.

    A table whose neighbours read the same but rank differently would look wrong.
    """
    return partial(fixed, decimals=column_decimals(values))


def fixed(value: float | None, decimals: int) -> str:
    """A figure with a fixed number of decimals: for columns whose figures are compared."""
    if value is None or not math.isfinite(value) or abs(value) >= 1e9:
        return figure(value)
    text = f"{value:.{decimals}f}"
    return text.replace("-", "−") if float(text) else text.removeprefix("-")


def interval_words(interval: Interval | None, decimals: int) -> str:
    """`0.81 to 0.86`; nothing where there is none."""
    return "" if interval is None else f"{fixed(interval[0], decimals)} to {fixed(interval[1], decimals)}"


def with_interval(value: float | None, interval: Interval | None, decimals: int) -> str:
    """`0.83 (0.81 to 0.86)`."""
    words = interval_words(interval, decimals)
    return f"{fixed(value, decimals)} ({words})" if words else fixed(value, decimals)


def percent(share: float | None) -> str:
    """A share as a percentage; a share above 0 is never printed as 0 %, one below 1 never as 100 %."""
    if share is None or math.isnan(share):
        return NOTHING
    if 0 < share < 0.005:
        return "<1 %"
    if 0.995 < share < 1:
        return ">99 %"
    return f"{100 * share:.0f} %"


def probability(p: float | None) -> str:
    """A p value as papers print it."""
    if p is None or math.isnan(p):
        return NOTHING
    if p < 0.001:
        return "<0.001"
    return f"{p:.3f}"


def sentence(words: str) -> str:
    """Words with a capital at the start and a full stop at the end."""
    words = words.strip()
    return words[:1].upper() + words[1:] + ("" if words.endswith((".", "!", "?")) else ".")


def count(number: int, one: str, many: str | None = None) -> str:
    """`1 case`, `2 cases`, `1,000 cases`."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def listed(words: list[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} and {words[-1]}"


def render(template: str, **content: Any) -> str:
    """The whole HTML file. Nothing is marked as safe but the stylesheet and what our SVG writer has escaped."""
    from markupsafe import Markup

    page: str = (
        _environment()
        .get_template(template)
        .render(
            stylesheet=Markup(_stylesheet()),  # noqa: S704  (our own file)
            podium_version=__version__,
            **content,
        )
    )
    return page


def write_page(page: str, path: Path) -> None:
    """Write the file, its folder too where there is none."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(page, encoding="utf-8", newline="\n")
    except OSError as error:
        raise UsageError(f"The report cannot be written to {path}: {error.strerror}.") from None


@cache
def _environment() -> Any:
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        loader=PackageLoader("podium.tools.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["line"] = on_one_line
    environment.filters["drawn"] = Markup
    return environment


@cache
def _stylesheet() -> str:
    style = files("podium.tools.report").joinpath("templates/page.css").read_text("utf-8")
    hints = "".join(
        f"@container (max-width:{limit}rem){{.scroll.hint-{limit}::before{{display:block}}}}\n"
        for limit in HINT_LIMITS_REM
    )
    return f"{stylesheet_variables()}{plot_stylesheet()}{style}{hints}"


@cache
def plot_stylesheet() -> str:
    """The rules of the plots, with variables for colours."""
    style = files("podium.tools.report").joinpath("templates/plots.css").read_text("utf-8")
    series = "".join(
        f".fill-series-{n}{{fill:var(--series-{n})}}.line-series-{n},.many-series-{n}{{stroke:var(--series-{n})}}\n"
        for n in range(1, SERIES + 1)
    )
    return f"{style}{series}"
