"""How certain a ranking is: intervals of scores, ranks in the bootstrap, tests, and ranks under other schemes."""

from collections.abc import Sequence

import numpy as np

from podium.metrics import Floats
from podium.tools.ranking.result import Interval, Significance, Stability
from podium.tools.ranking.wording import (
    NOTHING,
    column_decimals,
    count,
    figure,
    fixed,
    interval_words,
    on_one_line,
    percent,
    probability,
)
from podium.tools.report import vega
from podium.tools.report.exhibits import MOST_TEAMS, defined, rounded, summarise
from podium.tools.report.page import Exhibit, Table
from podium.tools.report.vega import Spec, Teams, f, layer, layered, o, q, tips


def intervals(
    title: str, caption: str, teams: Teams, rows: Sequence[tuple[int, str, float | None, Interval | None]]
) -> list[Exhibit]:
    """Values with intervals by team, and by series where these have names; nothing of no values."""
    known = [(row, series, value, interval) for row, series, value, interval in rows if value is not None]
    if not known:
        return []
    decimals = column_decimals(value for *_, value, _ in known)
    cells = [
        (teams.names[row], *filter(None, [name]), fixed(value, decimals), interval_words(ends, decimals) or NOTHING)
        for row, name, value, ends in known
    ]
    marks = [
        {"n": row, "value": value, **({"series": series} if series else {})}
        | dict(zip(("low", "high"), interval or (None, None), strict=True))
        for row, series, value, interval in known
    ]
    names = list(dict.fromkeys(series for _, series, *_ in known if series))
    colours, shapes = vega.by_series(names, vega.COLOURS), vega.by_series(names, vega.SHAPES)
    offset: Spec = {"yOffset": vega.nominal("series", sort=names), "color": colours} if names else {}
    shape: Spec = {"shape": shapes} if names else {}
    plain = {} if names else {"color": "var(--accent)"}
    whisker = {"strokeWidth": 7, "strokeOpacity": 0.35, "strokeCap": "round", **plain}
    low = q("low", title=title.removeprefix("Scores: "), **vega.FREE)
    shown = tips("team", *(["series"] if names else []), "value", "low", "high")
    layers = [
        layer("rule", whisker, "isValid(datum.low)", x=low, x2=f("high"), **offset),
        layer("point", {"filled": True, "size": 110, **plain}, x=q("value"), tooltip=shown, **offset, **shape),
    ]
    height = {"step": 18 if names else teams.step}  # of one series
    chart = layered(caption, layers, teams, rows=marks, height=height)
    return [Exhibit(title, caption, chart, Table(("Team", *(["Series"] if names else []), "Value", "Interval"), cells))]


def blob_plot(teams: Teams, stability: Stability, ranks: Sequence[int | None], *, confidence: float) -> Exhibit:
    """One row per team, one column per rank; a blob's area is its share of replicates."""
    frequencies, spans = stability.rank_frequencies, stability.rank_intervals
    blobs = [
        {"n": row, "rank": rank, "share": share}
        for row, shares in enumerate(frequencies)
        for rank, share in enumerate(shares, start=1)
        if share
    ]
    lines = [{"n": row, "low": low, "high": high, "rank": ranks[row]} for row, (low, high) in enumerate(spans)]
    surest = max(range(len(teams)), key=lambda row: frequencies[row][0])
    told = f"{teams.names[surest]} ranks first most often, in {percent(frequencies[surest][0])} of them."
    caption = (
        f"{count(stability.replicates, 'bootstrap replicate')} of the cases. The area of a blob is the share of "
        f"replicates that gave the team that rank; the line is the {percent(confidence)} interval, the diamond the "
        "rank on all cases."
    )
    head = ("Team", "Rank", f"{percent(confidence)} interval", *(f"Rank {rank + 1}" for rank in range(len(teams))))
    cells = [
        (name, figure(rank), f"{low} to {high}", *map(percent, shares))
        for name, rank, (low, high), shares in zip(teams.names, ranks, spans, frequencies, strict=True)
    ]
    area = q("share", legend=None, scale={"domain": [0, 1], "range": [0, 0.62 * teams.step**2]})
    rank, low = vega.rank_axis("rank", teams), vega.rank_axis("low", teams)
    blob, shown = {"color": "var(--accent)", "fillOpacity": 0.72}, tips("team", "rank", "low", "high")
    layers = [
        layer("circle", blob, x=rank, size=area, tooltip=tips("team", "rank", "share")),
        layer("rule", vega.LINE, data="spans", x=low, x2=f("high")),
        layer("point", vega.DIAMOND, "isValid(datum.rank)", data="spans", x=rank, tooltip=shown),
    ]
    side = {"step": teams.step}
    chart = layered(f"{caption} {told}", layers, teams, rows=blobs, spans=lines, height=side, width=side)
    return Exhibit("Blob plot of bootstrap ranks", caption, chart, Table(head, cells), wide=len(teams) > MOST_TEAMS)


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
    cells = [
        (scheme, str(each["n"] if each else 0), *(fixed(each[key] if each else None, 3) for key in keys))
        for scheme, each in zip(schemes, found, strict=True)
    ]
    head = ("Scheme", "Replicates", "Mean", "Lower quartile", "Median", "Upper quartile", "Minimum")
    axis = {"values": list(range(len(schemes))), "labelExpr": "schemes[datum.value]", "grid": False}
    y = q("upper", axis=axis, scale={"domain": [-0.5, len(schemes) - 0.5], "reverse": True, "nice": False})
    tau = q("tau", title="Kendall's τ-b, higher is steadier", **vega.FREE)
    violin = {"fill": "var(--accent)", "fillOpacity": 0.22, "stroke": "var(--accent)", "strokeWidth": 1.2}
    thick, upright = {"color": "var(--accent)", "strokeWidth": 7}, {**vega.MEDIAN, "orient": "vertical"}
    shown, row = tips("scheme", "first", "median", "third", "mean"), q("number")
    layers = [
        layer("area", violin, x=tau, y=y, y2=f("lower"), detail=o("number")),
        layer("rule", thick, data="quartiles", x=q("first"), x2=f("third"), y=row, tooltip=shown),
        layer("tick", upright, data="quartiles", x=q("median"), y=row, tooltip=shown),
        layer("point", vega.DIAMOND, data="quartiles", x=q("mean"), y=row, tooltip=shown),
    ]
    for each in layers:
        each["transform"].append({"calculate": "schemes[datum.number]", "as": "scheme"})
    labels = {"schemes": [on_one_line(scheme, vega.LONGEST_LABEL) for scheme in schemes]}
    chart = layered(caption, layers, labels=labels, rows=outlines, quartiles=quartiles, height=50 * len(schemes))
    return Exhibit("Violin plot of Kendall's τ", caption, chart, Table(head, cells))


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
    """Is the row's team better than the column's? A full disc on colour: significant after Holm's adjustment. A ring:
    only without it. Nothing: neither."""
    size = len(teams)
    marks, cells = [], [[name, *[NOTHING] * size] for name in teams.names]
    for row, column in ((row, column) for row in range(size) for column in range(size) if row != column):
        p, holm = tests.p[row][column], tests.p_holm[row][column]
        sign = "●" if tests.significant_holm[row][column] else "○" if tests.significant[row][column] else ""
        marks.append({"n": row, "other": column, "p": rounded(p), "holm": rounded(holm), "text": sign})
        cells[row][column + 1] = f"{probability(p)} (Holm {probability(holm)})"
    wins = sum(map(sum, tests.significant_holm))
    caption = (
        f"One-sided p-values that the row's team beats the column's: paired Wilcoxon tests in {title}. ● is better "
        f"after Holm's adjustment (p ≤ {alpha:g}), ○ only without it. {count(wins, 'ordered pair')} of {len(marks)} "
        f"differ at {alpha:g} after Holm's adjustment."
    )
    below = "p values, and adjusted by Holm's method over all ordered pairs"
    table = Table(("Team better than", *teams.names), [tuple(row) for row in cells], below)
    other = o("other", axis={"orient": "top", "labelAngle": -50, "labelExpr": "labels[datum.value]"})
    sure = {"condition": {"test": "datum.text == '●'", "value": 0.3}, "value": 0.02}
    square, shown = {**vega.CELL, "stroke": "var(--grid)"}, tips("team", "other_team", "p", "holm")
    layers = [
        layer("rect", square, x=other, fillOpacity=sure, tooltip=shown),
        layer("text", {"fontSize": 20 if size <= 15 else 13}, x=other, text=f("text")),
    ]
    for each in layers:
        each["transform"].append({"filter": vega.SHOWN.replace("datum.n", "datum.other")})
        each["transform"].append({"calculate": "teams[datum.other]", "as": "other_team"})
    side = {"step": teams.step}
    chart = layered(caption, layers, teams, rows=marks, height=side, width=side)
    return Exhibit(f"Significance map: {title}", caption, chart, table, wide=size > MOST_TEAMS, metric=title)


def rank_lines(teams: Teams, columns: Sequence[str], ranks: Floats, *, what: str = "scheme") -> Exhibit:
    """One line per team, one column per scheme, or per another `what` of ranking (`ranks`, teams by columns, NaN where
    unranked); rank 1 at the top. Labels of teams that tie are in the free places below their rank."""
    size, last = len(teams), len(columns) - 1
    marks = [
        {"n": team, "column": column, "rank": int(ranks[team, column])}
        for team, column in np.argwhere(~np.isnan(ranks)).tolist()
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
    heads = {"orient": "top", "labelAngle": 0, "labelExpr": "columns[datum.value]", "grid": True, "labelLineHeight": 15}
    names = [vega.wrapped(column) for column in columns]
    heads["labelPadding"] = 15 * max(map(len, names)) - 7  # lines are added below the first
    x = o("column", axis=heads, scale={"type": "point", "padding": 0.2})
    y = q("rank", axis=None, scale={"reverse": True, "domain": [0.5, size + 0.5], "nice": False, "zero": False})
    colour, dash = vega.by_team(teams, vega.COLOURS, "var(--quiet)"), vega.by_team(teams, vega.DASHES, [1, 0])
    shape, shown = vega.by_team(teams, vega.SHAPES, "circle"), tips("team", "scheme", "rank")
    layers = [
        layer("line", {"strokeWidth": 2.4}, x=x, y=y, color=colour, strokeDash=dash, detail=o("n")),
        layer("point", {"filled": True, "size": 70}, x=x, y=y, color=colour, shape=shape, tooltip=shown),
    ]
    layers[1]["transform"].append({"calculate": "join(columns[datum.column], ' ')", "as": "scheme"})
    for align, dx in (("right", -12), ("left", 12)):
        style, place = {"align": align, "dx": dx}, {**y, "field": "slot"}
        layers.append(layer("text", style, f"datum.align == '{align}'", data="ends", x=x, y=place, text=f("text")))
    height, width = (26 if size <= 15 else 18) * size, {"step": 118}
    labels = {"columns": names}
    chart = layered(caption, layers, teams, labels=labels, rows=marks, ends=ends, height=height, width=width)
    return Exhibit(f"Ranks under every {what}", caption, chart, Table(("Team", *columns), cells), wide=True)


def _rank(rank: float) -> str:
    return NOTHING if np.isnan(rank) else str(int(rank))
