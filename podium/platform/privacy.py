"""What `per_case` lets participants learn about single cases.

A row is published in full, under a pseudonym, or not at all. Aggregates of few cases reveal single ones too, the more
digits they have.
"""

import hashlib
import hmac
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from podium.figures import Figures, get, holds, put, without
from podium.metrics.declaration import GROUP_MEAN, GROUPS, Metric, Scoreboard
from podium.platform.leaderboard import Column
from podium.platform.metrics_file import CaseResult

PerCase = Literal["full", "anonymous", "none"]
FEWEST_FOR_SPREAD = 10  # scored cases: a mean and a standard deviation of two cases reveal both
FEWEST_IN_GROUP = 5  # cases
_PSEUDONYM = re.compile(r"case-[0-9a-f]{16}")

# What is published of single cases.


def published_results(
    results: Sequence[CaseResult], *, per_case: PerCase, key: bytes, confidential: Sequence[str]
) -> list[CaseResult]:
    """The rows as the organiser chose to publish them, sorted by their published names.

    `anonymous` sorts by pseudonym, since the true order would reveal the cases, and drops the confidential figures.
    Errors and warnings stay: they name the participant's own files, which links those pseudonyms to their cases.
    """
    match per_case:
        case "none":
            return []
        case "full":
            return sorted(results, key=lambda result: result.case)
    hidden = [
        result.model_copy(
            update={"case": pseudonym(result.case, key=key), "metrics": without(result.metrics, confidential)}
        )
        for result in results
    ]
    return sorted(hidden, key=lambda result: result.case)


def rounded_aggregates(aggregates: Figures, *, decimals: int | None) -> Figures:
    """The aggregates rounded to `decimals`, or as they are (None); counts are whole numbers and stay."""
    return aggregates if decimals is None else {key: _rounded(value, decimals) for key, value in aggregates.items()}


def aggregates_of_enough_cases(
    aggregates: Figures,
    results: Sequence[CaseResult],
    *,
    groups: Mapping[str, Sequence[CaseResult]],
    board: Scoreboard[Any],
    ranked: Collection[str],
) -> Figures:
    """The aggregates of these results without what reveals single cases, where these are hidden.

    Left out are standard deviations and medians of fewer than 10 scored cases and figures made of these, places of
    curves that fewer than 10 scored cases have, and small groups with the means over groups. What teams are `ranked` by
    stays: there would be no leaderboard without it.
    """
    shown = _of_enough_cases(aggregates, results, board, ranked)
    if GROUPS not in shown:
        return shown
    kept = published_groups({name: len(members) for name, members in groups.items()})
    groups_shown = {name: _of_enough_cases(shown[GROUPS][name], groups[name], board, ()) for name in sorted(kept)}
    hidden = [GROUPS, *(_hidden_by_groups(board, kept, ranked) if len(kept) < len(groups) else ())]
    published = without(shown, hidden) | ({GROUPS: groups_shown} if groups_shown else {})
    for path in ranked:
        if path.startswith(f"{GROUPS}.") and holds(aggregates, path):
            put(published, path, get(aggregates, path))
    return published


def published_groups(sizes: Mapping[str, int]) -> set[str]:
    """The groups that are published: those of 5 cases and more, unless all others together have fewer.

    The figures of the others together follow from those of all cases and of the published groups. So the smallest are
    hidden until no case is left out, or 5 at least.
    """
    ascending = sorted(sizes, key=lambda name: (sizes[name], name))
    hidden = 0
    while ascending and (sizes[ascending[0]] < FEWEST_IN_GROUP or 0 < hidden < FEWEST_IN_GROUP):
        hidden += sizes[ascending.pop(0)]
    return set(ascending)


def published_columns(
    columns: Sequence[Column], *, cases: int, groups: Mapping[str, int], board: Scoreboard[Any], ranked: Collection[str]
) -> list[Column]:
    """The columns of a leaderboard without figures that are never published for these numbers of hidden cases, in
    total and in each group."""
    hidden = _revealing(board, lambda _: cases, ranked)
    kept = published_groups(groups)
    if len(kept) < len(groups):
        hidden |= _hidden_by_groups(board, kept, ranked)
        hidden |= {each.path for each in columns if _is_of_hidden(each.path, kept)}.difference(ranked)
    return [
        replace(each, error_path=None) if each.error_path in hidden else each
        for each in columns
        if each.path not in hidden
    ]


def _of_enough_cases(
    figures: Figures, results: Sequence[CaseResult], board: Scoreboard[Any], ranked: Collection[str]
) -> dict[str, Any]:
    """Only scored cases count: the value of a missing one is known, so it hides nothing."""
    scored = [result.metrics for result in results if result.status == "scored"]
    shown = without(figures, list(_revealing(board, lambda metric: _defined(metric, scored), ranked)))
    for curve in board.curves:
        if curve.mean in shown:
            enough = {
                str(place) for place, values in curve.by_place(scored).items() if len(values) >= FEWEST_FOR_SPREAD
            }
            kept = {place: mean for place, mean in shown.pop(curve.mean).items() if place in enough}
            shown |= {curve.mean: kept} if kept else {}
    return shown


def _revealing(board: Scoreboard[Any], defined: Callable[[Metric], int], ranked: Collection[str]) -> set[str]:
    """The paths of the spread of metrics that are `defined` in too few cases, and of every figure made of it."""
    few = {
        path
        for metric in board.metrics
        if metric.mean_path and defined(metric) < FEWEST_FOR_SPREAD
        for path in (metric.std_path, metric.median)
        if path
    }
    for alias, target in board.aliases.items():
        few |= {alias + path.removeprefix(target) for path in few if path.startswith(f"{target}.")}
    few.difference_update(ranked)
    for formula in board.formulas:  # a formula comes after its terms
        if formula.path not in ranked and few.intersection(formula.terms):
            few.add(formula.path)
    return few


def _defined(metric: Metric, rows: Sequence[Figures]) -> int:
    """How many rows have a value."""
    return sum(holds(row, metric.name) and get(row, metric.name) is not None for row in rows)


def _hidden_by_groups(board: Scoreboard[Any], kept: Collection[str], ranked: Collection[str]) -> set[str]:
    """Where groups are hidden: the means over groups, which would reveal theirs, and formulas of these or of a hidden
    group's figures."""
    hidden = {name + GROUP_MEAN for name in board.names.group_means}.difference(ranked)
    for formula in board.formulas:  # a formula comes after its terms
        if formula.path not in ranked and any(term in hidden or _is_of_hidden(term, kept) for term in formula.terms):
            hidden.add(formula.path)
    return hidden


def _is_of_hidden(path: str, kept: Collection[str]) -> bool:
    return path.startswith(f"{GROUPS}.") and path.split(".")[1] not in kept


def _rounded(value: Any, decimals: int) -> Any:
    if isinstance(value, Mapping):
        return {key: _rounded(each, decimals) for key, each in value.items()}
    return round(value, decimals) + 0.0 if isinstance(value, float) else value  # + 0.0: never -0.0


def pseudonym(case: str, *, key: bytes) -> str:
    """A keyed hash: the same case has the same pseudonym in every submission, and names cannot be found by guessing."""
    return "case-" + hmac.new(key, case.encode(), hashlib.sha256).hexdigest()[:16]


def are_anonymous(cases: Collection[str]) -> bool:
    """Whether these are the names of anonymous rows; False for no names."""
    return bool(cases) and all(_PSEUDONYM.fullmatch(case) for case in cases)
