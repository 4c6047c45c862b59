"""The participants' page of a challenge as Markdown, from its challenge.toml alone."""

import math
from collections.abc import Iterator, Mapping
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from podium.challenges.challenge import AnyChallenge
from podium.challenges.declared.challenge import DeclaredChallenge
from podium.challenges.ground_truth import ChallengeFolder
from podium.challenges.settings import said

_OF_EVERY_METRIC = ("kind", "name", "of", "title", "failed", "regions")
_EMPTY = ("both_empty", "prediction_empty", "reference_empty")
_MISSING = {
    "worst": "the worst that any prediction of this case could have",
    "empty": "as an empty prediction",
    "diagonal": "the diagonal of the image, in mm",
}


def describe_challenge(folder: ChallengeFolder, challenge: AnyChallenge) -> str:
    """What participants have to know: files, sockets, metrics, formulas, ranking, and what missing cases count."""
    templates = Environment(  # noqa: S701  (Markdown, of the organiser's own words)
        loader=PackageLoader("podium.tools.preparation"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.filters["cell"] = lambda text: " ".join(str(text).replace("|", "\\|").split())
    return templates.get_template("describe.md.jinja").render(
        common=folder.common,
        challenge=challenge,
        metrics=list(_metrics(challenge)),
        figures=list(_figures(challenge)),
        time=said(time.model_dump(exclude_none=True)) if (time := getattr(challenge.settings, "time", None)) else "",
    )


def _metrics(challenge: AnyChallenge) -> Iterator[Mapping[str, str]]:
    """The metrics of a declared challenge: formula, settings, and what empty and missing predictions count."""
    if not isinstance(challenge, DeclaredChallenge):
        return
    for metric in challenge.settings.metrics:
        given: dict[str, Any] = metric.kind.filled_in(metric.settings)
        shown_elsewhere = {*_OF_EVERY_METRIC, *_EMPTY, *(("over", "unit") if given.get("over") == "cases" else ())}
        own = {key: each for key, each in given.items() if key not in shown_elsewhere}
        empty = {key.removesuffix("_empty"): given[key] for key in _EMPTY if given.get(key) is not None}
        yield {
            "name": metric.settings.own_name,
            "definition": metric.kind.definition,
            "of": ", ".join([*metric.compared(challenge.values), *(given.get("regions") or ())]),
            "settings": said(own).replace("{region}", "<region>"),
            "empty": said(empty),
            "failed": _MISSING.get(str(given["failed"]), str(given["failed"])),
        }


def _figures(challenge: AnyChallenge) -> Iterator[Mapping[str, str]]:
    """The figures of the leaderboard, then those that its formulas are made of."""
    board, tables = challenge.scoreboard, challenge.tables
    formulas = {**tables.case_figures, **tables.figures}
    worst = {metric.mean_path: metric.worst for metric in board.metrics}
    for path in dict.fromkeys([*board.leaderboard, *tables.figures, *tables.case_figures]):
        if (figure := board.names.find(path)) is not None:
            lost = worst.get(path)
            yield {
                "title": figure.title or path,
                "path": path,
                "range": f"{figure.lowest:g} to {figure.highest:g} {figure.unit}".strip(),
                "direction": figure.direction,
                "formula": formulas[path].formula.text if path in formulas else "",
                "worst": f"{lost:g}" if isinstance(lost, int | float) and math.isfinite(lost) else "",
            }
