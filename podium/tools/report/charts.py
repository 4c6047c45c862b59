"""The charts of the pages: tidy rows in, a Vega-Lite specification out.

- Rows have fixed field names. Teams are numbers in the order of the ranking (`n`); names of teams, cases and metrics
  are values of rows and parameters, never field names or parts of an expression.
- Every chart has the parameters `picked` (the highlighted team, or -1) and `shown` (the teams to show, or none
  for all), which the page's script sets in all charts at once.
- Rows of cases are the dataset `cases`: the script fills it from the tables of cases, which are in the page once.
- Specifications are plain dictionaries: altair would take a second to import, and only tests need it, to validate them.
"""

import re
from collections.abc import Mapping, Sequence
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
    "gold": "#a87900", "silver": "#6c7886", "bronze": "#9c5a28", "on-medal": "#ffffff",
    "series-1": "#0072b2", "series-2": "#c45500", "series-3": "#00785a", "series-4": "#b0568a", "series-5": "#8a6d00",
    "series-6": "#6a51a3", "series-7": "#3a3f46",
}  # fmt: skip
DARK: Mapping[str, str] = {
    "paper": "#12161c", "panel": "#1b212a", "ink": "#e9edf2", "quiet": "#a7b1bd", "grid": "#343e4a",
    "accent": "#56b4e9", "accent-soft": "#173b52", "bad": "#ff9d5c", "bad-soft": "#43261a", "good": "#3ed1a5",
    "gold": "#f2c94c", "silver": "#c3cbd4", "bronze": "#d9925b", "on-medal": "#12161c",
    "series-1": "#56b4e9", "series-2": "#ff9d5c", "series-3": "#3ed1a5", "series-4": "#e49ac4", "series-5": "#e6d36a",
    "series-6": "#b7a1f0", "series-7": "#dde3ea",
}  # fmt: skip
SERIES = 7
"""How many lines have their own colour, marker and dash; the others are grey."""

STRONGEST = 0.5
"""The opacity of the fullest cell: more, and the figure printed on it would be hard to read."""

# Liberation Sans comes with vl-convert, so labels measure the same everywhere.
FONT = '"Liberation Sans", Arial, Helvetica, sans-serif'
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

_LONGEST_LABEL = 24


class Teams:
    """The teams of a chart in the order of the ranking: names for tooltips, labels for axes.

    Labels have the rank in front, and are shortened in the middle: names often differ at their end.
    """

    def __init__(self, names: Sequence[str], ranks: Sequence[int | None] | None = None) -> None:
        short = [on_one_line(name, _LONGEST_LABEL) for name in names]
        self.names = [on_one_line(name) for name in names]
        self.labels = (
            [f"{rank or NOTHING}  \u2068{name}\u2069" for name, rank in zip(short, ranks, strict=True)]
            if ranks
            else short
        )
        self.step = 34 if len(names) <= 15 else 22  # the height of a row

    def __len__(self) -> int:
        return len(self.names)


def intervals(rows: Rows, teams: Teams, *, title: str, words: str) -> Spec:
    """`n`, `value`, `low`, `high`; with `series`, several per team."""
    names = list(dict.fromkeys(row["series"] for row in rows if "series" in row))
    offset: Spec = {"yOffset": _n("series", sort=names), "color": _named(names, _COLOURS)} if names else {}
    shape: Spec = {"shape": _named(names, _SHAPES)} if names else {}
    plain = {} if names else {"color": "var(--accent)"}
    tips = _tips("team", *(["series"] if names else []), "value", "low", "high")
    whisker = {"strokeWidth": 7, "strokeOpacity": 0.35, "strokeCap": "round", **plain}
    layers = [
        _layer("rule", whisker, "isValid(datum.low)", x=_q("low", title=title, **_FREE), x2=_f("high"), **offset),
        _layer("point", {"filled": True, "size": 110, **plain}, x=_q("value"), tooltip=tips, **offset, **shape),
    ]
    return _chart(words, layers, teams, rows=rows, height={"step": 18 if names else teams.step})  # of one series


def box_and_dots(boxes: Rows, teams: Teams, *, title: str, words: str, ends: tuple[float, float] | None) -> Spec:
    """Box plots (`n`, `first`, `median`, `third`, `lower`, `upper`, `mean`, `low`, `high`) over the dots of cases.

    `ends` of the axis, where it is cut before worst values that lie far off: what is beyond is drawn at its end.
    """
    scale = {"domain": list(ends), "clamp": True, "nice": False} if ends else {"zero": False}
    beyond = f"datum.value < {ends[0]!r} || datum.value > {ends[1]!r}" if ends else "false"
    picked = {"condition": {"test": "datum.n == picked", "value": "var(--accent)"}, "value": "var(--quiet)"}
    box = {"height": 14, "fill": "var(--accent)", "fillOpacity": 0.22, "stroke": "var(--accent)"}
    tips = _tips("team", "lower", "first", "median", "third", "upper", "mean", "low", "high")
    layers = [
        _layer(
            "point",
            _DOT,
            data="cases",
            x=_q("value", title=title, scale=scale, axis={"tickCount": 5}),
            yOffset=_q("spread", scale={"domain": [-1.3, 1.3]}),
            color=picked,
            shape={"condition": {"test": beyond, "value": "triangle-right"}, "value": "circle"},
            tooltip=_tips("team", "case", "value", "rank", "status"),
        ),
        _layer("rule", {"color": "var(--accent)"}, x=_q("lower"), x2=_f("upper"), tooltip=tips),
        _layer("bar", box, x=_q("first"), x2=_f("third"), tooltip=tips),
        _layer("rule", _LINE, "isValid(datum.low)", x=_q("low"), x2=_f("high"), tooltip=tips),
        _layer("tick", _MEDIAN, x=_q("median"), tooltip=tips),
        _layer("point", _DIAMOND, x=_q("mean"), tooltip=tips),
    ]
    return _chart(words, layers, teams, rows=boxes, cases=(), height={"step": teams.step + 4})


def share_bars(rows: Rows, teams: Teams, *, title: str, words: str) -> Spec:
    """A bar per team: `n`, `share`, `low`, `high`, `text`."""
    share = _q("share", title=title, scale={"domain": [0, 1]})
    layers = [
        _layer("bar", _BAR, x=share, tooltip=_tips("team", "share", "low", "high", "text")),
        _layer("rule", _LINE, "isValid(datum.low)", x=_q("low"), x2=_f("high")),
        _layer("text", {"align": "right", "dx": -4}, x={"datum": 1}, text=_f("text")),
    ]
    return _chart(words, layers, teams, rows=rows, height={"step": teams.step})


def blobs(shares: Rows, spans: Rows, teams: Teams, *, words: str) -> Spec:
    """Bootstrap ranks: `n`, `rank`, `share`; spans `n`, `low`, `high`, `rank`."""
    area = _q("share", legend=None, scale={"domain": [0, 1], "range": [0, 0.62 * teams.step**2]})
    blob = {"color": "var(--accent)", "fillOpacity": 0.72}
    rank, tips = _ranks("rank", teams), _tips("team", "rank", "low", "high")
    layers = [
        _layer("circle", blob, x=rank, size=area, tooltip=_tips("team", "rank", "share")),
        _layer("rule", _LINE, data="spans", x=_ranks("low", teams), x2=_f("high")),
        _layer("point", _DIAMOND, "isValid(datum.rank)", data="spans", x=rank, tooltip=tips),
    ]
    side = {"step": teams.step}
    return _chart(words, layers, teams, rows=shares, spans=spans, height=side, width=side)


def rank_heatmap(rows: Rows, teams: Teams, *, words: str) -> Spec:
    """In how many cases each team had each rank: `n`, `rank`, `cases`."""
    rank, tips = _ranks("rank", teams), _tips("team", "rank", "cases")
    layers = [
        _layer("rect", _CELL, x=rank, fillOpacity=_shade("cases"), tooltip=tips),
        _layer("text", {}, x=rank, text=_f("cases")),
    ]
    return _chart(words, layers, teams, rows=rows, height={"step": teams.step}, width={"step": teams.step + 4})


def significance_map(rows: Rows, teams: Teams, *, words: str) -> Spec:
    """Is the row's team better than the column's? `n`, `other`, `p`, `holm`, `text` ("●", "○" or "")."""
    other = _o("other", axis={"orient": "top", "labelAngle": -50, "labelExpr": "labels[datum.value]"})
    sure = {"condition": {"test": "datum.text == '●'", "value": 0.3}, "value": 0.02}
    tips = _tips("team", "other_team", "p", "holm")
    layers = [
        _layer("rect", {**_CELL, "stroke": "var(--grid)"}, x=other, fillOpacity=sure, tooltip=tips),
        _layer("text", {"fontSize": 20 if len(teams) <= 15 else 13}, x=other, text=_f("text")),
    ]
    for layer in layers:
        layer["transform"].append({"filter": _SHOWN.replace("datum.n", "datum.other")})
        layer["transform"].append({"calculate": "teams[datum.other]", "as": "other_team"})
    side = {"step": teams.step}
    return _chart(words, layers, teams, rows=rows, height=side, width=side)


def rank_lines(rows: Rows, ends: Rows, teams: Teams, *, columns: Sequence[str], words: str) -> Spec:
    """Ranks by scheme or task: `n`, `column` (its number), `rank`; `ends`: `n`, `column`, `slot`, `text`, `align`."""
    heads = {"orient": "top", "labelAngle": 0, "labelExpr": "columns[datum.value]", "grid": True, "labelLineHeight": 15}
    names = [_wrapped(column) for column in columns]
    heads["labelPadding"] = 15 * max(map(len, names)) - 7  # lines are added below the first
    x = _o("column", axis=heads, scale={"type": "point", "padding": 0.2})
    span = {"reverse": True, "domain": [0.5, len(teams) + 0.5], "nice": False, "zero": False}
    y, colour = _q("rank", axis=None, scale=span), _series(teams, _COLOURS, "var(--quiet)")
    dash, shape = _series(teams, _DASHES, [1, 0]), _series(teams, _SHAPES, "circle")
    tips, slot = _tips("team", "scheme", "rank"), {**y, "field": "slot"}
    layers = [
        _layer("line", {"strokeWidth": 2.4}, x=x, y=y, color=colour, strokeDash=dash, detail=_o("n")),
        _layer("point", {"filled": True, "size": 70}, x=x, y=y, color=colour, shape=shape, tooltip=tips),
        *(
            _layer(
                "text", {"align": side, "dx": dx}, f"datum.align == '{side}'", data="ends", x=x, y=slot, text=_f("text")
            )
            for side, dx in (("right", -12), ("left", 12))
        ),
    ]
    layers[1]["transform"].append({"calculate": "join(columns[datum.column], ' ')", "as": "scheme"})
    height = (26 if len(teams) <= 15 else 18) * len(teams)
    chart = _chart(words, layers, teams, rows=rows, ends=ends, height=height, width={"step": 118})
    chart["params"].append({"name": "columns", "value": names})
    return chart


def violins(outlines: Rows, quartiles: Rows, *, schemes: Sequence[str], words: str) -> Spec:
    """Kendall's tau by scheme: `number`, `tau`, `upper`, `lower`; quartiles by `number`: `first`, `median`, `third`,
    `mean`."""
    axis = {"values": list(range(len(schemes))), "labelExpr": "schemes[datum.value]", "grid": False}
    y = _q("upper", axis=axis, scale={"domain": [-0.5, len(schemes) - 0.5], "reverse": True, "nice": False})
    tau = _q("tau", title="Kendall's τ-b, higher is steadier", **_FREE)
    violin = {"fill": "var(--accent)", "fillOpacity": 0.22, "stroke": "var(--accent)", "strokeWidth": 1.2}
    thick = {"color": "var(--accent)", "strokeWidth": 7}
    tips, row = _tips("scheme", "first", "median", "third", "mean"), _q("number")
    layers = [
        _layer("area", violin, x=tau, y=y, y2=_f("lower"), detail=_o("number")),
        _layer("rule", thick, data="quartiles", x=_q("first"), x2=_f("third"), y=row, tooltip=tips),
        _layer("tick", {**_MEDIAN, "orient": "vertical"}, data="quartiles", x=_q("median"), y=row, tooltip=tips),
        _layer("point", _DIAMOND, data="quartiles", x=_q("mean"), y=row, tooltip=tips),
    ]
    for layer in layers:
        layer["transform"].append({"calculate": "schemes[datum.number]", "as": "scheme"})
    chart = _chart(words, layers, rows=outlines, quartiles=quartiles, height=50 * len(schemes))
    chart["params"].append({"name": "schemes", "value": [on_one_line(each, _LONGEST_LABEL) for each in schemes]})
    return chart


def podium_plot(cases: Rows, counts: Rows, teams: Teams, *, title: str, words: str) -> Spec:
    """Cases by the place they earned (`n`, `case`, `value`, `place`), joined by lines, over bars (`n`, `place`,
    `cases`)."""
    size = len(teams)
    place = _o("place", scale={"domain": list(range(1, size + 1))}, axis={"labelAngle": 0, "labels": False})
    below = {**place, "title": "Rank in the case", "axis": {"labelAngle": 0}}
    lane = _o("n", scale={"domain": list(range(size))})
    width = max(420, 9 * size * (size + 1))
    legend = {"labelExpr": "labels[datum.value]", "columns": width // 200}
    colour = {**_series(teams, _COLOURS, "var(--quiet)"), "legend": legend}
    value, tips = _q("value", title=title, **_FREE), _tips("team", "case", "value", "place")
    link = {"color": "var(--quiet)", "strokeWidth": 1, "strokeOpacity": 0.25}
    dot = _layer("point", _DOT, data="cases", x=place, xOffset=lane, y=value, color=colour, tooltip=tips)
    dot["params"] = [{"name": "legend", "select": {"type": "point", "fields": ["n"]}, "bind": "legend"}]
    bar = _layer("bar", {}, x=below, xOffset=lane, color=colour, tooltip=_tips("team", "place", "cases"))
    bar["encoding"]["y"] = _q("cases", title="Cases", axis={"tickCount": 2})
    layers = [_layer("line", link, data="cases", x=place, xOffset=lane, y=value, detail=_f("case")), dot]
    lower = _chart(words, [bar], teams, height=70, width=width)["layer"][0]
    chart = _chart(words, layers, teams, rows=counts, cases=cases, height=230, width=width)
    upper = {name: chart.pop(name) for name in ("layer", "width", "height")}
    return {**chart, "vconcat": [upper, {**lower, "width": width, "height": 70}]}


def figure_heatmap(rows: Rows, teams: Teams, *, columns: Sequence[str], words: str) -> Spec:
    """Figures by row (`n`) and `column`: `text`, `below` (its interval), `shade` from 0 to 1, the best being 1."""
    column = _o("column", axis={"orient": "top", "labelAngle": -50, "labelExpr": "columns[datum.value]"})
    has_intervals = any(row["below"] for row in rows)
    tips = _tips("team", "metric", "text", *(["below"] if has_intervals else []))
    layers = [
        _layer("rect", _CELL, x=column, fillOpacity=_shade("shade", top=1), tooltip=tips),
        _layer("text", {"dy": -6 if has_intervals else 0, "fontWeight": "bold"}, x=column, text=_f("text")),
        *([_layer("text", {"dy": 8, "fontSize": 10}, x=column, text=_f("below"))] if has_intervals else []),
    ]
    for layer in layers:
        layer["transform"].append({"calculate": "columns[datum.column]", "as": "metric"})
    height, width = (34, 84) if has_intervals else (24, 56)
    chart = _chart(words, layers, teams, rows=rows, height={"step": height}, width={"step": width})
    chart["params"].append({"name": "columns", "value": [on_one_line(column, _LONGEST_LABEL) for column in columns]})
    return chart


def histogram(bins: Rows, marks: Rows, *, ends: Sequence[float], title: str, words: str) -> Spec:
    """Bars (`low`, `high`, `cases`) over a strip of dots of cases; marks `median`, `mean`. `ends` of the axis."""
    most = max((row["cases"] for row in bins), default=1)
    span = {"domain": [-0.4 * most, most], "nice": False}
    count = _q("cases", title="Cases", axis={"values": [0, most], "format": "d"}, scale=span)
    low = _q("low", title=title, bin="binned", axis={"tickCount": 5}, scale={"domain": list(ends), "nice": True})
    tips = _tips("median", "mean")
    layers = [
        _layer("bar", _BAR, x=low, x2=_f("high"), y=count, y2={"datum": 0}, tooltip=_tips("low", "high", "cases")),
        _layer("point", _DOT, data="cases", x=_q("value"), y=_q("place"), tooltip=_tips("case", "value", "status")),
        _layer("rule", {**_LINE, "strokeWidth": 2.4}, data="marks", x=_q("median"), tooltip=tips),
        _layer("point", _DIAMOND, data="marks", x=_q("mean"), y={"datum": 0}, tooltip=tips),
    ]
    layers[1]["transform"].append({"calculate": f"{most} * (0.12 * datum.spread - 0.22)", "as": "place"})
    return _chart(words, layers, rows=bins, marks=marks, cases=(), height=170)


def curves(lines: Rows, summary: Rows, *, along: str, title: str, words: str) -> Spec:
    """A thin line per case (`case`, `place`, `value`); over them `place`, `mean`, `first`, `third` of all."""
    x = _q("place", title=along, scale={"zero": False, "nice": False}, axis={"tickCount": 6})
    y, tips = _q("value", title=title, **_FREE), _tips("place", "mean", "first", "third")
    thin = {"color": "var(--quiet)", "strokeWidth": 1, "strokeOpacity": 0.45}
    thick = {"color": "var(--accent)", "strokeWidth": 2.6, "point": len(summary) <= 24}
    band = {"color": "var(--accent)", "fillOpacity": 0.16}
    layers = [
        _layer("line", thin, x=x, y=y, detail=_f("case"), tooltip=_tips("case")),
        _layer("area", band, data="summary", x=x, y=_q("first"), y2=_f("third")),
        _layer("line", thick, data="summary", x=x, y=_q("mean"), tooltip=tips),
    ]
    return _chart(words, layers, rows=lines, summary=summary, height=250)


def diagram(rows: Mapping[str, Rows], *, x: Spec, y: Spec, words: str) -> Spec:
    """`lines` (`series`, `x`, `y`, `order`), `dots` and a `diagonal` (`x`, `y`), and horizontal `levels` (`y`, `text`);
    `x` and `y` are the titles and scales of the axes."""
    names = list(dict.fromkeys(row["series"] for row in rows["lines"]))
    x, y = _q("x", axis={"tickCount": 5}, **x), _q("y", axis={"tickCount": 5}, **y)
    colour, dash = _named(names, _COLOURS), _named(names, _DASHES)
    for channel in (colour, dash):
        channel["legend"] = {"symbolType": "stroke"} if len(names) > 1 else None
    tips = _tips("series", "x", "y")
    place = {"value": {"expr": "width - 4"}}
    layers = [
        _layer("line", _DASHED, data="diagonal", x=x, y=y),
        _layer("line", {}, data="lines", x=x, y=y, color=colour, strokeDash=dash, order=_f("order"), tooltip=tips),
        _layer("point", _DOT, data="dots", x=x, y=y, tooltip=_tips("x", "y")),
        _layer("rule", _DASHED, data="levels", y=_q("y"), tooltip=_tips("text")),
        _layer("text", {"align": "right", "dy": -8}, data="levels", x=place, y=_q("y"), text=_f("text")),
    ]
    return {**_chart(words, layers, height=320), "datasets": {name: list(each) for name, each in rows.items()}}


def plain_colours(svg: str) -> str:
    """A drawing for files, which have no stylesheet: with the light colours, on white paper."""
    paper = f'<rect width="100%" height="100%" fill="{LIGHT["paper"]}"/>'
    opening, closed, rest = svg.partition(">")
    return re.sub(r"var\(--([a-z0-9-]+)\)", lambda match: LIGHT[match[1]], f"{opening}{closed}{paper}{rest}")


# Parts of specifications.

_FREE: Spec = {"scale": {"zero": False, "nice": True}, "axis": {"tickCount": 5}}
_COLOURS = [f"var(--series-{number})" for number in range(1, SERIES + 1)]
_SHAPES = ["circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-right"]
_DASHES = [[1, 0], [9, 4], [3, 3], [12, 4, 3, 4], [6, 6], [2, 5], [14, 6]]
_DOT = {"filled": True, "size": 28, "color": "var(--quiet)", "fillOpacity": 0.6, "cursor": "pointer"}
_LINE = {"color": "var(--ink)", "strokeWidth": 2}
_DASHED = {"color": "var(--quiet)", "strokeDash": [5, 5]}
_MEDIAN = {"color": "var(--ink)", "thickness": 2.6, "size": 16}
_DIAMOND = {"shape": "diamond", "fill": "var(--paper)", "stroke": "var(--ink)", "size": 55}
_BAR = {"color": "var(--accent)", "fillOpacity": 0.75}
_CELL = {"fill": "var(--accent)", "cornerRadius": 2}
_PICKED = {"condition": {"test": "picked < 0 || datum.n == picked", "value": 1}, "value": 0.18}
_SHOWN = "!length(shown) || indexof(shown, datum.n) >= 0"
_WORDS = {"team", "other_team", "scheme", "case", "series", "text", "below", "metric", "status"}
_TITLES = {"other_team": "Other team", "holm": "p, Holm", "below": "Interval", "text": "Figure",
           "first": "Lower quartile", "third": "Upper quartile",
           "lower": "Lower whisker", "upper": "Upper whisker"}  # fmt: skip


def _chart(words: str, layers: list[Spec], teams: Teams | None = None, **given: Any) -> Spec:
    """The layers over their datasets; layers of teams have a row per team unless they say otherwise."""
    sizes = {"height": given.pop("height"), "width": given.pop("width", "container")}
    if sizes["width"] == "container":
        sizes["autosize"] = {"type": "fit-x", "contains": "padding"}
    if teams is not None:
        for layer in layers:
            layer["transform"] += [{"filter": _SHOWN}, {"calculate": "teams[datum.n]", "as": "team"}]
            layer["encoding"] = {"y": _o("n", axis={"labelExpr": "labels[datum.value]"}), "opacity": _PICKED} | layer[
                "encoding"
            ]
    for channel in ("x", "y"):  # layers share an axis, so they must agree on its title
        axes = [layer["encoding"][channel] for layer in layers if layer["encoding"].get(channel, {}).get("field")]
        title = next((axis["title"] for axis in axes if axis["title"]), None)
        for axis in axes:
            axis["title"] = title
    given_params = {"picked": -1, "shown": [], **({"teams": teams.names, "labels": teams.labels} if teams else {})}
    params = [{"name": name, "value": value} for name, value in given_params.items()]
    datasets = {name: list(rows) for name, rows in given.items()}
    return {"description": on_one_line(words), **sizes, "params": params, "datasets": datasets, "layer": layers}


def _layer(mark: str, style: Spec, where: str = "", *, data: str = "rows", **encoding: Any) -> Spec:
    transform = [{"filter": where}] if where else []
    return {"data": {"name": data}, "transform": transform, "mark": {"type": mark, **style}, "encoding": encoding}


def _f(field: str) -> Spec:
    return {"field": field}


def _q(field: str, **more: Any) -> Spec:
    return {"field": field, "type": "quantitative", "title": None, **more}


def _o(field: str, **more: Any) -> Spec:
    return {"field": field, "type": "ordinal", "title": None, **more}


def _n(field: str, **more: Any) -> Spec:
    return {"field": field, "type": "nominal", "title": None, **more}


def _ranks(field: str, teams: Teams) -> Spec:
    axis = {"orient": "top", "labelAngle": 0, "labelOverlap": "greedy"}
    return _o(field, title="Rank", axis=axis, scale={"domain": list(range(1, len(teams) + 1))})


def _series(teams: Teams, values: Sequence[Any], other: Any) -> Spec:
    """The first teams each with a value of their own."""
    given = [values[number] if number < SERIES else other for number in range(len(teams))]
    return _n("n", legend=None, scale={"domain": list(range(len(teams))), "range": given})


def _named(names: Sequence[str], values: Sequence[Any]) -> Spec:
    given = [values[number % SERIES] for number in range(len(names))]
    return _n("series", sort=list(names), scale={"domain": list(names), "range": given})


def _shade(field: str, *, top: int | None = None) -> Spec:
    """One colour by its opacity, which works on light and on dark ground."""
    ends = {"domainMin": 0} | ({"domainMax": top} if top else {})
    return _q(field, legend=None, scale={**ends, "range": [0.05, STRONGEST]})


def _tips(*fields: str) -> list[Spec]:
    return [
        {"field": field, "title": _TITLES.get(field, field.capitalize())}
        | ({"type": "nominal"} if field in _WORDS else {"type": "quantitative", "format": ".4~g"})
        for field in fields
    ]


def _wrapped(words: str) -> list[str]:
    """The words on lines of at most fifteen characters."""
    lines: list[str] = []
    for word in on_one_line(words).split():
        if lines and len(lines[-1]) + 1 + len(word) <= 15:
            lines[-1] += f" {word}"
        else:
            lines.append(on_one_line(word, 15))
    return lines
