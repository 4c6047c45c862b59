"""The reports of a ranking and of a consensus: the table, how certain it is, metrics, cases, teams, methods."""

from bisect import bisect_left
from collections.abc import Sequence
from urllib.parse import quote

import numpy as np

from podium.metrics import Floats
from podium.tools.ranking.prose import sentences
from podium.tools.ranking.result import Consensus, Matrix, Ranking, Stability
from podium.tools.ranking.schemes import OFFICIAL
from podium.tools.ranking.wording import (
    NOTHING,
    Interval,
    column_decimals,
    confidence_words,
    count,
    figure,
    fixed,
    interval_words,
    on_one_line,
    percent,
    probability,
)
from podium.tools.report import vega
from podium.tools.report.exhibits import (
    FIRST_METRIC_COLUMN,
    MOST_DETAILED,
    MOST_TEAMS,
    CaseValues,
    case_rows,
    case_values,
    defined,
    is_yes_or_no,
    metric_exhibits,
    podium_plot,
    rank_heatmap,
    rounded,
    summarise,
)
from podium.tools.report.final_table import consensus_table, final_table
from podium.tools.report.overlays import CasePictures
from podium.tools.report.page import REPORT_FILE, Drawings, Exhibit, Report, Section, Table, lines, render
from podium.tools.report.tables import (
    arena_table,
    calibration_tables,
    claims_table,
    group_tables,
    hard_cases,
    settings_table,
    team_pages,
)
from podium.tools.report.vega import Spec, Teams, f, layer, layered, o, q, tips


def ranking_report(ranking: Ranking, pictures: CasePictures | None = None) -> Report:
    """The whole HTML file and its figures; `pictures` of the worst cases, where the organiser gave the submissions."""
    pictures = pictures or CasePictures()
    values = case_values(ranking)
    teams = Teams([team.name for team in ranking.teams], [team.rank for team in ranking.teams])
    figures = Drawings(teams)
    certainty = [claims_table(ranking), _scheme_taus(ranking)]
    sections = [
        Section(
            *("ranking", "Ranking", "Ranking"),
            notes=[(note.line, note.text if note.text != f"{note.line}." else "") for note in ranking.notes],
            final=final_table(ranking),
        ),
        Section(
            *("certainty", "Certainty", "How certain is this ranking?"),
            words=sentences("stability", ranking=ranking, shown=MOST_DETAILED),
            tables=[*(table for table in certainty if table), *group_tables(ranking)],
            exhibits=figures.add_all(_certainty_exhibits(ranking, teams)),
        ),
    ]
    if arena := ranking.arena:
        words, table = sentences("arena", arena=arena), arena_table(arena, ranking.teams)
        rows = [(row, "", each.bradley_terry, each.interval) for row, each in enumerate(arena.teams) if each]
        caption = "Ratings from the votes, with their intervals."
        exhibits = figures.add_all(intervals("Bradley-Terry ratings", caption, teams, rows))
        sections.append(Section("arena", "Arena", "The arena", words, tables=[table], exhibits=exhibits))
    if judged := ranking.calibration:
        words = (*sentences("calibration", calibration=judged), *judged.notes)
        exhibits = figures.add_all(_judge_exhibits(ranking, teams))
        title = "The judge and the clinicians"
        sections.append(Section("judge", "Judge", title, words, tables=calibration_tables(judged), exhibits=exhibits))
    if exhibits := figures.add_all(metric_exhibits(ranking, teams, values)):
        sections.append(Section("metrics", "Metrics", "Metric by metric", sentences("metrics"), exhibits=exhibits))
    if exhibits := figures.add_all(_rank_exhibits(ranking, teams, values)):
        metrics = sum(each.in_schemes for each in values)
        words = sentences("cases", shown=MOST_DETAILED, metrics=metrics)
        tables = [hard_cases(ranking, values[0])]
        sections.append(Section("cases", "Cases", "Case by case", words, tables=tables, exhibits=exhibits))
    notes = lines(pictures.notes)
    sections += [
        Section("teams", "Teams", "Team by team", notes=notes, teams=team_pages(ranking, values, pictures)),
        Section(
            *("methods", "Methods", "Methods"),
            words=ranking.methods.sentences,
            tables=[_settings(ranking)],
            references=sentences("references", ranking=ranking),
        ),
    ]
    rule = ranking.deciding.words
    rule = rule.removeprefix("teams are ranked by ") if " = " in rule else f"{rule[:1].upper()}{rule[1:]}."
    about = {"kicker": "Ranking", "heading": ranking.title, "facts": _facts(ranking), "rule": rule}
    return render(figures, pictures.scripts, **about, sections=sections)


def _facts(ranking: Ranking) -> list[str]:
    methods, confidence = ranking.methods, confidence_words(ranking.methods.confidence)
    return [
        f"Version {ranking.version}" if ranking.version else "",
        *(f"{name.capitalize()} {value}" for name, value in ranking.division.items()),
        *(count(len(ranking.teams), "team"), ranking.size, count(len(ranking.columns), "figure")),
        f"{ranking.deciding.title} rule" if ranking.deciding_scheme == OFFICIAL else ranking.deciding.title,
        f"{confidence} intervals from {methods.bootstraps:,} resamples" if ranking.deciding.stability else "",
    ]


def _scores(ranking: Ranking, teams: Teams) -> list[Exhibit]:
    rows = [(row, "", team.score, team.score_interval) for row, team in enumerate(ranking.teams)]
    title = ranking.deciding.score_title
    caption = f"{title} of every team"
    caption += f" with its {confidence_words(ranking.methods.confidence)} interval over cases."
    return intervals(f"Scores: {title}", caption, teams, rows) if ranking.deciding.score_intervals else []


def _judge_exhibits(ranking: Ranking, teams: Teams) -> list[Exhibit]:
    rows = []
    numbers = {team.name: row for row, team in enumerate(ranking.teams)}
    for each in ranking.calibration.teams if ranking.calibration else ():
        if each.name in numbers:
            row = numbers[each.name]
            rows += [
                (row, "by votes", each.by_votes, each.by_votes_interval),
                (row, "by the judge", each.by_judge, each.by_judge_interval),
                (row, "by both", each.by_both, each.by_both_interval),
            ]
    caption = (
        "The share of comparisons that each team wins by the clinicians' votes, by the judge, and by both together."
    )
    return intervals("Comparisons won", caption, teams, rows)


def _certainty_exhibits(ranking: Ranking, teams: Teams) -> list[Exhibit]:
    """The scores and who beats whom by them come first."""
    stability, alpha = ranking.deciding.stability, ranking.methods.alpha
    ranks, title = [team.rank for team in ranking.teams], ranking.deciding.score_title
    exhibits = []
    if ranking.claims and len(teams) > 1:
        better = [0.0 if team.score is None else team.score for team in ranking.teams]
        sign = 1 if ranking.deciding.score_direction == "higher" else -1
        p = tuple(
            tuple(p if p is None or sign * score > sign * other else 1.0 for p, other in zip(row, better, strict=True))
            for row, score in zip(ranking.claims.p, better, strict=True)
        )
        how = "two-sided p-values of the difference, adjusted over all pairs of teams; groups follow them"
        exhibits.append(significance_map(f"by {title}", how, teams, p, alpha=alpha))
    exhibits += _scores(ranking, teams)
    if stability is not None:
        exhibits.append(blob_plot(teams, stability, ranks, confidence=ranking.methods.confidence))
    if len(ranking.schemes) > 1:
        by_scheme = np.array([scheme.ranks for scheme in ranking.schemes], dtype=np.float64).T
        exhibits.append(rank_lines(teams, [scheme.title for scheme in ranking.schemes], by_scheme))
    steady = [(scheme.title, scheme.stability) for scheme in ranking.schemes if scheme.stability is not None]
    if steady:
        taus = [np.array(each.taus.values, dtype=np.float64) for _, each in steady]
        exhibits.append(tau_violin([title for title, _ in steady], taus))
    titles = {metric.name: metric.title for metric in ranking.metrics}
    how = "one-sided p-values of paired Wilcoxon tests, adjusted by Holm's method over all ordered pairs"
    exhibits += [
        significance_map(titles.get(tests.metric, tests.metric), how, teams, tests.p_holm, alpha=alpha, raw=tests.p)
        for tests in (ranking.significance[:MOST_DETAILED] if len(teams) > 1 else ())
    ]
    return exhibits


def _scheme_taus(ranking: Ranking) -> Table | None:
    if len(ranking.schemes) < 2 or not ranking.scheme_taus:
        return None
    titles = [scheme.title for scheme in ranking.schemes]
    rows = [(title, *(fixed(tau, 2) for tau in row)) for title, row in zip(titles, ranking.scheme_taus, strict=True)]
    caption = "Kendall's τ-b between the rankings of two schemes on all cases: 1 means the same order"
    return Table(("Scheme", *titles), rows, caption, title="Agreement between schemes", is_after=True)


def _rank_exhibits(ranking: Ranking, teams: Teams, values: Sequence[CaseValues]) -> list[Exhibit]:
    """Podium plots and heat maps of the metrics that the schemes rank by: all metrics would fill pages."""
    podiums, heat_maps = [], []
    shown = [(column, each) for column, each in enumerate(values, FIRST_METRIC_COLUMN) if each.in_schemes]
    for column, each in shown[:MOST_DETAILED] if len(teams) > 1 else ():
        if len(teams) <= MOST_TEAMS and not is_yes_or_no(each.metric, each.filled):
            podiums.append(podium_plot(each, teams, case_rows(ranking, each), column=column))
        heat_maps.append(rank_heatmap(each, teams))
    return [*podiums, *heat_maps]


def _settings(ranking: Ranking) -> Table:
    """The settings of the challenge and of the ranking."""
    methods = ranking.methods
    return settings_table(
        ranking.settings,
        {
            "ranking scheme": ranking.deciding.title,
            "bootstrap replicates": figure(methods.bootstraps),
            "seed": str(methods.seed),
            "confidence": confidence_words(methods.confidence),
            "significance level": f"{methods.alpha:g}",
            "quantile of aggregate-then-rank": f"{methods.quantile:g}",
            "Podium": methods.podium_version,
            "Python": methods.python_version,
            "NumPy": methods.numpy_version,
            "SciPy": methods.scipy_version,
        },
    )


# The report of several tasks: the consensus of their rankings.


def consensus_report(consensus: Consensus, folders: Sequence[str]) -> Report:
    """The whole HTML file and its figures; the page of each task is in one of the `folders`."""
    teams = Teams(consensus.teams, consensus.consensus_ranks)
    figures = Drawings(teams)
    drawn = []
    if consensus.stability is not None:
        drawn.append(blob_plot(teams, consensus.stability, consensus.consensus_ranks, confidence=consensus.confidence))
    ranks = np.array([consensus.consensus_ranks, *consensus.ranks], dtype=np.float64).T
    drawn.append(rank_lines(teams, ["Consensus", *consensus.tasks], ranks, what="task"))
    taus = {"Task": consensus.tasks, "Kendall's τ-b to the consensus": [fixed(tau, 2) for tau in consensus.task_taus]}
    links = [(task, f"{quote(folder)}/{REPORT_FILE}") for task, folder in zip(consensus.tasks, folders, strict=True)]
    sections = [
        Section(
            *("ranking", "Ranking", "Ranking"),
            words=sentences("kemeny", consensus=consensus),
            links=links,
            final=consensus_table(consensus),
        ),
        Section(
            *("certainty", "Certainty", "How certain is this ranking?"),
            tables=[Table.of(taus, "Agreement of each task with the consensus")],
            exhibits=figures.add_all(drawn),
        ),
        Section("methods", "Methods", "Methods", [" ".join(consensus.sentences)]),
    ]
    facts = [count(len(consensus.teams), "team"), count(len(consensus.tasks), "task")]
    about = {"kicker": "Consensus ranking", "heading": consensus.title, "facts": facts}
    return render(figures, (), **about, sections=sections)


# How certain a ranking is: charts of intervals, ranks in the bootstrap, tests, and ranks under other schemes.


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
    finding = f"{teams.names[surest]} ranks first most often, in {percent(frequencies[surest][0])} of them."
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
    chart = layered(f"{caption} {finding}", layers, teams, rows=blobs, spans=lines, height=side, width=side)
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


def significance_map(  # noqa: PLR0913  (p-values, with what they are of)
    title: str, how: str, teams: Teams, p: Matrix, *, alpha: float, raw: Matrix | None = None
) -> Exhibit:
    """Is the row's team better than the column's? One scale of colour for `p[team][team]`; `raw` is not adjusted."""
    size, ends = len(teams), sorted({end for end in (0.001, 0.01, alpha) if end <= alpha})
    steps = [*(f"p {'<' if end < alpha else '≤'} {end:g}" for end in ends), "not better, or not significantly"]
    marks, cells = [], [[name, *[NOTHING] * size] for name in teams.names]
    for row, column in ((row, column) for row in range(size) for column in range(size) if row != column):
        found, before = p[row][column], raw[row][column] if raw else None
        step = len(ends) if found is None else bisect_left(ends, found)
        marks.append({"n": row, "other": column, "p": rounded(found), "step": step})
        if raw:
            marks[-1]["unadjusted"] = rounded(before)
        cells[row][column + 1] = probability(found) + (f" ({probability(before)})" if raw else "")
    wins = sum(each["step"] != len(ends) for each in marks)
    caption = (
        f"Is the row's team better than the column's? The stronger the colour, the surer: {how}. "
        f"{count(wins, 'ordered pair')} of {len(marks)} differ at {alpha:g}."
    )
    table = Table(("Team better than", *teams.names), [tuple(row) for row in cells], how[:1].upper() + how[1:])
    axis = {"orient": "top", "labelAngle": 0, "labelExpr": "split(labels[datum.value], ' ')[0]"}
    other = o("other", axis=axis) | {"title": "… than the team of rank"}
    colours = [*(f"var(--p{n + 1})" for n in range(len(ends))), "var(--panel)"]
    legend = {"labelExpr": "steps[datum.value]"}
    colour = vega.nominal("step", scale={"domain": [*range(len(steps))], "range": colours}, legend=legend)
    square = {"cornerRadius": 2, "stroke": "var(--grid)", "strokeWidth": 0.5}
    shown = tips("team", "other_team", "p", *(["unadjusted"] if raw else []))
    layers = [layer("rect", square, x=other, color=colour, tooltip=shown)]
    layers[0]["transform"].append({"filter": vega.SHOWN.replace("datum.n", "datum.other")})
    layers[0]["transform"].append({"calculate": "teams[datum.other]", "as": "other_team"})
    side, labels = {"step": teams.step}, {"steps": steps}
    chart = layered(caption, layers, teams, labels=labels, rows=marks, height=side, width=side)
    return Exhibit(f"Who beats whom: {title}", caption, chart, table, wide=size > MOST_TEAMS, metric=title)


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
            name, rank = f"\u2068{on_one_line(teams.names[team], 22)}\u2069", figure(ranks[team, column])
            text = f"{name}  {rank}" if align == "right" else f"{rank}  {name}"
            ends.append({"n": team, "column": column, "slot": slot, "text": text, "align": align})
    best, worst = np.fmin.reduce(ranks, axis=1), np.fmax.reduce(ranks, axis=1)
    moves = np.nan_to_num(worst - best)
    farthest, steady = int(np.argmax(moves)), int((moves == 0).sum())
    finding = (
        f"No team's rank depends on the {what}."
        if steady == size
        else f"{teams.names[farthest]} moves most, from rank {figure(best[farthest])} to {figure(worst[farthest])}."
    )
    caption = f"{finding} {count(steady, 'team')} of {size} keep the same rank in all {len(columns)} columns."
    cells = [(name, *map(figure, ranks[row])) for row, name in enumerate(teams.names)]
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
