"""The report of one submission, for its authors: scores, problems, curves, worst cases and every metric."""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, get_args

import numpy as np

from podium import __version__
from podium.challenges.challenge import AnyChallenge
from podium.challenges.pictures import Diagram, FigureGrid
from podium.errors import UsageError
from podium.figures import Figures
from podium.metrics import Floats
from podium.metrics.declaration import Curve, Metric
from podium.metrics.displacement import stretched
from podium.platform.metrics_file import CaseResult, Status
from podium.tools.ranking.documents import Cohort, TeamFile
from podium.tools.ranking.facts import figure_at, gather_facts
from podium.tools.ranking.prose import paragraph
from podium.tools.ranking.rank import Bootstrap, aggregate_columns, known_figure
from podium.tools.ranking.schemes import RankingOptions
from podium.tools.ranking.wording import (
    INTERVAL_KINDS,
    NO_VALUE,
    NOTHING,
    confidence_words,
    count,
    even_decimals,
    figure,
    fixed,
    on_one_line,
    undefined_words,
)
from podium.tools.report import vega
from podium.tools.report.exhibits import (
    FIRST_METRIC_COLUMN,
    LARGEST,
    defined,
    drawable,
    from_tables,
    rounded,
    spread,
    summarise,
    title_of,
)
from podium.tools.report.overlays import CasePictures
from podium.tools.report.page import MOST_STILL_ROWS, Drawings, Exhibit, Report, Section, Table, lines, render
from podium.tools.report.tables import (
    MOST_CELLS,
    CaseRow,
    CasesOfTeam,
    bad_first,
    case_cells,
    first_captions,
    higher_columns,
    settings_table,
    shown_words,
    worst_captions,
)
from podium.tools.report.vega import f, layer, layered, q, tips

CONFIDENCE = 0.95
REPLICATES = 1000
_NO_CASES = "The organisers publish no per-case results, so only the scores can be shown."
_BINS = 21
_MOST_LINES, _MOST_POINTS, _TABLE_ROWS = 60, 160, 24
_LONGEST = 1_000_000  # values of a curve; a file that declares more is not trusted


def submission_report(file: TeamFile, challenge: AnyChallenge, pictures: CasePictures | None = None) -> Report:
    """The whole HTML file. It contains nothing that metrics.json does not, except for the organiser's `pictures`."""
    content, pictures = file.content, pictures or CasePictures()
    overlays = pictures.of(file.team)
    counts = content.counts
    metrics = shown_metrics(challenge, content.results)
    figures = Drawings(files=False)
    scores = _scores(challenge, content.aggregates, score_intervals(file, challenge))
    notes = [] if content.results else [_NO_CASES, *pictures.notes]
    tables = [*_to_fix(content.results), scores]
    sections = [
        Section("result", "Result", "Result", [paragraph("submission", counts=counts)], lines(notes), tables=tables)
    ]
    cases = _cases(file, metrics, {each.row for each in overlays})
    if cases.rows:
        words = paragraph("submission_cases", counts=counts, metrics=metrics)
        of_pictures = lines(pictures.notes)
        sections.append(Section("cases", "Cases", "Cases", [words], of_pictures, cases=cases, overlays=overlays))
    distributions = (
        distribution(metric, [(row.case, row.status, value_of(row, metric)) for row in content.results], column=column)
        for column, metric in enumerate(metrics, FIRST_METRIC_COLUMN)
    )
    by_curve = (
        (curve, {row.case: values for row in content.results if (values := curve_of(row.metrics, curve)) is not None})
        for curve in challenge.scoreboard.curves
    )
    rows = [row.metrics for row in content.results]
    pictures_of_all = challenge.pictures(rows, content.aggregates) if rows else []
    diagrams = [diagram(each) for each in pictures_of_all if isinstance(each, Diagram)]
    if grids := [_grid(each) for each in pictures_of_all if isinstance(each, FigureGrid)]:
        sections.append(Section("means", "Means", "Means by structure", tables=grids))
    for anchor, nav, title, exhibits in (
        ("pictures", "All cases", "All cases", diagrams),
        ("curves", "Along a case", "Along a case", [curves(curve, cases) for curve, cases in by_curve if cases]),
        ("metrics", "Metrics", "Metric by metric", list(distributions)),
    ):
        if exhibits:
            sections.append(Section(anchor, nav, title, exhibits=figures.add_all(exhibits)))
    methods = paragraph(
        "submission_methods",
        content=content,
        metrics=metrics,
        confidence=CONFIDENCE,
        replicates=REPLICATES,
        podium_version=__version__,
    )
    settings = settings_table(content.settings)
    sections.append(Section("methods", "Methods", "Methods", [methods], tables=[settings]))
    facts = [f"Submission {file.team}", f"Version {content.version}", count(counts.expected, "case")]
    facts += [f"{getattr(counts, name):,} {name}" for name in get_args(Status)]
    about = {"kicker": "Submission report", "heading": content.title, "facts": facts}
    return render(figures, pictures.scripts, **about, sections=sections)


def _to_fix(rows: Sequence[CaseResult]) -> list[Table]:
    """The failed and missing cases with what to do, and then the partial ones."""
    bad = [row for status in ("failed", "missing", "partial") for row in rows if row.status == status]
    cells = [(row.case, row.status, row.trouble or NOTHING) for row in bad[:_TABLE_ROWS]]
    caption = "" if len(bad) <= _TABLE_ROWS else f"{_TABLE_ROWS} of {len(bad):,}; 'Cases' has all"
    head = ("Case", "Status", "What to fix")
    return [Table(head, cells, caption, title="Fix these first", kind="words")] if bad else []


def score_intervals(file: TeamFile, challenge: AnyChallenge) -> dict[str, str]:
    """The interval of every figure that comes from the cases, in words by its path: bootstrap over the rows, as in a
    ranking. Empty where a row contains something that is not a number; anonymous rows may not suffice for a figure."""
    if not file.content.results:
        return {}
    try:
        facts = gather_facts(Cohort(challenge=challenge, division={}, files=[file]), RankingOptions())
    except UsageError:
        return {}
    own = replace(facts, aggregates=[file.content.aggregates])  # one file is not a cohort
    bootstrap = Bootstrap.draw(own, replicates=REPLICATES, seed=0)
    found = {}
    for column in aggregate_columns(own, None, bootstrap, RankingOptions(confidence=CONFIDENCE)):
        if column.intervals and column.intervals[0]:
            low, high = column.intervals[0]
            kind = INTERVAL_KINDS[column.interval_kind]
            words = [f"{figure(low)} to {figure(high)}", kind, undefined_words(column.undefined[0], REPLICATES)]
            found[column.path] = ", ".join(each for each in words if each)
    return found


def value_of(row: CaseResult, metric: Metric) -> float | None:
    """A row's figure; None where it is undefined or not published."""
    return figure_at(row.metrics, metric.name)


def shown_metrics(challenge: AnyChallenge, rows: Sequence[CaseResult]) -> list[Metric]:
    """The declared metrics with a value in at least one row, first the one that decides which cases are bad: the first
    of the challenge's ranking rule that the rows contain. An offline tool may have added some."""
    declared = challenge.scoreboard.all_metrics
    found = [metric for metric in declared if any(value_of(row, metric) is not None for row in rows)]
    order = [name for name in challenge.ranking.case_metrics if any(metric.name == name for metric in found)][:1]
    return sorted(found, key=lambda metric: metric.name not in order)


def worst_of_submission(file: TeamFile, challenge: AnyChallenge) -> dict[str, str]:
    """The worst cases by the metric that decides which are bad; the first ones where the rows have no such metric."""
    rows = file.content.results
    for metric in shown_metrics(challenge, rows)[:1]:
        values = [value_of(row, metric) for row in rows]
        return worst_captions([row.case for row in rows], [row.status for row in rows], values, metric)
    return first_captions([row.case for row in rows], [row.status for row in rows])


def _scores(challenge: AnyChallenge, aggregates: Figures, intervals: Mapping[str, str]) -> Table:
    rows = []
    ranked = {each.path for each in challenge.ranking.criteria}
    for column in (*challenge.offline_columns(), *challenge.columns()):
        value = figure_at(aggregates, column.path)
        spread = figure_at(aggregates, column.error_path) if column.error_path else None
        if value is not None:
            shown = "unknown" if known_figure(aggregates, column) is None else figure(value, 5)
            rows.append((column.title, shown, intervals.get(column.path, NOTHING), figure(spread), column.direction))
        elif column.path in ranked:
            rows.append((column.title, NO_VALUE, NOTHING, NOTHING, column.direction))
    head = ("Figure", "Value", f"{confidence_words(CONFIDENCE)} interval", "SD over cases", "Better is")
    return Table(head=head, rows=rows, title="Scores")


def curve_of(figures: Figures, curve: Curve) -> Sequence[float | None] | None:
    """The values along one case: a list at the curve's path, or one value from every object of a list on the path.

    None where the row does not have it, as with anonymous rows.
    """
    values = _follow(figures, curve.name.split("."))
    if not isinstance(values, list) or not values:
        return None
    if not all(value is None or (isinstance(value, int | float) and not isinstance(value, bool)) for value in values):
        return None
    length = _follow(figures, curve.length.split(".")) if curve.length else None
    return stretched(values, length=length) if isinstance(length, int) and 0 < length <= _LONGEST else values


def _follow(value: Any, path: Sequence[str]) -> Any:
    for number, part in enumerate(path):
        if isinstance(value, list):
            return [_follow(each, path[number:]) for each in value]
        if not isinstance(value, dict) or part not in value:
            return None
        value = value[part]
    return value


def _grid(grid: FigureGrid) -> Table:
    decimals = even_decimals([value for row in grid.values for value in row], most=3)
    rows = [(name, *(fixed(each, decimals) for each in row)) for name, row in zip(grid.rows, grid.values, strict=True)]
    return Table((grid.corner, *grid.columns), rows, "Means over all cases", title=grid.title)


def _cases(file: TeamFile, metrics: Sequence[Metric], pictures: Collection[str]) -> CasesOfTeam:
    """Every case, failed, missing and partial ones first, then the worst by the first metric."""
    results = file.content.results
    order = list(range(len(results)))
    if metrics:
        first = [value_of(row, metrics[0]) for row in results]
        order = bad_first([row.status for row in results], first, metrics[0])
    columns = [
        case_cells(
            each,
            [value_of(row, each) for row in results],
            [row.lacks(each.uses) for row in results],
            [_follow(row.metrics, [*each.name.split(".")[:-1], "prediction"]) for row in results],
        )
        for each in metrics
    ]
    rows = [
        CaseRow(
            anchor=f"case-{number + 1}",
            case=results[number].case,
            status=results[number].status,
            cells=[column[number] for column in columns],
            words=" ".join([*filter(None, [results[number].trouble]), *results[number].warnings]),
            picture=results[number].case in pictures,
        )
        for number in order[: max(1, MOST_CELLS // max(1, len(metrics)))]
    ]
    head = ("Case", "Status", *map(title_of, metrics))
    note = shown_words(len(rows), len(order))
    return CasesOfTeam(team=0, name=file.team, head=head, rows=rows, higher=higher_columns(metrics), note=note)


# The charts.


def distribution(metric: Metric, cases: Sequence[tuple[str, Status, float | None]], *, column: int) -> Exhibit:
    """A histogram over a strip of cases, with the values that the rules give what is missing."""
    ordered = defined(value for _, _, value in cases)
    summary = summarise(ordered)
    heights, edges = np.histogram(ordered, bins=_BINS)  # equal values are in the middle one
    bins = [
        {"low": float(low), "high": float(high), "cases": int(height)}
        for height, (low, high) in zip(heights, pairwise(edges), strict=True)
        if height
    ]
    finding = "No case has a value."
    if summary:
        number = count(int(summary["n"]), "case")
        finding = f"Median {figure(summary['median'])}, mean {figure(summary['mean'])} over {number}."
    unscored = sum(status != "scored" and value is not None for _, status, value in cases)
    filled = f" {count(unscored, 'unscored or partial case')} included." if unscored else ""
    without = len(cases) - len(ordered)
    left_out = f" {count(without, 'case')} without a value left out." if without else ""
    caption = f"{finding} The line is the median, the diamond the mean.{filled}{left_out}"
    marks = [{"median": summary["median"], "mean": summary["mean"]}] if summary else []
    title = f"{title_of(metric)}, {metric.direction} is better"
    dots = [
        {"case": on_one_line(case), "status": status, "value": value, "spread": spread(number)}
        for number, (case, status, value) in enumerate(cases)
        if value is not None and abs(value) <= LARGEST and len(cases) <= MOST_STILL_ROWS
    ]
    rows = [(figure(each["low"]), figure(each["high"]), str(each["cases"])) for each in bins]
    most = max((each["cases"] for each in bins), default=1)
    span = {"domain": [-0.4 * most, most], "nice": False}
    height = q("cases", title="Cases", axis={"values": [0, most], "format": "d"}, scale=span)
    scale = {"domain": [float(edges[0]), float(edges[-1])], "nice": True}
    low = q("low", title=title, bin="binned", axis={"tickCount": 5}, scale=scale)
    thick, of_case, of_all = {**vega.LINE, "strokeWidth": 2.4}, tips("case", "value", "status"), tips("median", "mean")
    layers = [
        layer("bar", vega.BAR, x=low, x2=f("high"), y=height, y2={"datum": 0}, tooltip=tips("low", "high", "cases")),
        layer("point", vega.DOT, data="cases", x=q("value"), y=q("place"), tooltip=of_case),
        layer("rule", thick, data="marks", x=q("median"), tooltip=of_all),
        layer("point", vega.DIAMOND, data="marks", x=q("mean"), y={"datum": 0}, tooltip=of_all),
    ]
    layers[1]["transform"].append({"calculate": f"{most} * (0.12 * datum.spread - 0.22)", "as": "place"})
    chart = layered(f"{title}. {caption}", layers, rows=bins, marks=marks, cases=dots, height=170)
    return Exhibit(metric.title, caption, chart | from_tables(column, metric), Table(("From", "To", "Cases"), rows))


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
        {"case": names[row], "place": place, "value": rounded(float(value))}
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
    finding = "No case has a value."
    if means:
        finding = f"The mean runs from {figure(means[0]['mean'])} to {figure(means[-1]['mean'])}{spoken}."
    drawn = f" {_MOST_LINES} of {len(table):,} cases are drawn." if len(table) > _MOST_LINES else ""
    caption = (
        f"{finding} Thin lines are {count(len(table), 'case')}, the thick line is the mean of those that are long "
        f"enough, the band their middle half.{drawn}"
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
    x = q("place", title=curve.along, scale={"zero": False, "nice": False}, axis={"tickCount": 6})
    y, shown = q("value", title=title, **vega.FREE), tips("place", "mean", "first", "third")
    grey = {"color": "var(--quiet)", "strokeWidth": 1, "strokeOpacity": 0.45}
    thick = {"color": "var(--accent)", "strokeWidth": 2.6, "point": len(means) <= 24}
    band = {"color": "var(--accent)", "fillOpacity": 0.16}
    layers = [
        layer("line", grey, x=x, y=y, detail=f("case"), tooltip=tips("case")),
        layer("area", band, data="summary", x=x, y=q("first"), y2=f("third")),
        layer("line", thick, data="summary", x=x, y=q("mean"), tooltip=shown),
    ]
    chart = layered(f"{title}. {caption}", layers, rows=thin, summary=means, height=250)
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
    both = [value for each in (data.dots, *data.lines.values()) for point in each for value in point]
    low, high = (0.0, 1.0) if data.share else (min(both, default=0.0), max(both, default=1.0))
    # Where there is a diagonal, both axes are the same, so that it is one.
    scale = {"domain": [low, high]} if data.share or data.diagonal else {"zero": False}
    rows: dict[str, Any] = {
        "lines": [
            {"series": on_one_line(name), "x": x, "y": y, "order": order}
            for name, points in data.lines.items()
            for order, (x, y) in enumerate(_thinned(points, 600 // len(data.lines)))
        ],
        "dots": [{"x": x, "y": y} for x, y in _thinned(data.dots, 600)],
        "levels": [{"y": level, "text": f"{name} {figure(level)}"} for name, level in data.levels.items()],
        "diagonal": [{"x": low, "y": low}, {"x": high, "y": high}] if data.diagonal else [],
    }
    cells: list[tuple[str, str, str]] = [(name, "", figure(level)) for name, level in data.levels.items()]
    for name, each in (*data.lines.items(), *([("case", data.dots)] if data.dots else [])):
        cells += [(name, figure(x), figure(y)) for x, y in _thinned(each, _TABLE_ROWS)]
    names = list(dict.fromkeys(row["series"] for row in rows["lines"]))
    x, y = (
        q(name, axis={"tickCount": 5}, title=on_one_line(title), scale=scale)
        for name, title in (("x", data.x), ("y", data.y))
    )
    colour, dash = vega.by_series(names, vega.COLOURS), vega.by_series(names, vega.DASHES)
    for channel in (colour, dash):
        channel["legend"] = {"symbolType": "stroke"} if len(names) > 1 else None
    right, shown = {"value": {"expr": "width - 4"}}, tips("series", "x", "y")
    layers = [
        layer("line", vega.DASHED, data="diagonal", x=x, y=y),
        layer("line", {}, data="lines", x=x, y=y, color=colour, strokeDash=dash, order=f("order"), tooltip=shown),
        layer("point", vega.DOT, data="dots", x=x, y=y, tooltip=tips("x", "y")),
        layer("rule", vega.DASHED, data="levels", y=q("y"), tooltip=tips("text")),
        layer("text", {"align": "right", "dy": -8}, data="levels", x=right, y=q("y"), text=f("text")),
    ]
    chart = layered(f"{data.y} over {data.x}. {data.caption}", layers, **rows, height=320)
    return Exhibit(data.title, data.caption, chart, Table(("", data.x, data.y), cells))


def _thinned(points: Sequence[tuple[float, float]], most: int) -> list[tuple[float, float]]:
    """About `most` of the points, the first and the last among them."""
    kept = [*points[: -1 : max(1, math.ceil(len(points) / most))], *points[-1:]]
    return [(float(x), float(y)) for x, y in kept]
