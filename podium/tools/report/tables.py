"""The tables below the final one: claims, the arena, the judge, hard cases, every team, and the settings."""

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

import numpy as np

from podium.errors import listed
from podium.metrics.declaration import Metric
from podium.tools.ranking.calibration import Calibration, figure_rows, team_rows
from podium.tools.ranking.prose import paragraph
from podium.tools.ranking.result import Arena, Ranking, Team
from podium.tools.ranking.wording import (
    MOST_FALSE,
    NO_VALUE,
    NOTHING,
    Interval,
    chance,
    column_decimals,
    confidence_words,
    count,
    even_decimals,
    figure,
    fixed,
    interval_words,
    on_one_line,
    probability,
    with_interval,
)
from podium.tools.report.exhibits import FIRST_METRIC_COLUMN, CaseValues, case_values
from podium.tools.report.overlays import CasePictures
from podium.tools.report.page import Table
from podium.tools.report.vega import LONGEST_LABEL

OVERLAYS = 4
"""How many of a submission's worst cases have a picture."""

MOST_CELLS = 90_000
"""Of all tables of cases: with more, the page would be too large; each team's table then has its worst cases."""

MOST_HARD = 40
"""How many of the hardest cases are listed."""

_MANY = 5  # at least this many numbers of one setting, such as a tolerance per label, share one row


def claims_table(ranking: Ranking) -> Table | None:
    """Every team compared with the next one, then the winner with every other one."""
    found = ranking.claims.pairs if ranking.claims else ranking.differences
    if not found:
        return None
    decimals = column_decimals(team.score for team in ranking.teams)
    teams, agreement = {team.name: team for team in ranking.teams}, [fixed(each.agreement, 2) for each in found]
    groups = [_group_words(teams[each.better], teams[each.worse], each.interval) for each in found]
    return Table.of(
        {
            "Team": [each.better for each in found],
            "Other team": [each.worse for each in found],
            f"Difference in {ranking.deciding.score_title}": [fixed(each.difference, decimals) for each in found],
            f"{confidence_words(ranking.methods.confidence)} interval": [
                interval_words(each.interval, decimals) or NOTHING for each in found
            ],
            "Resolvable": [fixed(each.resolvable, decimals) for each in found],
            "Cases needed": [f"{each.cases_needed:,}" if each.cases_needed else NOTHING for each in found],
            **({"Agreement": agreement} if any(each != NOTHING for each in agreement) else {}),
            "False claim": [_claim_words(each.false_claim, ranking) for each in found],
            "p of swaps": [probability(each.permutation_p) for each in found],
            "Groups": groups,
        },
        paragraph("claims_table", ranking=ranking, explained=any("p = " in words for words in groups)),
        title="Claims",
        kind="names",
        is_after=True,
    )


def group_tables(ranking: Ranking) -> list[Table]:
    """The figure by group of cases, for every way of grouping, and how far the worst group is behind all cases."""
    tables = []
    for found in ranking.groups:
        decimals = even_decimals([value for row in found.values for value in row])
        columns = {"Team": [team.name for team in ranking.teams]}
        for number, (group, cases) in enumerate(zip(found.groups, found.cases, strict=True)):
            cells = [(row[number], ends[number]) for row, ends in zip(found.values, found.intervals, strict=True)]
            head = f"{group} ({count(cases, 'case')})" if cases else group
            columns[head] = [with_interval(value, ends, decimals) for value, ends in cells]
        columns["Worst group"] = [each.group if each else NOTHING for each in found.worst]
        columns["Gap"] = [fixed(each.gap if each else None, decimals) for each in found.worst]
        title = f"{found.figure} by {found.column or 'group'}"
        caption = "Gap: by how much the worst group is worse than all cases."
        tables.append(Table.of(columns, caption, title=title, kind="names", is_after=True))
    return tables


def _claim_words(false: float | None, ranking: Ranking) -> str:
    if false is None:
        return NOTHING
    return f"{chance(false, cases=ranking.units, unit=ranking.unit)}{': not safe' if false > MOST_FALSE else ''}"


def _group_words(better: Team, worse: Team, interval: Interval | None) -> str:
    if None in (better.group, worse.group):
        return NO_VALUE
    if better.group != worse.group:
        return "different"
    return f"same (p = {probability(worse.group_p)})" if interval and interval[0] * interval[1] > 0 else "same"


def arena_table(arena: Arena, teams: Sequence[Team]) -> Table:
    """The arena's figures of every finalist."""
    finalists = [(team, found) for team, found in zip(teams, arena.teams, strict=True) if found is not None]
    counts = {
        name.capitalize(): [figure(getattr(found, name)) for _, found in finalists]
        for name in ("group", "votes", "wins", "losses", "ties")
    }
    columns = {
        "Team": [team.name for team, _ in finalists],
        "Rank": [rank_words(team) for team, _ in finalists],
        "Rating": [fixed(found.rating, 1) for _, found in finalists],
        "Bradley-Terry": [fixed(found.bradley_terry, 1) for _, found in finalists],
        "Its interval": [interval_words(found.interval, 1) or NOTHING for _, found in finalists],
        **counts,
    }
    return Table.of(columns, "The finalists in the arena")


def calibration_tables(calibration: Calibration) -> list[Table]:
    """Agreement and biases of the judge, and the teams by votes, by the judge and by both."""
    interval = f"{confidence_words(calibration.confidence)} interval"
    agreement, won = "Agreement and biases", f"Comparisons won out of 100, with {interval}s"
    head = ("Judge and clinicians", "Value", interval, "Of")
    teams = ("Team", "By votes", "By the judge", "By both", "Votes", "Worth votes")
    return [
        Table(head, figure_rows(calibration), agreement, kind="words phrases"),
        Table(teams, team_rows(calibration), won),
    ]


def hard_cases(ranking: Ranking, values: CaseValues) -> Table:
    """Hardest first, by the median of all teams."""
    decimals = even_decimals(values.filled[~np.isnan(values.filled)].tolist(), most=3)
    higher, rows = values.metric.direction == "higher", []
    for case in np.flatnonzero(values.defined).tolist():
        column = values.filled[:, case]
        order = [int(team) for team in np.argsort(column if not higher else -column, kind="stable")]
        ends = [team for team in order if not np.isnan(column[team])]
        named = [
            (fixed(float(column[team]), decimals), _short(ranking.teams[team].name)) for team in (ends[0], ends[-1])
        ]
        lost = sum(statuses[case] in ("failed", "missing") for statuses in ranking.statuses)
        middle = float(np.median(column[ends]))
        rows.append((middle, (_short(ranking.cases[case]), fixed(middle, decimals), *named[0], *named[1], str(lost))))
    rows.sort(key=lambda row: row[0], reverse=not higher)
    note = "" if len(rows) <= MOST_HARD else f": {MOST_HARD} of {len(rows):,} cases"
    caption = f"Hardest first, by the median {values.title} of all teams{note}"
    head = ("Case", "Median", "Best", "by", "Worst", "by", "Failed or missing")
    return Table(head, [cells for _, cells in rows[:MOST_HARD]], caption, title="Hard cases")


def _short(name: str) -> str:
    return on_one_line(name, LONGEST_LABEL)


# Team by team.


@dataclass(frozen=True, kw_only=True)
class CaseRow:
    """A case in a team's table: its values, each with whether the rules filled it in, and the number where the text has
    none; `picture` where it has one."""

    anchor: str
    case: str
    status: str
    cells: Sequence[tuple[str, bool, str]]
    words: str
    picture: bool


@dataclass(frozen=True, kw_only=True)
class CasesOfTeam:
    """Every case of a team, those that are not scored in full first, then the worst; `note` says which are left out,
    `higher` are the columns in which higher is better."""

    team: int
    name: str
    head: Sequence[str]
    rows: Sequence[CaseRow]
    higher: Collection[int] = ()
    note: str = ""


def team_pages(ranking: Ranking, values: Sequence[CaseValues], pictures: CasePictures) -> list[dict[str, Any]]:
    """What the page shows about every team, in the order of the ranking."""
    decimals = column_decimals(ranking.deciding.scores)
    titles = {metric.name: metric.title for metric in ranking.metrics}
    return [
        {
            "anchor": anchor(row),
            "rank": rank_words(team),
            "name": team.name,
            "summary": paragraph("team", ranking=ranking, row=row, decimals=decimals, titles=titles),
            "strengths": _strengths(row, values),
            "standing": _standing(row, values),
            "cases": _team_cases(ranking, values, row, {each.row for each in pictures.of(team.name)}),
            "overlays": pictures.of(team.name),
        }
        for row, team in enumerate(ranking.teams)
    ]


def _team_cases(ranking: Ranking, values: Sequence[CaseValues], row: int, pictures: Collection[str]) -> CasesOfTeam:
    """The first metric is compared with the other teams."""
    if not values:
        return CasesOfTeam(team=row, name=ranking.teams[row].name, head=(), rows=())
    first, errors = values[0], {trouble.case: trouble.error for trouble in ranking.teams[row].troubles}
    order = bad_first(ranking.statuses[row], first.filled[row].tolist(), first.metric)
    most = max(1, MOST_CELLS // (len(ranking.teams) * len(values)))
    columns = [case_cells(each.metric, each.filled[row].tolist(), each.missing[row].tolist()) for each in values]
    rows = []
    for case in order[:most]:
        name, column = ranking.cases[case], first.filled[:, case]
        median = float(np.median(column[~np.isnan(column)])) if first.defined[case] else None
        cells = [column[case] for column in columns]
        place = f"{first.ranks[row, case]} of {len(ranking.teams)}" if first.defined[case] else NOTHING
        rows.append(
            CaseRow(
                anchor=f"{anchor(row)}-{case + 1}",
                case=name,
                status=ranking.statuses[row][case],
                cells=[*cells, (place, False, ""), (figure(median), False, "")],
                words=errors.get(name, ""),
                picture=name in pictures,
            )
        )
    compared = (f"Rank in {first.metric.title}", f"Median {first.metric.title} of all teams")
    return CasesOfTeam(
        team=row,
        name=ranking.teams[row].name,
        head=("Case", "Status", *(each.title for each in values), *compared),
        rows=rows,
        higher=higher_columns([each.metric for each in values]),
        note=shown_words(len(rows), len(order)),
    )


def case_cells(
    metric: Metric, values: Sequence[float | None], filled: Sequence[object], answers: Sequence[object] = ()
) -> list[tuple[str, bool, str]]:
    """The figures of all cases, with the same decimals; of a class `high risk (right)`, or `right` where the answers
    are not known here."""
    decimals = even_decimals(values)
    is_class = metric.name.endswith(".correct")
    return [
        _answer(answer, value, bool(is_filled))
        if is_class and value in (0, 1)
        else (fixed(value, decimals), bool(is_filled), "")
        for value, is_filled, answer in zip_longest(values, filled, answers)
    ]


def _answer(answer: object, value: float | None, is_filled: bool) -> tuple[str, bool, str]:
    words = "right" if value else "wrong"
    shown = f"{on_one_line(answer.replace('_', ' '), LONGEST_LABEL)} ({words})" if isinstance(answer, str) else words
    return shown, is_filled, f"{value:g}"


def higher_columns(metrics: Iterable[Metric]) -> set[int]:
    """The columns of these metrics, in a table of cases, in which higher is better."""
    return {n for n, metric in enumerate(metrics, FIRST_METRIC_COLUMN) if metric.direction == "higher"}


def shown_words(shown: int, number: int) -> str:
    """Empty where all cases are shown."""
    words = "failed, missing and partial ones, and the worst. ranking.json and metrics.json have all"
    return f"{shown:,} of {number:,} cases are shown: {words}." if shown < number else ""


def bad_first(statuses: Sequence[str], values: Sequence[float | None], metric: Metric) -> list[int]:
    """The numbers of the cases: failed, missing, partial, then the worst; those without a value last."""
    sign = 1 if metric.direction == "higher" else -1
    states = ("failed", "missing", "partial", "scored")

    def badness(case: int) -> tuple[int, bool, float]:
        value = values[case]
        unknown = value is None or math.isnan(value)
        return states.index(statuses[case]), unknown, 0.0 if value is None or unknown else sign * value

    return sorted(range(len(statuses)), key=badness)


def anchor(row: int) -> str:
    """The place of a team on the page: by its number, because a name may contain anything."""
    return f"team-{row + 1}"


def rank_words(team: Team) -> str:
    """`3`, `3=` for a shared rank, a dash for an unranked team."""
    return figure(team.rank) + ("=" if team.tied_with else "")


def _strengths(row: int, values: Sequence[CaseValues]) -> str:
    """The metrics with the best and with the worst position; empty where all positions are equal."""
    places = [(int(each.mean_ranks[row]), each.metric.title) for each in values]
    if len({place for place, _ in places}) < 2:
        return ""
    best, worst = min(places)[0], max(places)[0]
    strong = [title for place, title in places if place == best]
    weak = [title for place, title in places if place == worst]
    strong_words, weak_words = (listed(titles, most=3) for titles in (strong, weak))
    return f"Strongest in {strong_words} (rank {best}); weakest in {weak_words} (rank {worst})."


def _standing(row: int, values: Sequence[CaseValues]) -> Table:
    decimals = [even_decimals(each.means) for each in values]
    spans = [each.intervals[row] if each.intervals else None for each in values]
    best = [
        (np.fmax if each.metric.direction == "higher" else np.fmin).reduce(np.array(each.means, dtype=np.float64))
        for each in values
    ]
    return Table.of(
        {
            "Metric": [each.title for each in values],
            "Rank": [str(each.mean_ranks[row]) for each in values],
            "Mean": [fixed(each.means[row], number) for each, number in zip(values, decimals, strict=True)],
            "Its interval": [interval_words(*each) or NOTHING for each in zip(spans, decimals, strict=True)],
            "Best": [fixed(float(mean), number) for mean, number in zip(best, decimals, strict=True)],
        }
    )


def worst_of_teams(ranking: Ranking) -> dict[str, dict[str, str]]:
    """The worst cases of every team by the first metric that the schemes rank by; the first ones without per-case
    values."""
    by_case = next(iter(case_values(ranking)), None)
    worst = {}
    for row, team in enumerate(ranking.teams):
        shown = (ranking.cases, ranking.statuses[row])
        worst[team.name] = (
            worst_captions(*shown, by_case.filled[row].tolist(), by_case.metric) if by_case else first_captions(*shown)
        )
    return worst


def first_captions(cases: Sequence[str], statuses: Sequence[str]) -> dict[str, str]:
    """Of a challenge whose figures are those of all cases together: the first cases that are scored."""
    scored = [case for case, status in zip(cases, statuses, strict=True) if status == "scored"]
    return dict.fromkeys(scored[:OVERLAYS], "One of the first cases, as no case has a figure of its own")


def worst_captions(
    cases: Sequence[str], statuses: Sequence[str], values: Sequence[float | None], metric: Metric
) -> dict[str, str]:
    """The worst scored cases, each with the figure that makes it one; a perfect case is never a bad one."""
    perfect = metric.highest if metric.direction == "higher" else metric.lowest
    bad = [
        number
        for number in bad_first(statuses, values, metric)
        if statuses[number] == "scored" and values[number] not in (None, perfect) and values[number] == values[number]
    ]
    return {cases[number]: f"{metric.title} {figure(values[number])}" for number in bad[:OVERLAYS]}


# The settings.


def settings_table(settings: Mapping[str, Any], extra: Mapping[str, str] | None = None) -> Table:
    """Every setting that has a value, by its dotted name in challenge.toml, followed by `extra` rows."""
    rows = [*_leaves(settings, ""), *(extra or {}).items()]
    return Table(("Setting", "Value"), rows, title="Settings", kind="words")


def _leaves(value: Any, name: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping) and len(value) >= _MANY and all(map(_is_number, value.values())):
        yield name, ", ".join(f"{key} {_word(inner)}" for key, inner in value.items())
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _leaves(inner, f"{name}.{key}" if name else str(key))
    elif isinstance(value, list | tuple) and any(isinstance(each, Mapping) for each in value):
        for number, inner in enumerate(value, start=1):
            yield from _leaves(inner, f"{name}[{number}]")
    elif value is not None:
        yield name, _word(value)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _word(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if _is_number(value):
        return f"{value:.6g}"
    if isinstance(value, list | tuple):
        return ", ".join(_word(each) for each in value)
    return str(value)
