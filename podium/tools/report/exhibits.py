"""The charts of the reports with their captions, and each chart's figures as a table; a ranking's cases by metric."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, takewhile
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.challenges.base import Diagram
from podium.metrics import Floats
from podium.metrics.declaration import Curve, Direction, Metric
from podium.platform.metrics_file import Status
from podium.tools.ranking.result import CaseMetricResult, Interval, Intervals, Ranking, Row, Significance, Stability
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
    probability,
    with_interval,
)
from podium.tools.report import charts
from podium.tools.report.charts import Spec, Teams
from podium.tools.report.page import MOST_STILL_ROWS, Exhibit, Table

MOST_PANELS = 12
MOST_DETAILED = 4
"""How many metrics that the schemes rank by have their own maps and plots."""
MOST_TEAMS = 12
"""More columns than this cannot be read in a podium plot; the ranking heat map counts the same ranks."""

FIRST_METRIC_COLUMN = 2
"""In every table of cases: the case and its status come first."""

LARGEST = 1e150
"""What is larger cannot be squared; an error of that size is as good as none."""

_MEAN = "mean"
_SEPARATORS = (".", "/", ":", "|", "_", " ")
_GOLDEN = 0.618034
_BINS = 21
_MOST_DOTS = 3_000
_MOST_LINES, _MOST_POINTS, _TABLE_ROWS = 60, 160, 24
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


def spread(number: int) -> float:
    """An offset in [-1, 1] that keeps neighbouring dots apart, by the golden ratio: the same every time."""
    return round(2 * (number * _GOLDEN % 1) - 1, 3)


# How certain a ranking is.


def blob_plot(teams: Teams, stability: Stability, ranks: Sequence[int | None], *, confidence: float) -> Exhibit:
    """One row per team, one column per rank; a blob's area is its share of replicates."""
    shares = [
        {"n": row, "rank": rank, "share": share}
        for row, frequencies in enumerate(stability.rank_frequencies)
        for rank, share in enumerate(frequencies, start=1)
        if share
    ]
    spans = [
        {"n": row, "low": low, "high": high, "rank": ranks[row]}
        for row, (low, high) in enumerate(stability.rank_intervals)
    ]
    surest = max(range(len(teams)), key=lambda row: stability.rank_frequencies[row][0])
    told = f"{teams.names[surest]} ranks first most often, in {percent(stability.rank_frequencies[surest][0])} of them."
    caption = (
        f"{count(stability.replicates, 'bootstrap replicate')} of the cases. The area of a blob is the share of "
        f"replicates that gave the team that rank; the line is the {percent(confidence)} interval, the diamond the "
        "rank on all cases."
    )
    head = ("Team", "Rank", f"{percent(confidence)} interval", *(f"Rank {rank + 1}" for rank in range(len(teams))))
    rows = [
        (name, figure(rank), f"{low} to {high}", *(percent(share) for share in frequencies))
        for name, rank, (low, high), frequencies in zip(
            teams.names, ranks, stability.rank_intervals, stability.rank_frequencies, strict=True
        )
    ]
    chart = charts.blobs(shares, spans, teams, words=f"{caption} {told}")
    return Exhibit("Blob plot of bootstrap ranks", caption, chart, Table(head, rows), wide=len(teams) > MOST_TEAMS)


def tau_violin(schemes: Sequence[str], taus: Sequence[Floats]) -> Exhibit:
    """One violin per scheme; `taus` are its replicates' tau-b to the ranking on all cases, NaN where all teams tie."""
    ordered = [defined(each) for each in taus]
    found = [summarise(each) for each in ordered]
    keys = ("mean", "first", "median", "third", "minimum")
    quartiles = [{"number": number, **each} for number, each in enumerate(found) if each]
    outlines = [
        {"number": number, "tau": tau, "upper": number - half, "lower": number + half}
        for number, each in enumerate(ordered)
        for tau, half in _outline(each)
    ]
    caption = (
        "Kendall's τ-b between the ranking on all cases and the ranking of each bootstrap replicate, by scheme: 1 is "
        "the same order, 0 none in common. The bar spans the quartiles, the diamond is the mean; where all replicates "
        "have the same τ, there is no violin."
    )
    rows = [
        (scheme, str(each["n"] if each else 0), *(fixed(each[key] if each else None, 3) for key in keys))
        for scheme, each in zip(schemes, found, strict=True)
    ]
    head = ("Scheme", "Replicates", "Mean", "Lower quartile", "Median", "Upper quartile", "Minimum")
    chart = charts.violins(outlines, quartiles, schemes=schemes, words=caption)
    return Exhibit("Violin plot of Kendall's τ", caption, chart, Table(head, rows))


def _outline(ordered: Floats) -> list[tuple[float, float]]:
    """Half the width of a violin by value; none around one value, which would show a spread that is not there."""
    if not len(ordered) or ordered[0] == ordered[-1]:
        return []
    places = np.linspace(max(-1.0, ordered[0] - 0.02), min(1.0, ordered[-1] + 0.02), 60)
    return list(zip(places.round(4).tolist(), (0.42 * density(ordered, places)).round(4).tolist(), strict=True))


def density(ordered: Floats, places: Floats) -> Floats:
    """A Gaussian kernel density by Silverman's rule, scaled to a greatest value of 1; never narrower than 0.01."""
    wide = min(float(ordered.std()), float(np.subtract(*np.quantile(ordered, (0.75, 0.25)))) / 1.34 or np.inf)
    width = max(0.9 * wide * len(ordered) ** -0.2, 0.01)
    levels, weights = np.unique(ordered, return_counts=True)
    heights = (weights * np.exp(-0.5 * ((places[:, None] - levels) / width) ** 2)).sum(axis=1)
    return np.asarray(heights / heights.max())


def significance_map(title: str, teams: Teams, tests: Significance, *, alpha: float) -> Exhibit:
    """A full disc on colour: significant after Holm's adjustment. A ring: only without it. Nothing: neither."""
    size = len(teams)
    pairs = [(row, column) for row in range(size) for column in range(size) if row != column]
    cells = [
        {
            "n": row,
            "other": column,
            "p": _rounded(tests.p[row][column]),
            "holm": _rounded(tests.p_holm[row][column]),
            "text": "●" if tests.significant_holm[row][column] else "○" if tests.significant[row][column] else "",
        }
        for row, column in pairs
    ]
    wins = sum(map(sum, tests.significant_holm))
    caption = (
        f"One-sided p-values that the row's team beats the column's: paired Wilcoxon tests in {title}. ● is better "
        f"after Holm's adjustment (p ≤ {alpha:g}), ○ only without it. {count(wins, 'ordered pair')} of {len(pairs)} "
        f"differ at {alpha:g} after Holm's adjustment."
    )

    def cell(row: int, column: int) -> str:
        p, holm = tests.p[row][column], tests.p_holm[row][column]
        return NOTHING if row == column else f"{probability(p)} (Holm {probability(holm)})"

    rows = [(name, *(cell(row, column) for column in range(size))) for row, name in enumerate(teams.names)]
    below = "p values, and adjusted by Holm's method over all ordered pairs"
    table = Table(("Team better than", *teams.names), rows, below)
    chart = charts.significance_map(cells, teams, words=caption)
    wide = size > MOST_TEAMS
    return Exhibit(f"Significance map: {title}", caption, chart, table, wide=wide, metric=title)


def _rounded(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.4g}")


def rank_lines(teams: Teams, columns: Sequence[str], ranks: Floats, *, what: str = "scheme") -> Exhibit:
    """One line per team, one column per scheme, or per another `what` of ranking (`ranks`, teams by columns, NaN where
    unranked); rank 1 at the top. Labels of teams that tie are in the free places below their rank."""
    size, last = len(teams), len(columns) - 1
    rows = [
        {"n": team, "column": column, "rank": int(ranks[team, column])}
        for team in range(size)
        for column in range(len(columns))
        if not np.isnan(ranks[team, column])
    ]
    ends = []
    for column, align in ((0, "right"), (last, "left")):
        order = sorted(range(size), key=lambda team: (float(np.nan_to_num(ranks[team, column], nan=np.inf)), team))
        for slot, team in enumerate(order, start=1):
            name, rank = f"\u2068{on_one_line(teams.names[team], 22)}\u2069", _rank(ranks[team, column])
            text = f"{name}  {rank}" if align == "right" else f"{rank}  {name}"
            ends.append({"n": team, "column": column, "slot": slot, "text": text, "align": align})
    best, worst = np.fmin.reduce(ranks, axis=1), np.fmax.reduce(ranks, axis=1)
    moves = np.nan_to_num(worst - best)
    farthest, steady = int(np.argmax(moves)), int((moves == 0).sum())
    told = (
        f"No team's rank depends on the {what}."
        if steady == size
        else f"{teams.names[farthest]} moves most, from rank {_rank(best[farthest])} to {_rank(worst[farthest])}."
    )
    caption = f"{told} {count(steady, 'team')} of {size} keep the same rank in all {len(columns)} columns."
    cells = [(name, *map(_rank, ranks[row])) for row, name in enumerate(teams.names)]
    chart = charts.rank_lines(rows, ends, teams, columns=columns, words=caption)
    return Exhibit(f"Ranks under every {what}", caption, chart, Table(("Team", *columns), cells), wide=True)


def _rank(rank: float) -> str:
    return NOTHING if np.isnan(rank) else str(int(rank))


# Metric by metric.


def metric_exhibits(ranking: Ranking, teams: Teams, values: Sequence[CaseValues]) -> list[Exhibit]:
    """A panel for every metric; with more than twelve metrics, also maps of all of them, and only the first panels are
    drawn in advance."""
    panels = [
        share_bars(each, teams)
        if is_yes_or_no(each.metric, each.filled)
        else box_and_dots(each, teams, case_rows(ranking, each), column=column)
        for column, each in enumerate(values, FIRST_METRIC_COLUMN)
    ]
    if len(values) <= MOST_PANELS:
        return panels
    return [*_maps(teams, values), *(replace(each, drawn=n < MOST_DETAILED) for n, each in enumerate(panels))]


def case_rows(ranking: Ranking, each: CaseValues) -> list[Spec]:
    """Every case of every team with a value, for drawings in advance; every n-th case where there would be too many."""
    step = max(1, each.filled.size // _MOST_DOTS)
    places = places_in_case(each.filled, higher_is_better=each.metric.direction == "higher")
    return [
        {
            "n": row,
            "case": on_one_line(case),
            "value": _rounded(float(each.filled[row, number])),
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
        {"n": row, "low": _rounded(low), "high": _rounded(high)} | {key: _rounded(summary[key]) for key in _BOX}
        for row, (summary, (low, high)) in enumerate(zip(found, spans, strict=True))
        if summary
    ]
    ends = _cut_axis(np.concatenate(ordered), metric.worst)
    known = [(summary["median"], name) for summary, name in zip(found, teams.names, strict=True) if summary]
    extreme = (max if metric.direction == "higher" else min)(known, key=lambda pair: pair[0], default=None)
    spoken = f" {metric.unit}" if metric.unit else ""
    told = f"The best median is {figure(extreme[0])}{spoken}, of {extreme[1]}." if extreme else "No case has a value."
    better = f"{metric.direction} is better"
    caption = (
        f"{better.capitalize()}. A dot is a case, the box spans the middle half, the bar is the median, the diamond "
        f"the mean{' with its interval' if intervals else ''}; whiskers reach 1.5 box lengths."
    )
    if ends:
        caption += f" The axis is cut before the worst value, {figure(metric.worst)}: what is beyond is at its end."
    chart = charts.box_and_dots(boxes, teams, title=f"{each.title}, {better}", words=f"{caption} {told}", ends=ends)
    table = _summary_table(teams.names, found, cases=each.filled.shape[1], intervals=intervals)
    chart = with_cases(chart, cases, column, metric.direction)
    return Exhibit(metric.title, caption, chart, table, metric=metric.title)


def with_cases(chart: Spec, cases: Sequence[Spec], column: int, direction: Direction) -> Spec:
    """The chart with the rows of its drawing in advance; the script takes them from this column of the tables."""
    chart["datasets"]["cases"] = list(cases)
    return {**chart, "usermeta": {"column": column, "higher": direction == "higher"}}


def _cut_axis(values: Floats, worst: float) -> tuple[float, float] | None:
    """The ends of an axis without the worst value, where that is farther from the others than twice their range: a few
    lost cases must not press all others into a corner."""
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
    chart = charts.share_bars(rows, teams, title=f"{metric.title}: share of cases, {better}", words=caption)
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
    caption = (
        "Each column is a rank, with the teams from left to right in the order of the ranking, as in the legend. A dot "
        "is a case, a line joins its dots, and the bars below count how often a team had the rank."
    )
    told = f"{teams.names[first]} has rank 1 most often, in {count(int(counts[first, 0]), 'case')}."
    bars = [
        {"n": team, "place": place + 1, "cases": int(counts[team, place])}
        for team in range(size)
        for place in range(size)
        if counts[team, place]
    ]
    title = f"{each.title}, {metric.direction} is better"
    chart = charts.podium_plot(cases, bars, teams, title=title, words=f"{caption} {told}")
    rows = [(name, *map(str, counts[team].tolist())) for team, name in enumerate(teams.names)]
    below = "Cases by place; equal values are in the order of the ranking"
    table = Table(("Team", *(f"Place {place + 1}" for place in range(size))), rows, below)
    chart = with_cases(chart, cases, column, metric.direction)
    wide = 9 * size * (size + 1) > 520
    return Exhibit(f"Podium plot: {metric.title}", caption, chart, table, wide=wide, metric=metric.title)


def places_in_case(values: Floats, *, higher_is_better: bool) -> NDArray[np.int64]:
    """(teams, cases): 0 for the best, every place taken once; equal values by the order of the teams, NaN last."""
    losses = np.where(np.isnan(values), np.inf, -values if higher_is_better else values)
    order = np.argsort(losses, axis=0, kind="stable")
    return np.asarray(np.argsort(order, axis=0, kind="stable"), dtype=np.int64)


def rank_heatmap(each: CaseValues, teams: Teams) -> Exhibit:
    """How many cases gave each team each rank, as the general schemes count ranks."""
    size = len(teams)
    counts = [np.bincount(row - 1, minlength=size)[:size].tolist() for row in each.ranks[:, each.defined]]
    cells = [
        {"n": team, "rank": rank, "cases": number}
        for team, row in enumerate(counts)
        for rank, number in enumerate(row, start=1)
        if number
    ]
    first = max(range(size), key=lambda team: int(counts[team][0]))
    told = f"{teams.names[first]} is first most often, in {count(counts[first][0], 'case')}."
    caption = (
        "Each cell counts the cases that gave the team that rank by this metric alone; ties share the better rank."
    )
    rows = [(name, *map(str, counts[row])) for row, name in enumerate(teams.names)]
    table = Table(("Team", *(f"Rank {rank + 1}" for rank in range(size))), rows)
    chart, title = charts.rank_heatmap(cells, teams, words=f"{caption} {told}"), each.metric.title
    return Exhibit(f"Ranking heat map: {title}", caption, chart, table, wide=size > MOST_TEAMS, metric=title)


# Many metrics: maps of all means.


@dataclass(frozen=True, kw_only=True)
class Grid:
    """Metrics as families of labels: `places[(family, label)]` is the number of the metric."""

    families: Sequence[str]
    labels: Sequence[str]
    places: Mapping[tuple[str, str], int]


def grid_of(names: Sequence[str]) -> Grid | None:
    """`dice.liver`, `dice.spleen`, `nsd.liver`, ... as families and labels, where every family has every label."""
    for separator in _SEPARATORS:
        if not all(separator in name for name in names):
            continue
        for split in (str.partition, str.rpartition):
            parts = [split(name, separator) for name in names]
            for first, second in ((0, 2), (2, 0)):
                families = list(dict.fromkeys(part[first] for part in parts))
                labels = list(dict.fromkeys(part[second] for part in parts))
                places = {(part[first], part[second]): number for number, part in enumerate(parts)}
                if len(families) <= len(labels) and len(places) == len(families) * len(labels) == len(names):
                    return Grid(families=families, labels=labels, places=places)
    return None


def _maps(teams: Teams, values: Sequence[CaseValues]) -> list[Exhibit]:
    grid = grid_of([each.metric.name for each in values]) or grid_of([each.metric.title for each in values])
    if grid is None:
        return [_map("Means of all metrics", teams, values, [each.title for each in values])]
    titles = [_family_title(family, grid, values) for family in grid.families]
    labels = ["mean of labels" if label == _MEAN else label.replace("_", " ") for label in grid.labels]
    columns = [[values[grid.places[family, label]] for label in grid.labels] for family in grid.families]
    found = [[defined(each.means) for each in column] for column in columns]
    overview = figure_heatmap(
        "Labels by metric",
        "The median over the teams of their mean in every label and metric; below it, the lowest and the highest.",
        Teams(labels),
        titles,
        values=np.array([[float(np.median(each)) if each.size else np.nan for each in column] for column in found]).T,
        directions=[column[0].metric.direction for column in columns],
        intervals=[
            [(float(column[row][0]), float(column[row][-1])) if column[row].size else None for column in found]
            for row in range(len(labels))
        ],
        corner="Label",
    )
    by_family = zip(titles, columns, strict=True)
    return [overview, *(_map(f"Means by label: {title}", teams, column, labels) for title, column in by_family)]


def _family_title(family: str, grid: Grid, values: Sequence[CaseValues]) -> str:
    """The common beginning of its titles, as in "Dice liver" and "Dice spleen"; the family's name where there is none.
    The mean over labels may have a different title."""
    words = [values[grid.places[family, label]].metric.title.split() for label in grid.labels if label != _MEAN]
    common = [column[0] for column in takewhile(lambda column: len(set(column)) == 1, zip(*words, strict=False))]
    return " ".join(common) or family


def _map(title: str, teams: Teams, chosen: Sequence[CaseValues], columns: Sequence[str]) -> Exhibit:
    units = {each.metric.unit for each in chosen if each.metric.unit}
    directions = {each.metric.direction for each in chosen}
    better = f" {next(iter(directions)).capitalize()} is better." if len(directions) == 1 else ""
    unit = f" in {next(iter(units))}" if len(units) == 1 else ""
    return figure_heatmap(
        title,
        f"The mean over cases{unit} of every team above its interval; missing values count as the worst.{better}",
        teams,
        columns,
        values=np.array([each.means for each in chosen], dtype=np.float64).T,
        directions=[each.metric.direction for each in chosen],
        intervals=[[each.intervals[row] if each.intervals else None for each in chosen] for row in range(len(teams))],
        corner="Team",
    )


def figure_heatmap(  # noqa: PLR0913  (a table, its two heads, and what is said of it)
    title: str,
    caption: str,
    rows: Teams,
    columns: Sequence[str],
    *,
    values: Floats,
    directions: Sequence[Direction],
    intervals: Sequence[Sequence[Interval | None]] | None = None,
    corner: str,
) -> Exhibit:
    """`values[row, column]`, NaN where there is none, each above its interval; `directions` by column. A column's best
    figure is strongest."""
    found = intervals or [[None] * len(columns)] * len(rows)
    decimals = [even_decimals(column[~np.isnan(column)].tolist(), most=3) for column in values.T]
    cells = []
    for column, direction in enumerate(directions):
        shades = _shades(values[:, column], direction)
        for row in range(len(rows)):
            if not np.isnan(values[row, column]):
                ends = found[row][column]
                below = "–".join(fixed(end, decimals[column]) for end in ends) if ends else ""
                text = fixed(float(values[row, column]), decimals[column])
                cells.append({"n": row, "column": column, "text": text, "below": below, "shade": shades[row]})
    caption = f"{caption} In every column the best figure has the strongest colour."
    lines = [
        (name, *(with_interval(float(v), ends, n + 1) for v, ends, n in zip(*each, decimals, strict=True)))
        for name, *each in zip(rows.names, values, found, strict=True)
    ]
    chart = charts.figure_heatmap(cells, rows, columns=columns, words=caption)
    return Exhibit(title, caption, chart, Table((corner, *columns), lines), wide=len(columns) > 4)


def _shades(column: Floats, direction: Direction) -> list[float]:
    """From 0 for the worst figure of the column to 1 for the best."""
    known = column[~np.isnan(column)]
    low, high = (float(known.min()), float(known.max())) if known.size else (0.0, 0.0)
    share = (column - low) / (high - low) if high > low else np.full(column.shape, 0.5)
    return [round(each, 3) for each in (share if direction == "higher" else 1 - share).tolist()]


# One submission.


def distribution(metric: Metric, cases: Sequence[tuple[str, Status, float | None]], *, column: int) -> Exhibit:
    """A histogram over a strip of cases, with the values that the rules give failed and missing ones."""
    ordered = defined(value for _, _, value in cases)
    summary = summarise(ordered)
    heights, edges = np.histogram(ordered, bins=_BINS)  # equal values are in the middle one
    bins = [
        {"low": float(low), "high": float(high), "cases": int(height)}
        for height, (low, high) in zip(heights, pairwise(edges), strict=True)
        if height
    ]
    told = "No case has a value."
    if summary:
        number = count(int(summary["n"]), "case")
        told = f"Median {figure(summary['median'])}, mean {figure(summary['mean'])} over {number}."
    lost = sum(status != "scored" and value is not None for _, status, value in cases)
    filled = f" {count(lost, 'failed or missing case')} included." if lost else ""
    without = len(cases) - len(ordered)
    left_out = f" {count(without, 'case')} without a value left out." if without else ""
    caption = f"{told} The line is the median, the diamond the mean.{filled}{left_out}"
    marks = [{"median": summary["median"], "mean": summary["mean"]}] if summary else []
    title = f"{title_of(metric)}, {metric.direction} is better"
    dots = [
        {"case": on_one_line(case), "status": status, "value": value, "spread": spread(number)}
        for number, (case, status, value) in enumerate(cases)
        if value is not None and abs(value) <= LARGEST and len(cases) <= MOST_STILL_ROWS
    ]
    ends = (float(edges[0]), float(edges[-1]))
    chart = charts.histogram(bins, marks, ends=ends, title=title, words=f"{title}. {caption}")
    rows = [(figure(each["low"]), figure(each["high"]), str(each["cases"])) for each in bins]
    chart = with_cases(chart, dots, column, metric.direction)
    return Exhibit(metric.title, caption, chart, Table(("From", "To", "Cases"), rows))


def curves(curve: Curve, cases: Mapping[str, Sequence[float | None]]) -> Exhibit:
    """A thin line per case, and over them the mean and the middle half of the cases that reach that far."""
    table = np.full((len(cases), max(map(len, cases.values()), default=0)), math.nan)
    for row, values in enumerate(cases.values()):
        table[row, : len(values)] = drawable(values)
    length = table.shape[1]
    lines = np.unique(np.rint(np.linspace(0, len(table) - 1, min(len(table), _MOST_LINES))).astype(int)).tolist()
    most = max(2, min(_MOST_POINTS, MOST_STILL_ROWS // (len(lines) + 1)))
    places = [(math.floor(start) + math.ceil(end) - 1) / 2 + curve.first for start, end in _spans(length, most)]
    short = _shortened(table, most)
    names = [on_one_line(case) for case in cases]
    thin = [
        {"case": names[row], "place": place, "value": _rounded(float(value))}
        for row in lines
        for place, value in zip(places, short[row], strict=True)
        if math.isfinite(value)
    ]
    means = [
        {"place": place, **summary}
        for place, column in zip(places, short.T, strict=True)
        if (summary := summarise(defined(column)))
    ]
    spoken = f" {curve.unit}" if curve.unit else ""
    told = "No case has a value."
    if means:
        told = f"The mean runs from {figure(means[0]['mean'])} to {figure(means[-1]['mean'])}{spoken}."
    drawn = f" {_MOST_LINES} of {len(table):,} cases are drawn." if len(table) > _MOST_LINES else ""
    caption = (
        f"{told} Thin lines are {count(len(table), 'case')}, the thick line is the mean of those that are long enough, "
        f"the band their middle half.{drawn}"
    )
    title = f"{title_of(curve)}, {curve.direction} is better"
    rows = []
    for (start, end), column in zip(_spans(length, _TABLE_ROWS), _shortened(table, _TABLE_ROWS).T, strict=True):
        first, last = math.floor(start) + curve.first, math.ceil(end) - 1 + curve.first
        each = summarise(defined(column))
        name = str(first) if first == last else f"{first} to {last}"
        cells = (figure(each[key] if each else None) for key in ("mean", "first", "third"))
        rows.append((name, str(each["n"] if each else 0), *cells))
    head = (curve.along, "Cases", "Mean", "Lower quartile", "Upper quartile")
    chart = charts.curves(thin, means, along=curve.along, title=title, words=f"{title}. {caption}")
    return Exhibit(f"{curve.title} over {curve.along.lower()}s", caption, chart, Table(head, rows))


def _spans(length: int, most: int) -> list[tuple[float, float]]:
    return list(pairwise(np.linspace(0, length, min(length, most) + 1).tolist()))


def _shortened(table: Floats, most: int) -> Floats:
    """At most a fixed number of points per row: the mean of the neighbours that share one, NaN where none is known."""
    columns = []
    for start, end in _spans(table.shape[1], most):
        part = table[:, math.floor(start) : math.ceil(end)]
        counts = np.isfinite(part).sum(axis=1)
        totals = np.where(np.isfinite(part), part, 0.0).sum(axis=1)
        columns.append(np.divide(totals, counts, out=np.full(len(table), math.nan), where=counts > 0))
    return np.stack(columns, axis=1) if columns else table


def diagram(data: Diagram) -> Exhibit:
    """Lines, dots, levels and the diagonal over two axes; the table has points of all of them."""
    thinned = {name: _thinned(points, 600 // len(data.lines)) for name, points in data.lines.items()}
    points = [*data.dots, *(point for each in data.lines.values() for point in each)]
    both = [value for point in points for value in point]
    scale: dict[str, Any] = {"zero": False}
    low, high = (0.0, 1.0) if data.share else (min(both, default=0.0), max(both, default=1.0))
    if data.share or data.diagonal:  # both axes the same, so that the diagonal is one
        scale = {"domain": [low, high]}
    levels = [{"y": level, "text": f"{name} {figure(level)}"} for name, level in data.levels.items()]
    rows: dict[str, Any] = {
        "lines": [
            {"series": on_one_line(name), "x": x, "y": y, "order": order}
            for name, each in thinned.items()
            for order, (x, y) in enumerate(each)
        ],
        "dots": [{"x": x, "y": y} for x, y in _thinned(data.dots, 600)],
        "levels": levels,
        "diagonal": [{"x": low, "y": low}, {"x": high, "y": high}] if data.diagonal else [],
    }
    axes = {name: {"title": on_one_line(title), "scale": scale} for name, title in (("x", data.x), ("y", data.y))}
    cells: list[tuple[str, str, str]] = [(name, "", figure(level)) for name, level in data.levels.items()]
    for name, each in (*data.lines.items(), *([("case", data.dots)] if data.dots else [])):
        cells += [(name, figure(x), figure(y)) for x, y in _thinned(each, _TABLE_ROWS)]
    chart = charts.diagram(rows, x=axes["x"], y=axes["y"], words=f"{data.y} over {data.x}. {data.told}")
    return Exhibit(data.title, data.told, chart, Table(("", data.x, data.y), cells))


def _thinned(points: Sequence[tuple[float, float]], most: int) -> list[tuple[float, float]]:
    """About `most` of the points, the first and the last among them."""
    kept = [*points[: -1 : max(1, math.ceil(len(points) / most))], *points[-1:]]
    return [(float(x), float(y)) for x, y in kept]
