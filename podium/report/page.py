"""The page around a report: templates that escape whatever they are given, colours and style inside the file."""

from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from podium import __version__
from podium.errors import UsageError
from podium.report.exhibit import HINT_LIMITS_REM
from podium.report.palette import SERIES, stylesheet_variables
from podium.report.words import on_one_line


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
        loader=PackageLoader("podium.report"),
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
    style = files("podium.report").joinpath("templates/page.css").read_text("utf-8")
    hints = "".join(
        f"@container (max-width:{limit}rem){{.scroll.hint-{limit}::before{{display:block}}}}\n"
        for limit in HINT_LIMITS_REM
    )
    return f"{stylesheet_variables()}{plot_stylesheet()}{style}{hints}"


@cache
def plot_stylesheet() -> str:
    """The rules of the plots, with variables for colours."""
    style = files("podium.report").joinpath("templates/plots.css").read_text("utf-8")
    series = "".join(
        f".fill-series-{n}{{fill:var(--series-{n})}}.line-series-{n},.many-series-{n}{{stroke:var(--series-{n})}}\n"
        for n in range(1, SERIES + 1)
    )
    return f"{style}{series}"
