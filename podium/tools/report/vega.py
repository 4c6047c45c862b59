"""Colours, and the parts of Vega-Lite specifications that the charts of the pages are made of.

- Rows have fixed field names. Teams are numbers in the order of the ranking (`n`); names of teams, cases and metrics
  are values of rows and parameters, never field names or parts of an expression.
- Every chart has the parameters `picked` (the highlighted team, or -1) and `shown` (the teams to show, or none
  for all), which the page's script sets in all charts at once.
- Rows of cases are the dataset `cases`: the script fills it from the tables of cases, which are in the page once.
- Specifications are plain dictionaries: altair would take a second to import, and only tests need it, to validate them.
"""

import re
import textwrap
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from podium.tools.ranking.wording import NOTHING, on_one_line

Spec = dict[str, Any]
Rows = Sequence[Mapping[str, Any]]

# The colours, for light and dark screens: in one place, so that a test can check their contrast against WCAG 2.2.
#
# Hues follow Okabe and Ito and can be told apart with every common kind of colour blindness. Nothing is shown by colour
# alone: teams also differ by label, marker and dash, and cells contain their figure or a sign.

LIGHT: Mapping[str, str] = {
    "paper": "#ffffff", "panel": "#f4f6f9", "ink": "#1a2027", "quiet": "#55606d", "grid": "#dbe1e8",
    "accent": "#0072b2", "accent-soft": "#cfe4f3", "bad": "#a84300", "bad-soft": "#fbe6d9", "good": "#00785a",
    "gold": "#f3c843", "silver": "#cdd5dd", "bronze": "#dd9f6f", "on-medal": "#2b1d00",
    "at": "#a0317b", "at-soft": "#fbeaf5", "p1": "#0a5f96", "p2": "#4f9ccb", "p3": "#a9d1ea",
    "h1": "#fafdfe", "h2": "#f2f8fc", "h3": "#e7f3fa", "h4": "#d8ecf7", "h5": "#c6e2f2", "h6": "#aed6ed",
    "series-1": "#0072b2", "series-2": "#c45500", "series-3": "#00785a", "series-4": "#b0568a", "series-5": "#8a6d00",
    "series-6": "#6a51a3", "series-7": "#3a3f46",
}  # fmt: skip
DARK: Mapping[str, str] = {
    "paper": "#12161c", "panel": "#1b212a", "ink": "#e9edf2", "quiet": "#a7b1bd", "grid": "#343e4a",
    "accent": "#56b4e9", "accent-soft": "#173b52", "bad": "#ff9d5c", "bad-soft": "#43261a", "good": "#3ed1a5",
    "gold": "#f3c843", "silver": "#cdd5dd", "bronze": "#dd9f6f", "on-medal": "#2b1d00",
    "at": "#f08bca", "at-soft": "#3d1c33", "p1": "#7cc7f2", "p2": "#357fae", "p3": "#1f4a67",
    "h1": "#121a22", "h2": "#13212c", "h3": "#142b3b", "h4": "#15364c", "h5": "#174260", "h6": "#195076",
    "series-1": "#56b4e9", "series-2": "#ff9d5c", "series-3": "#3ed1a5", "series-4": "#e49ac4", "series-5": "#e6d36a",
    "series-6": "#b7a1f0", "series-7": "#dde3ea",
}  # fmt: skip
SERIES = 7
"""How many lines have their own colour, marker and dash; the others are grey."""

STRONGEST = 0.5
"""The opacity of the fullest cell: more, and the figure printed on it would be hard to read."""

# Drawings are measured with Liberation Sans, which comes with vl-convert and is as wide as the typeface of the page.
FONT = '"Public Sans", "Liberation Sans", Arial, Helvetica, sans-serif'
CONFIG: Spec = {
    "background": "transparent",
    "font": FONT,
    "view": {"stroke": None},
    "mark": {"aria": False},  # one description per chart: thousands of labelled dots would flood a screen reader
    "axis": {"aria": False, "domain": False, "ticks": False, "gridColor": "var(--grid)", "labelPadding": 8,
             "labelColor": "var(--quiet)", "labelFontSize": 13, "titleColor": "var(--quiet)", "titleFontSize": 13,
             "titleFontWeight": "normal", "titlePadding": 10, "labelLimit": 260},
    "axisBand": {"grid": False, "labelColor": "var(--ink)"},
    "axisPoint": {"labelColor": "var(--ink)"},
    "legend": {"aria": False, "labelColor": "var(--ink)", "labelFontSize": 13, "title": None, "orient": "top",
               "labelLimit": 200, "columns": 4, "symbolLimit": 40, "symbolOpacity": 1},
    "text": {"fill": "var(--ink)", "fontSize": 12},
    "scale": {"bandPaddingInner": 0.06},
}  # fmt: skip

LONGEST_LABEL = 24


class Teams:
    """The teams of a chart in the order of the ranking: names for tooltips, labels for axes.

    Labels have the rank in front, and are shortened in the middle: names often differ at their end.
    """

    def __init__(self, names: Sequence[str], ranks: Sequence[int | None] | None = None) -> None:
        short = [on_one_line(name, LONGEST_LABEL) for name in names]
        self.names = [on_one_line(name) for name in names]
        self.labels = (
            [f"{rank or NOTHING}  \u2068{name}\u2069" for name, rank in zip(short, ranks, strict=True)]
            if ranks
            else short
        )
        self.step = 34 if len(names) <= 15 else 22  # the height of a row

    def __len__(self) -> int:
        return len(self.names)


def plain_colours(svg: str) -> str:
    """A drawing for files, which have no stylesheet: with the light colours, on white paper."""
    paper = f'<rect width="100%" height="100%" fill="{LIGHT["paper"]}"/>'
    opening, closed, rest = svg.partition(">")
    return re.sub(r"var\(--([a-z0-9-]+)\)", lambda match: LIGHT[match[1]], f"{opening}{closed}{paper}{rest}")


# Parts of specifications.

FREE: Spec = {"scale": {"zero": False, "nice": True}, "axis": {"tickCount": 5}}
COLOURS = [f"var(--series-{number})" for number in range(1, SERIES + 1)]
SHAPES = ["circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-right"]
DASHES = [[1, 0], [9, 4], [3, 3], [12, 4, 3, 4], [6, 6], [2, 5], [14, 6]]
DOT = {"filled": True, "size": 28, "color": "var(--quiet)", "fillOpacity": 0.6, "cursor": "pointer"}
LINE = {"color": "var(--ink)", "strokeWidth": 2}
DASHED = {"color": "var(--quiet)", "strokeDash": [5, 5]}
MEDIAN = {"color": "var(--ink)", "thickness": 2.6, "size": 16}
DIAMOND = {"shape": "diamond", "fill": "var(--paper)", "stroke": "var(--ink)", "size": 55}
BAR = {"color": "var(--accent)", "fillOpacity": 0.75}
CELL = {"fill": "var(--accent)", "cornerRadius": 2}
_PICKED = {"condition": {"test": "picked < 0 || datum.n == picked", "value": 1}, "value": 0.18}
SHOWN = "!length(shown) || indexof(shown, datum.n) >= 0"
_WORDS = {"team", "other_team", "scheme", "case", "series", "text", "status"}
_TITLES = {"other_team": "Other team", "unadjusted": "p, not adjusted", "text": "Figure",
           "first": "Lower quartile", "third": "Upper quartile",
           "lower": "Lower whisker", "upper": "Upper whisker"}  # fmt: skip


def layered(
    words: str, layers: list[Spec], teams: Teams | None = None, *, labels: Mapping[str, Any] | None = None, **given: Any
) -> Spec:
    """The layers over their datasets; layers of teams have a row per team unless they say otherwise. `labels` are names
    that expressions look up by number."""
    sizes = {"height": given.pop("height"), "width": given.pop("width", "container")}
    if sizes["width"] == "container":
        sizes["autosize"] = {"type": "fit-x", "contains": "padding"}
    if teams is not None:
        for layer in layers:
            layer["transform"] += [{"filter": SHOWN}, {"calculate": "teams[datum.n]", "as": "team"}]
            row = o("n", axis={"labelExpr": "labels[datum.value]"})
            layer["encoding"] = {"y": row, "opacity": _PICKED, **layer["encoding"]}
    for channel in ("x", "y"):  # layers share an axis, so they must agree on its title
        axes = [layer["encoding"][channel] for layer in layers if layer["encoding"].get(channel, {}).get("field")]
        title = next((axis["title"] for axis in axes if axis["title"]), None)
        for axis in axes:
            axis["title"] = title
    of_teams = {"teams": teams.names, "labels": teams.labels} if teams else {}
    given_params = {"picked": -1, "shown": [], **of_teams, **(labels or {})}
    params = [{"name": name, "value": value} for name, value in given_params.items()]
    datasets = {name: list(rows) for name, rows in given.items()}
    return {"description": on_one_line(words), **sizes, "params": params, "datasets": datasets, "layer": layers}


def layer(mark: str, style: Spec, where: str = "", *, data: str = "rows", **encoding: Any) -> Spec:
    transform = [{"filter": where}] if where else []
    return {"data": {"name": data}, "transform": transform, "mark": {"type": mark, **style}, "encoding": encoding}


def f(field: str) -> Spec:
    """A field whose type another encoding says."""
    return {"field": field}


def _typed(kind: str, field: str, **more: Any) -> Spec:
    return {"field": field, "type": kind, "title": None, **more}


q, o, nominal = (partial(_typed, kind) for kind in ("quantitative", "ordinal", "nominal"))
"""Fields by their type, in the shorthand of Vega-Lite's libraries."""


def rank_axis(field: str, teams: Teams) -> Spec:
    axis = {"orient": "top", "labelAngle": 0, "labelOverlap": "greedy"}
    return o(field, title="Rank", axis=axis, scale={"domain": list(range(1, len(teams) + 1))})


def by_team(teams: Teams, values: Sequence[Any], other: Any) -> Spec:
    """The first teams each with a value of their own."""
    given = [values[number] if number < SERIES else other for number in range(len(teams))]
    return nominal("n", legend=None, scale={"domain": list(range(len(teams))), "range": given})


def by_series(names: Sequence[str], values: Sequence[Any]) -> Spec:
    given = [values[number % SERIES] for number in range(len(names))]
    return nominal("series", sort=list(names), scale={"domain": list(names), "range": given})


def shade(field: str) -> Spec:
    """One colour by its opacity, which works on light and on dark ground."""
    return q(field, legend=None, scale={"domainMin": 0, "range": [0.05, STRONGEST]})


def tips(*fields: str) -> list[Spec]:
    return [
        {"field": field, "title": _TITLES.get(field, field.capitalize())}
        | ({"type": "nominal"} if field in _WORDS else {"type": "quantitative", "format": ".4~g"})
        for field in fields
    ]


def wrapped(words: str) -> list[str]:
    """The words on lines of at most fifteen characters; longer words are cut in the middle."""
    lines = textwrap.wrap(on_one_line(words), 15, break_long_words=False, break_on_hyphens=False)
    return [on_one_line(line, 15) for line in lines]
