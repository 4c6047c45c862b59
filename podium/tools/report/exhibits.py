"""The cases of a ranking by metric: charts with their captions, and each chart's figures as a table."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from podium.metrics import Floats
from podium.metrics.declaration import Curve, Metric
from podium.tools.ranking.result import CaseMetricResult, Intervals, Ranking, Row
from podium.tools.ranking.statistics import Ranks, case_positions
from podium.tools.ranking.wording import (
    NOTHING,
    count,
    even_decimals,
    figure,
    fixed,
    interval_words,
    on_one_line,
    percent,
)
from podium.tools.report import vega
from podium.tools.report.page import Exhibit, Table
from podium.tools.report.vega import Spec, Teams, f, layer, layered, o, q, tips

MOST_PANELS = 12
MOST_DETAILED = 4
"""How many metrics that the schemes rank by have their own maps and plots."""
MOST_TEAMS = 12
"""More columns than this cannot be read in a podium plot; the ranking heat map counts the same ranks."""

FIRST_METRIC_COLUMN = 2
"""In every table of cases: the case and its status come first."""

LARGEST = 1e150
"""What is larger cannot be squared; an error of that size is as good as none."""

_BELOW = 12  # pixels from the middle of a box to the interval of its mean
_GOLDEN = 0.618034
_MOST_DOTS = 3_000
_WORTH_A_CUT = 2.0
_BOX = ("lower", "first", "median", "third", "upper", "mean")

# The cases of a ranking.


@dataclass(frozen=True, eq=False)
class CaseValues:
    """One metric of a ranking, as arrays over (teams, cases).

    filled      the worst value where a team has none; NaN where no team has a value, or the worst value is infinite
    missing     where the team has no value
    ranks       of the teams in every case, as the general schemes count them: teams without a value are last
    in_schemes  whether the general schemes rank by it
    means       [team], from the ranking, with their `intervals`: None where a worst value is infinite
    """

    metric: Metric
    filled: Floats
    missing: NDArray[np.bool_]
    ranks: Ranks
    in_schemes: bool
    means: Row
    intervals: Intervals | None

    @property
    def defined(self) -> NDArray[np.bool_]:
        """The cases where at least one team has a value."""
        return np.asarray(~np.isnan(self.filled).all(axis=0))

    @property
    def title(self) -> str:
        return title_of(self.metric)

    @cached_property
    def mean_ranks(self) -> Ranks:
        """[team], the positions by the means."""
        return case_positions(np.array(self.means, dtype=np.float64)[:, None], self.metric.direction)[:, 0]


def case_values(ranking: Ranking) -> list[CaseValues]:
    """Every metric in which at least one team has a value; those that the schemes rank by come first."""
    found = []
    for declared in ranking.metrics:
        shape = len(ranking.teams), len(ranking.cases)
        values = drawable(value for row in declared.values for value in row).reshape(shape)
        missing = np.isnan(values)
        if missing.all():
            continue
        ranks = case_positions(values, declared.direction)
        if declared.worst is not None:
            values = np.where(missing & ~missing.all(axis=0), declared.worst, values)
        metric, intervals = _metric(declared), declared.mean_intervals
        found.append(CaseValues(metric, values, missing, ranks, declared.in_schemes, declared.means, intervals))
    return sorted(found, key=lambda each: not each.in_schemes)


def _metric(declared: CaseMetricResult) -> Metric:
    """The declaration with its infinite bounds, which JSON does not have."""
    lowest = -math.inf if declared.lowest is None else declared.lowest
    highest = math.inf if declared.highest is None else declared.highest
    unbounded = lowest if declared.direction == "higher" else highest
    return Metric(
        name=declared.name,
        title=declared.title,
        direction=declared.direction,
        lowest=lowest,
        highest=highest,
        worst=unbounded if declared.worst is None else declared.worst,
        unit=declared.unit,
    )


def title_of(metric: Metric | Curve) -> str:
    """`HD95 (mm)`."""
    return f"{metric.title} ({metric.unit})" if metric.unit else metric.title


def defined(values: Iterable[float | None]) -> Floats:
    """The values that can be drawn, sorted: undefined figures and errors without bound have no place on an axis."""
    array = drawable(values)
    return np.sort(array[~np.isnan(array)])


def drawable(values: Iterable[float | None]) -> Floats:
    """The values as an array, NaN where there is none or one without measure."""
    array = np.array([math.nan if value is None else value for value in values], dtype=np.float64)
    return np.where(np.abs(array) <= LARGEST, array, math.nan)


def summarise(ordered: Floats) -> dict[str, float] | None:
    """Sorted finite values in the figures of Tukey's box plot; quartiles by linear interpolation, SD over n - 1.

    Whiskers (`lower`, `upper`) end at the outermost values no farther than 1.5 interquartile ranges from the box.
    """
    if not len(ordered):
        return None
    first, median, third = (float(each) for each in np.quantile(ordered, (0.25, 0.5, 0.75)))
    reach = 1.5 * (third - first)
    inside = ordered[(ordered >= first - reach) & (ordered <= third + reach)]
    mean = math.fsum(ordered) / len(ordered)
    variance = math.fsum((ordered - mean) ** 2) / (len(ordered) - 1) if len(ordered) > 1 else 0.0
    ends = {"minimum": float(ordered[0]), "maximum": float(ordered[-1])}
    box = {"first": first, "median": median, "third": third, "lower": float(inside[0]), "upper": float(inside[-1])}
    return {"n": len(ordered), "mean": mean, "sd": math.sqrt(variance), **ends, **box}


def rounded(value: float | None) -> float | None:
    """For rows of charts: four significant digits."""
    return None if value is None else float(f"{value:.4g}")


def spread(number: int) -> float:
    """An offset in [-1, 1] that keeps neighbouring dots apart, by the golden ratio: the same every time."""
    return round(2 * (number * _GOLDEN % 1) - 1, 3)


# Metric by metric.


def metric_exhibits(ranking: Ranking, teams: Teams, values: Sequence[CaseValues]) -> list[Exhibit]:
    """A panel for every metric; of more than twelve, only the first are drawn in advance."""
    panels = [
        share_bars(each, teams)
        if is_yes_or_no(each.metric, each.filled)
        else box_and_dots(each, teams, case_rows(ranking, each), column=column)
        for column, each in enumerate(values, FIRST_METRIC_COLUMN)
    ]
    if len(values) <= MOST_PANELS:
        return panels
    return [replace(each, drawn=n < MOST_DETAILED) for n, each in enumerate(panels)]


def case_rows(ranking: Ranking, each: CaseValues) -> list[Spec]:
    """Every case of every team with a value, for drawings in advance; every n-th case where there would be too many."""
    step = max(1, each.filled.size // _MOST_DOTS)
    places = places_in_case(each.filled, higher_is_better=each.metric.direction == "higher")
    return [
        {
            "n": row,
            "case": on_one_line(case),
            "value": rounded(float(each.filled[row, number])),
            "rank": int(each.ranks[row, number]),
            "place": int(places[row, number]) + 1,
            "spread": spread(number),
            "status": ranking.statuses[row][number],
        }
        for row in range(len(ranking.teams))
        for number, case in list(enumerate(ranking.cases))[::step]
        if not np.isnan(each.filled[row, number])
    ]


def box_and_dots(each: CaseValues, teams: Teams, cases: Sequence[Spec], *, column: int) -> Exhibit:
    """One row per team in the order of the ranking, worst values filled in; `column` is the metric's in the tables of
    cases."""
    metric, intervals = each.metric, each.intervals
    ordered = [defined(row) for row in each.filled]
    found = [summarise(row) for row in ordered]
    spans = [interval or (None, None) for interval in intervals] if intervals else [(None, None)] * len(teams)
    boxes = [
        {"n": row, "low": rounded(low), "high": rounded(high)} | {key: rounded(summary[key]) for key in _BOX}
        for row, (summary, (low, high)) in enumerate(zip(found, spans, strict=True))
        if summary
    ]
    known = [(summary["median"], name) for summary, name in zip(found, teams.names, strict=True) if summary]
    extreme = (max if metric.direction == "higher" else min)(known, key=lambda pair: pair[0], default=None)
    spoken = f" {metric.unit}" if metric.unit else ""
    finding = (
        f"The best median is {figure(extreme[0])}{spoken}, of {extreme[1]}." if extreme else "No case has a value."
    )
    better = f"{metric.direction} is better"
    caption = f"{better.capitalize()}."
    scale: Spec = {"zero": False}
    beyond = "false"
    if ends := _cut_axis(np.concatenate(ordered), metric.worst):
        caption += f" The axis is cut before the worst value, {figure(metric.worst)}: what is beyond is at its end."
        scale = {"domain": list(ends), "clamp": True, "nice": False}
        beyond = f"datum.value < {ends[0]!r} || datum.value > {ends[1]!r}"
    shape = {"condition": {"test": beyond, "value": "triangle-right"}, "value": "circle"}
    picked = {"condition": {"test": "datum.n == picked", "value": "var(--accent)"}, "value": "var(--quiet)"}
    below = {**vega.LINE, "yOffset": _BELOW}
    box = {"height": 12, "fill": "var(--accent)", "fillOpacity": 0.22, "stroke": "var(--accent)"}
    of_case, of_team = tips("team", "case", "value", "rank", "status"), tips("team", *_BOX, "low", "high")
    value = q("value", title=f"{each.title}, {better}", scale=scale, axis={"tickCount": 5})
    offset = q("spread", scale={"domain": [-1.3, 1.3]})
    layers = [
        layer("point", vega.DOT, data="cases", x=value, yOffset=offset, color=picked, shape=shape, tooltip=of_case),
        layer("rule", {"color": "var(--accent)"}, x=q("lower"), x2=f("upper"), tooltip=of_team),
        layer("bar", box, x=q("first"), x2=f("third"), tooltip=of_team),
        layer("rule", below, "isValid(datum.low)", x=q("low"), x2=f("high"), tooltip=of_team),
        layer("tick", vega.MEDIAN, x=q("median"), tooltip=of_team),
        layer("point", {**vega.DIAMOND, "yOffset": _BELOW}, x=q("mean"), tooltip=of_team),
    ]
    height = {"step": teams.step + 6}
    chart = layered(f"{caption} {finding}", layers, teams, rows=boxes, cases=cases, height=height)
    table = _summary_table(teams.names, found, cases=each.filled.shape[1], intervals=intervals)
    return Exhibit(metric.title, caption, chart | from_tables(column, metric), table, metric=metric.title)


def from_tables(column: int, metric: Metric) -> Spec:
    """The column of the tables from which the script takes the dataset `cases`; its rows here are drawn in advance."""
    return {"usermeta": {"column": column, "higher": metric.direction == "higher"}}


def _cut_axis(values: Floats, worst: float) -> tuple[float, float] | None:
    """The ends of an axis without the worst value, where that is farther from the others than twice their range: a few
    failed cases must not press all others into a corner."""
    others = values[values != worst]
    if len(others) < 2 or len(others) == len(values):
        return None
    low, high = float(others.min()), float(others.max())
    if high == low or max(low - worst, worst - high) <= _WORTH_A_CUT * (high - low):
        return None
    margin = 0.05 * (high - low)
    return (low - margin, high) if worst < low else (low, high + margin)


def _summary_table(
    names: Sequence[str], found: Sequence[dict[str, float] | None], *, cases: int, intervals: Intervals | None
) -> Table:
    """One row of figures per team, all with the same decimals; `Undefined` counts the cases without a value."""
    decimals = even_decimals([each[key] for each in found if each for key in ("mean", "minimum", "maximum")])
    keys = ("mean", "sd", "minimum", "first", "median", "third", "maximum")
    rows = []
    for row, (name, each) in enumerate(zip(names, found, strict=True)):
        mean, *others = (fixed(each[key] if each else None, decimals) for key in keys)
        interval = [interval_words(intervals[row], decimals) or NOTHING] if intervals else []
        rows.append((name, str(cases), str(cases - int(each["n"] if each else 0)), mean, *interval, *others))
    of_mean = ["Interval of the mean"] if intervals else []
    quartiles = ("Minimum", "Lower quartile", "Median", "Upper quartile", "Maximum")
    return Table(("Team", "Cases", "Undefined", "Mean", *of_mean, "SD", *quartiles), rows)


def is_yes_or_no(metric: Metric, values: Floats) -> bool:
    """Whether a metric from 0 to 1 only ever takes these two values: a box of zeros and ones says nothing."""
    return (metric.lowest, metric.highest) == (0, 1) and bool(np.isin(defined(values.ravel()), (0, 1)).all())


def share_bars(each: CaseValues, teams: Teams) -> Exhibit:
    """One bar per team: the share of its cases with the value 1, and its interval."""
    metric, intervals = each.metric, each.intervals
    known = [defined(row) for row in each.filled]
    rows, cells = [], []
    for row, (name, values) in enumerate(zip(teams.names, known, strict=True)):
        hits, share = int(values.sum()), float(values.mean()) if len(values) else None
        low, high = (intervals[row] if intervals else None) or (None, None)
        if share is not None:
            text = f"{hits} of {len(values)}"
            rows.append({"n": row, "share": share, "low": low, "high": high, "text": text})
        span = NOTHING if low is None else f"{percent(low)} to {percent(high)}"
        cells.append((name, str(len(values)), str(hits), percent(share), *([span] if intervals else [])))
    better = f"{metric.direction} is better"
    line = ", the line its interval" if intervals else ""
    caption = f"{better.capitalize()}. A bar is the share of cases with the value 1{line}."
    of_share = ["Interval of the share"] if intervals else []
    table = Table(("Team", "Cases", "With the value 1", "Share", *of_share), cells)
    axis = q("share", title=f"{metric.title}: share of cases, {better}", scale={"domain": [0, 1]})
    layers = [
        layer("bar", vega.BAR, x=axis, tooltip=tips("team", "share", "low", "high", "text")),
        layer("rule", vega.LINE, "isValid(datum.low)", x=q("low"), x2=f("high")),
        layer("text", {"align": "left", "dx": 8}, x={"datum": 1}, text=f("text")),
    ]
    chart = layered(caption, layers, teams, rows=rows, height={"step": teams.step})
    return Exhibit(metric.title, caption, chart, table, metric=metric.title)


# Case by case.


def podium_plot(each: CaseValues, teams: Teams, cases: Sequence[Spec], *, column: int) -> Exhibit:
    """After Eugster et al. (2008): every case's values by the rank they earned, and who had it. Equal values are in the
    order of the ranking."""
    size, metric = len(teams), each.metric
    known = each.filled[:, each.defined]
    places = places_in_case(known, higher_is_better=metric.direction == "higher")
    counts = np.stack([(places == place).sum(axis=1) for place in range(size)], axis=1)
    first = int(counts[:, 0].argmax())
    words = caption = f"{teams.names[first]} has rank 1 most often, in {count(int(counts[first, 0]), 'case')}."
    bars = [
        {"n": team, "place": place + 1, "cases": int(counts[team, place])}
        for team, place in np.argwhere(counts).tolist()
    ]
    rows = [(name, *map(str, counts[team].tolist())) for team, name in enumerate(teams.names)]
    below = "Cases by place; equal values are in the order of the ranking"
    table = Table(("Team", *(f"Place {place + 1}" for place in range(size))), rows, below)
    between = {"labelAngle": 0, "grid": True, "bandPosition": 1}
    place = o("place", scale={"domain": list(range(1, size + 1))}, axis={**between, "labels": False})
    under = {**place, "title": "Rank in the case", "axis": {"labelAngle": 0}}
    lane = o("n", scale={"domain": list(range(size))})
    least = 9 * size * (size + 1)
    width = max(420, least)
    legend = {"labelExpr": "labels[datum.value]", "columns": width // 200}
    colour = {**vega.by_team(teams, vega.COLOURS, "var(--quiet)"), "legend": legend}
    value = q("value", title=f"{each.title}, {metric.direction} is better", **vega.FREE)
    link = {"color": "var(--quiet)", "strokeWidth": 1, "strokeOpacity": 0.25}
    shown = tips("team", "case", "value", "place")
    dot = layer("point", vega.DOT, data="cases", x=place, xOffset=lane, y=value, color=colour, tooltip=shown)
    dot["params"] = [{"name": "legend", "select": {"type": "point", "fields": ["n"]}, "bind": "legend"}]
    bar = layer("bar", {}, x=under, xOffset=lane, color=colour, tooltip=tips("team", "place", "cases"))
    bar["encoding"]["y"] = q("cases", title="Cases", axis={"tickCount": 2})
    layers = [layer("line", link, data="cases", x=place, xOffset=lane, y=value, detail=f("case")), dot]
    lower = layered(words, [bar], teams, height=70, width=width)["layer"][0]
    chart = layered(words, layers, teams, rows=bars, cases=cases, height=230, width=width)
    upper = {name: chart.pop(name) for name in ("layer", "width", "height")}
    chart |= {"vconcat": [upper, {**lower, "width": width, "height": 70}]} | from_tables(column, metric)
    return Exhibit(f"Podium plot: {metric.title}", caption, chart, table, wide=least > 520, metric=metric.title)


def places_in_case(values: Floats, *, higher_is_better: bool) -> NDArray[np.int64]:
    """(teams, cases): 0 for the best, every place taken once; equal values by the order of the teams, NaN last."""
    losses = np.where(np.isnan(values), np.inf, -values if higher_is_better else values)
    order = np.argsort(losses, axis=0, kind="stable")
    return np.asarray(np.argsort(order, axis=0, kind="stable"), dtype=np.int64)


def rank_heatmap(each: CaseValues, teams: Teams) -> Exhibit:
    """How many cases gave each team each rank, as the general schemes count ranks."""
    size = len(teams)
    counts = [np.bincount(row - 1, minlength=size)[:size].tolist() for row in each.ranks[:, each.defined]]
    marks = [
        {"n": team, "rank": rank, "cases": number}
        for team, row in enumerate(counts)
        for rank, number in enumerate(row, start=1)
        if number
    ]
    first = max(range(size), key=lambda team: int(counts[team][0]))
    caption = f"By this metric alone, {teams.names[first]} is first most often, in {count(counts[first][0], 'case')}."
    rows = [(name, *map(str, counts[row])) for row, name in enumerate(teams.names)]
    table = Table(("Team", *(f"Rank {rank + 1}" for rank in range(size))), rows)
    rank, title = vega.rank_axis("rank", teams), each.metric.title
    layers = [
        layer("rect", vega.CELL, x=rank, fillOpacity=vega.shade("cases"), tooltip=tips("team", "rank", "cases")),
        layer("text", {}, x=rank, text=f("cases")),
    ]
    sides = {"height": {"step": teams.step}, "width": {"step": teams.step + 4}}
    chart = layered(caption, layers, teams, rows=marks, **sides)
    return Exhibit(f"Ranking heat map: {title}", caption, chart, table, wide=size > MOST_TEAMS, metric=title)
