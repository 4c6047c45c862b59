"""The page around a report: what its sections show, its colours, and templates that escape everything.

The colours and the style are part of the HTML file.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from podium import __version__
from podium.errors import UsageError
from podium.tools.ranking.wording import on_one_line

if TYPE_CHECKING:
    from jinja2 import Environment

HINT_LIMITS_REM = tuple(range(16, 77, 2))
"""Widths of a table's frame for which the stylesheet has a rule."""

SERIES = 7
"""How many lines have their own colour, marker and dash; the others are drawn in grey behind them."""


@dataclass(frozen=True, kw_only=True)
class Table:
    """Rows of plain text; the first column names the row. The template escapes every cell."""

    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    caption: str = ""

    @property
    def hint(self) -> str:
        """The CSS class for the width below which a hint says that the table scrolls, estimated from its text."""
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
    """A plot (SVG that our writer has escaped) with a caption, and its figures as a table for those who cannot see it.

    `wide` plots take the whole width of the page, the others are shown two by two where there is room. `file` is the
    name of the figure's files, without suffix; empty where there are none.
    """

    title: str
    caption: str
    svg: str
    table: Table
    wide: bool = False
    file: str = ""


# The colours, for light and dark screens: in one place, so that a test can check their contrast against WCAG 2.2.
#
# Hues follow Okabe and Ito and can be told apart with every common kind of colour blindness. Nothing is shown by colour
# alone: teams also differ by label, marker and dash, and cells contain their figure or a sign.

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


def stylesheet_variables() -> str:
    """The colours as CSS custom properties; printed pages are always light."""

    def block(colours: Mapping[str, str]) -> str:
        return ":root{" + "".join(f"--{name}:{colour};" for name, colour in colours.items()) + "}"

    return f"{block(LIGHT)}\n@media screen and (prefers-color-scheme: dark){{{block(DARK)}}}\n"


# The HTML file.


def render(template: str, **content: Any) -> str:
    """The whole HTML file. Only the stylesheet and SVG that our writer has escaped are marked as safe."""
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
    """Write the file, and create its folder if needed."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(page, encoding="utf-8", newline="\n")
    except OSError as error:
        raise UsageError(f"The report cannot be written to {path}: {error.strerror}.") from None


def template_environment(package: str) -> "Environment":
    """Jinja for the templates of a package: everything is escaped, and an unknown variable is an error."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    return Environment(
        loader=PackageLoader(package),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        auto_reload=False,
    )


@cache
def _environment() -> "Environment":
    from markupsafe import Markup

    environment = template_environment("podium.tools.report")
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
    """The CSS rules of the plots, with variables for colours."""
    style = files("podium.tools.report").joinpath("templates/plots.css").read_text("utf-8")
    series = "".join(
        f".fill-series-{n}{{fill:var(--series-{n})}}.line-series-{n},.many-series-{n}{{stroke:var(--series-{n})}}\n"
        for n in range(1, SERIES + 1)
    )
    return f"{style}{series}"
