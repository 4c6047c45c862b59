"""Files beside metrics.json that a phase of the platform may declare: `[outputs]` of challenge.toml.

They are made of the published metrics.json, so they show no more than `per_case` allows.
"""

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from podium.challenges import load_challenge
from podium.challenges.challenge import AnyChallenge
from podium.challenges.ground_truth import ChallengeFolder
from podium.challenges.settings import OutputKind
from podium.errors import SubmissionError, UsageError
from podium.figures import LARGEST
from podium.kernel import whole_file
from podium.metrics.declaration import HALF_WIDTH
from podium.packages import require
from podium.platform.metrics_file import METRICS_FILE, MetricsFile, prepare_output
from podium.tools.ranking.documents import TeamFile, read_cohorts
from podium.tools.ranking.facts import figure_at
from podium.tools.ranking.output import csv_safe, csv_text
from podium.tools.ranking.wording import figure, on_one_line
from podium.tools.report.exhibits import defined, summarise, title_of
from podium.tools.report.page import pdf_of
from podium.tools.report.submission_report import shown_metrics, value_of
from podium.tools.report.vega import CONFIG, LIGHT, LINE, Spec, f, layer, layered, nominal, o, q, tips

SCHEMA = "https://vega.github.io/schema/vega-lite/v5.json"
_WIDTH = 640
_COLOURS = {"scored": LIGHT["accent"], "partial": LIGHT["gold"], "failed": LIGHT["bad"], "missing": LIGHT["quiet"]}
_MOST_NAMED = 40  # cases whose names fit on an axis


def with_outputs(challenge: ChallengeFolder, output: Path, evaluate: Callable[[], MetricsFile]) -> MetricsFile:
    """Evaluate, and write the declared outputs beside metrics.json, also where no case could be scored."""
    outputs = load_challenge(challenge).tables.outputs
    if "report" in outputs.values():  # better now than after hours of scoring
        require("vl_convert", extra="report")
    prepare_output(output)
    for name in outputs:  # of an earlier run
        (output / name).unlink(missing_ok=True)
    try:
        metrics = evaluate()
    except SubmissionError:
        if (output / METRICS_FILE).is_file():
            _write(outputs, output)
        raise
    _write(outputs, output)
    return metrics


def _write(outputs: Mapping[str, OutputKind], folder: Path) -> None:
    (cohort,) = read_cohorts([folder / METRICS_FILE])
    for name, kind in outputs.items():
        content = _MADE[kind](cohort.files[0], cohort.challenge)
        try:
            with whole_file(folder / name) as temporary:
                temporary.write_bytes(content)
        except OSError as error:
            raise UsageError(f"{name} cannot be written: {error.strerror}.", detail=str(folder)) from None


def _chart(file: TeamFile, challenge: AnyChallenge) -> bytes:
    text = json.dumps({"$schema": SCHEMA, **result_chart(file, challenge), "config": CONFIG}, indent=1)
    return f"{_in_light_colours(text)}\n".encode()


def result_chart(file: TeamFile, challenge: AnyChallenge) -> Spec:
    """The first metric by case, over the range of its values and the middle half of the cases. Where no rows are
    published, the score and its error bar."""
    rows = file.content.results
    metric = next(iter(shown_metrics(challenge, rows)), None)
    if metric is None:
        return _score_chart(file, challenge)
    values = [value_of(row, metric) for row in rows]
    dots = [
        {"case": on_one_line(row.case), "status": row.status, "value": value}
        for row, value in zip(rows, values, strict=True)
        if value is not None and abs(value) <= LARGEST
    ]
    summary = summarise(defined(values)) or {}
    band = [{"first": summary["first"], "third": summary["third"], "median": summary["median"]}] if summary else []
    words = (
        f"{title_of(metric)}, {metric.direction} is better: band of the middle half of the cases, line at the median"
    )
    return _by_case(words, metric.lowest, metric.highest, dots, band)


def _score_chart(file: TeamFile, challenge: AnyChallenge) -> Spec:
    column, figures = challenge.columns()[0], file.content.aggregates
    value, half = figure_at(figures, column.path), figure_at(figures, column.path + HALF_WIDTH)
    found = challenge.scoreboard.names.find(column.path)
    dots: list[Spec] = [] if value is None else [{"case": "all cases", "status": "scored", "value": value}]
    band: list[Spec] = []
    words = f"{column.title}, {column.direction} is better"
    if value is not None and half is not None:
        band = [{"first": value - half, "third": value + half, "median": value}]
        words += ": band of its 95 % interval"
    lowest, highest = (found.lowest, found.highest) if found else (-LARGEST, LARGEST)
    return _by_case(words, lowest, highest, dots, band)


def _by_case(words: str, lowest: float, highest: float, dots: list[Spec], band: list[Spec]) -> Spec:
    is_bounded = abs(lowest) < LARGEST and abs(highest) < LARGEST
    scale: Spec = {"domain": [lowest, highest]} if is_bounded else {"zero": False, "nice": True}
    named = {"labelAngle": -60} if len(dots) <= _MOST_NAMED else {"labels": False}
    height = q("value", scale=scale)
    states = nominal("status", scale={"domain": [*_COLOURS], "range": [*_COLOURS.values()]})
    layers = [
        layer("rect", {"fill": "var(--accent-soft)"}, data="band", y=q("first", scale=scale), y2=f("third")),
        layer("rule", LINE, data="band", y=q("median", scale=scale)),
        layer("point", {"filled": True, "size": 45}, x=o("case", axis=named), y=height, color=states,
              tooltip=tips("case", "value", "status")),
    ]  # fmt: skip
    chart = layered(words, layers, rows=dots, band=band, height=280, width=_WIDTH)
    return {name: part for name, part in chart.items() if name != "params"} | {"title": _title(words)}


def _title(words: str) -> Spec:
    """In the font of everything else: a PDF with one font has the same bytes in every run."""
    return {"text": on_one_line(words), "fontWeight": "normal"}


def _in_light_colours(text: str) -> str:
    return re.sub(r"var\(--([a-z0-9-]+)\)", lambda match: LIGHT.get(match[1], match[0]), text)


def _cases(file: TeamFile, challenge: AnyChallenge) -> bytes:
    """A line per published row, with its figures."""
    rows = file.content.results
    metrics = shown_metrics(challenge, rows)
    text = csv_text(
        [
            ("case", [csv_safe(row.case) for row in rows]),
            ("status", [row.status for row in rows]),
            *((metric.name, [value_of(row, metric) for row in rows]) for metric in metrics),
            ("trouble", [csv_safe(row.trouble or "") for row in rows]),
        ]
    )
    return text.encode()


def _report(file: TeamFile, challenge: AnyChallenge) -> bytes:
    """One page: the figures of the leaderboard, and the chart."""
    import vl_convert

    figures, counts = file.content.aggregates, file.content.counts
    lines = [("Scored cases", f"{counts.scored} of {counts.expected}")]
    for column in challenge.columns():
        value, half = figure_at(figures, column.path), figure_at(figures, column.path + HALF_WIDTH)
        if value is not None:
            lines.append((column.title, figure(value) + (f" ± {figure(half)}" if half is not None else "")))
    rows = [{"line": number, "name": on_one_line(name), "text": text} for number, (name, text) in enumerate(lines)]
    place, sides = o("line", axis=None), {"name": ("left", 0), "text": ("right", _WIDTH)}
    texts = [
        layer("text", {"align": side}, data="figures", x={"value": x}, y=place, text=nominal(field))
        for field, (side, x) in sides.items()
    ]
    table = layered("figures", texts, figures=rows, height={"step": 18}, width=_WIDTH)
    parts = [table, result_chart(file, challenge)]
    datasets = {name: rows for part in parts for name, rows in part["datasets"].items()}  # they belong to the top
    views = [{name: each for name, each in part.items() if name not in ("params", "datasets")} for part in parts]
    title = _title(f"{file.content.title} ({file.content.version})")
    svg: str = vl_convert.vegalite_to_svg({"title": title, "vconcat": views, "datasets": datasets, "config": CONFIG})
    return pdf_of(_in_light_colours(svg))


def _sealed(file: TeamFile, _: AnyChallenge) -> bytes:
    """metrics.json with its sealed rows alone: `podium rank --key` reads it."""
    return file.content.model_copy(update={"results": []}).to_json().encode()


_MADE: Mapping[OutputKind, Callable[[TeamFile, Any], bytes]] = {
    "chart": _chart,
    "cases": _cases,
    "report": _report,
    "sealed": _sealed,
}
