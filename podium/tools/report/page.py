"""The page around a report: what its sections show, templates that escape everything, one script, and the figures.

The style, the script and the library that makes charts live are part of the HTML file; the page allows nothing else.
"""

import json
import os
import re
from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache
from hashlib import sha256
from html import escape
from importlib.metadata import version
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from podium import __version__
from podium.errors import UsageError
from podium.kernel import whole_file
from podium.packages import missing_packages
from podium.tools.ranking.wording import on_one_line
from podium.tools.report.vega import CONFIG, DARK, FONT, LIGHT, Spec, Teams, plain_colours

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

REPORT_FILE = "report.html"
FIGURES_FOLDER = "figures"
MOST_STILL_ROWS = 1_500
"""A chart of more rows is not drawn in advance: its table is shown until the chart is live."""

_MOST_STILL_BYTES = 400_000  # of a page: further charts show their tables first
_EARLY = 'document.documentElement.classList.add("scripted");'  # before anything is laid out: tabs from the start
_WIDTH, _WIDE = 520, 1120  # pixels of a drawing whose chart is as wide as its place


@dataclass(frozen=True)
class Table:
    """Rows of plain text; the first column names the row. The template escapes every cell. `kind` is a CSS class; a
    table that `is_after` follows the section's charts."""

    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    caption: str = ""
    title: str = ""
    kind: str = ""
    is_after: bool = False

    @classmethod
    def of(cls, columns: Mapping[str, Iterable[str]], caption: str = "", **more: Any) -> "Table":
        """By column, whose titles are the head."""
        return cls(list(columns), list(zip(*columns.values(), strict=True)), caption, **more)


@dataclass(frozen=True)
class Exhibit:
    """A chart with a caption, and its figures as a table for those who cannot see it.

    `wide` charts take the whole width of the page, the others are shown two by two where there is room. Of the exhibits
    with a `metric`, readers choose one. `name` is that of the figure and its files, `svg` the drawing for files and
    `still` the same in the page, until the chart is live; a chart that is not `drawn` is only live. `shared` are values
    of parameters that the page has once.
    """

    title: str
    caption: str
    chart: Spec
    table: Table
    wide: bool = False
    metric: str = ""
    drawn: bool = True
    name: str = ""
    svg: str = ""
    still: str = ""
    shared: Sequence[object] = ()

    @property
    def live(self) -> Spec:
        """The specification for the script: rows by column, which is shorter. Rows of cases are in tables already."""
        kept = {name: rows for name, rows in self.chart["datasets"].items() if name != "cases"}
        columns = {
            name: {key: [row.get(key) for row in rows] for key in dict.fromkeys(key for row in rows for key in row)}
            for name, rows in kept.items()
        }
        params = [each for each in self.chart["params"] if each["value"] not in self.shared]
        return {**self.chart, "datasets": columns, "params": params}


@dataclass(frozen=True)
class Section:
    """A part of a page. `nav` is its short title; `notes` are lines, each with more words or none; `links` are other
    pages by their names; the types of `cases` and `teams` are those of `tables`."""

    anchor: str
    nav: str
    title: str
    words: Sequence[str] = ()
    notes: Sequence[tuple[str, str]] = ()
    links: Sequence[tuple[str, str]] = ()
    final: Any = None
    cases: Any = None
    overlays: Sequence[Any] = ()
    tables: Sequence[Table] = ()
    exhibits: Sequence[Exhibit] = ()
    teams: Sequence[Any] = ()
    references: Sequence[str] = ()


def lines(notes: Iterable[str]) -> list[tuple[str, str]]:
    """Notes that have no more words than their line."""
    return [(note, "") for note in notes]


@dataclass(frozen=True, kw_only=True)
class Report:
    """The page, and the exhibits whose figures are files beside it."""

    page: str
    exhibits: Sequence[Exhibit] = ()


@dataclass
class Drawings:
    """Draws exhibits and names them, each name once; without the extra `report` there are no drawings."""

    teams: Teams | None = None
    files: bool = True
    exhibits: list[Exhibit] = field(default_factory=list)

    def add(self, exhibit: Exhibit) -> Exhibit:
        stem = re.sub(r"[^a-z0-9]+", "-", exhibit.title.lower()).strip("-")[:60] or "figure"
        taken = {each.name for each in self.exhibits}
        name = stem if stem not in taken else f"{stem}-{len(taken) + 1}"
        svg = _drawing(exhibit, name) if has_charts() and exhibit.drawn else ""
        has_few_rows = sum(map(len, exhibit.chart["datasets"].values())) <= MOST_STILL_ROWS
        has_room = sum(len(each.still) for each in self.exhibits) + len(svg) <= _MOST_STILL_BYTES
        still = svg if has_few_rows and has_room else ""
        shared = (self.teams.names, self.teams.labels) if self.teams else ()
        self.exhibits.append(replace(exhibit, name=name, svg=svg if self.files else "", still=still, shared=shared))
        return self.exhibits[-1]

    def add_all(self, exhibits: Iterable[Exhibit]) -> list[Exhibit]:
        return [self.add(each) for each in exhibits]


def has_charts() -> bool:
    """Whether the extra `report` is installed. Without it, pages have tables only."""
    return find_spec("vl_convert") is not None


def _drawing(exhibit: Exhibit, name: str) -> str:
    """The chart as SVG. Vega numbers clip paths over the life of a process: here per chart, with its name. The font is
    given once, and screen readers get the description alone."""
    import vl_convert

    width = exhibit.chart.get("width")
    fixed = {"width": _WIDE if exhibit.wide else _WIDTH} if width == "container" else {}
    drawn: str = vl_convert.vegalite_to_svg({**exhibit.chart, **fixed, "config": CONFIG})
    numbers: dict[str, str] = {}
    found = re.compile(r"\b(?:clip|gradient_)\d+\b")
    svg = found.sub(lambda match: numbers.setdefault(match[0], f"{name}-clip-{len(numbers)}"), drawn)
    svg = re.sub(r' (?:font-family="[^"]*"|opacity="1"|xmlns:xlink="[^"]*")', "", svg)
    words = f'<svg role="img" aria-label="{escape(exhibit.chart["description"])}" font-family="{escape(FONT)}"'
    return svg.replace("<svg", words, 1)


def write_report(report: Report, path: Path) -> None:
    """The page at `path`, whose folder is created if needed, and the figures as SVG and PDF in a folder beside it."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with whole_file(path) as temporary:
            temporary.write_text(report.page, encoding="utf-8", newline="\n")
    except OSError as error:
        raise UsageError(f"The report cannot be written to {path}: {error.strerror}.") from None
    folder = path.parent / FIGURES_FOLDER
    try:
        for exhibit in (each for each in report.exhibits if each.svg):
            folder.mkdir(exist_ok=True)
            svg = plain_colours(exhibit.svg)
            (folder / f"{exhibit.name}.svg").write_text(svg, encoding="utf-8", newline="\n")
            (folder / f"{exhibit.name}.pdf").write_bytes(pdf_of(svg))
    except OSError as error:
        raise UsageError(f"The figures cannot be written to {folder}: {error.strerror}.") from None


def pdf_of(svg: str) -> bytes:
    """Resources are listed in the order of a hash map, another in every run: they are sorted, which moves no offset in
    the file. PDFs with one font then have the same bytes in every run; with two fonts, their order varies."""
    import vl_convert

    lines = re.compile(rb"(?:[ ]+/[a-z]+\d+ \d+ 0 R\n)+")
    return lines.sub(lambda found: b"".join(sorted(found[0].splitlines(True))), vl_convert.svg_to_pdf(svg))


# The HTML file.


def render(drawings: Drawings, viewer: Sequence[str] = (), **content: Any) -> Report:
    """The whole HTML file and its figures; `viewer` are NiiVue and the module that ours continues. Only the stylesheet,
    scripts and drawings of Vega, which escapes, are marked as safe."""
    exhibits, teams = drawings.exhibits, drawings.teams
    is_live = has_charts() and bool(exhibits)
    scripts = [_EARLY, *([_library()] if is_live else []), _template("page.js")]
    if viewer:
        scripts += [viewer[0], f"{viewer[1]}\n{_template('viewer.js')}"]
    no_charts = missing_packages("vl-convert-python", extra="report", what="A page with charts")
    font = font_faces()
    style = f"{font}{stylesheet_variables()}{_template('page.css')}"
    # The browser runs these scripts and this style alone; nothing is loaded or evaluated.
    hashes = [f"'sha256-{b64encode(sha256(each.encode()).digest()).decode()}'" for each in (style, *scripts)]
    sources = (
        f"style-src {hashes[0]}; script-src {' '.join(hashes[1:])}; {'font-src data:; ' * bool(font)}img-src data:"
    )
    template = _environment().get_template("page.html.jinja")
    page = template.render(
        stylesheet=style,
        early=scripts[0],
        scripts=scripts[1:],
        policy=f"default-src 'none'; base-uri 'none'; form-action 'none'; {sources}",
        has_charts=is_live,
        has_viewer=bool(viewer),
        has_font=bool(font),
        shared={"config": CONFIG, "teams": teams.names if teams else [], "labels": teams.labels if teams else []},
        no_charts=no_charts if exhibits and not is_live else "",
        podium_version=__version__,
        **{"rule": "", **content},
    )
    return Report(page=page, exhibits=exhibits)


@cache
def _library() -> str:
    """Vega, Vega-Lite and Vega-Embed as one script. Making it takes seconds, so it is kept for each version."""
    import vl_convert

    folder = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache", "podium").expanduser()
    kept = folder / f"vega-{version('vl-convert-python')}.js"
    with suppress(OSError):
        return kept.read_text("utf-8")
    made: str = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")
    with suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
        with whole_file(kept) as temporary:
            temporary.write_text(made, "utf-8", newline="\n")
    return made


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
    environment.filters |= {"line": on_one_line, "drawn": Markup, "json": _json, "two_lines": two_lines}
    return environment


def _json(content: object) -> "Markup":
    """JSON that cannot end its script element, whatever names are in it."""
    from markupsafe import Markup

    text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return Markup(text.replace("<", "\\u003c"))  # noqa: S704  (nothing in it can end the element)


def _template(name: str) -> str:
    return files("podium.tools.report").joinpath("templates", name).read_text("utf-8")


_VENDOR = Path(__file__).parents[1] / "arena/web/vendor"
_FONT = {
    "public-sans-latin.woff2": "U+0-FF,U+131,U+152-153,U+2000-206F,U+20AC,U+2122,U+2191,U+2193,U+2212",
    "public-sans-latin-ext.woff2": "U+100-130,U+132-151,U+154-24F,U+1E00-1EFF",
}


def font_faces() -> str:
    """The typeface as data, where `podium arena viewer` has fetched it; a browser reads a part where it is needed."""
    return "".join(
        "@font-face{font-family:'Public Sans';font-weight:100 900;src:url(data:font/woff2;base64,"
        f"{b64encode(path.read_bytes()).decode()}) format('woff2');unicode-range:{characters}}}\n"
        for name, characters in _FONT.items()
        if (path := _VENDOR / name).is_file()
    )


def two_lines(title: str) -> str:
    """With one line break, where the longer line is shortest: a heading never has three lines."""
    words = title.split(" ")  # without an argument, it would also split at non-breaking spaces
    if len(words) < 2 or len(title) <= 7:
        return title
    halves = [(" ".join(words[:n]), " ".join(words[n:])) for n in range(1, len(words))]
    return "\n".join(min(halves, key=lambda each: max(map(len, each))))


def stylesheet_variables() -> str:
    """The colours as CSS custom properties; printed pages are always light."""

    def block(colours: Mapping[str, str]) -> str:
        return ":root{" + "".join(f"--{name}:{colour};" for name, colour in colours.items()) + "}"

    return f"{block(LIGHT)}\n@media screen and (prefers-color-scheme: dark){{{block(DARK)}}}\n"
