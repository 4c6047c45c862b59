"""The tables of a ranking's report: the final table, neighbours, the arena, the judge, every team, and the settings."""

import math
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from podium.metrics.declaration import Metric
from podium.tools.ranking.output import TableColumn, figure_rows, rank_range, table_columns, team_rows
from podium.tools.ranking.result import Arena, Calibration, Consensus, Interval, Ranking, Team
from podium.tools.ranking.wording import (
    NO_VALUE,
    NOTHING,
    chance,
    column_decimals,
    confidence_words,
    count,
    even_decimals,
    figure,
    fixed,
    interval_words,
    listed,
    lost_words,
    probability,
    with_interval,
)
from podium.tools.report.exhibits import CaseValues, case_values
from podium.tools.report.overlays import CasePictures, OverlayPicture
from podium.tools.report.page import Table

OVERLAYS = 4
"""How many of a submission's worst cases have a picture."""

MOST_CELLS = 120_000
"""Of all tables of cases: with more, the page would be too large; each team's table then has its worst cases."""

_MANY = 5  # at least this many numbers of one setting, such as a tolerance per label, share one row
_WHY_SAME = (
    ". An interval may exclude 0 within one group: groups compare a team with the best team of its group, and p is "
    "adjusted (Holm) over all comparisons with that team, while an interval is of one pair alone"
)


@dataclass(frozen=True, kw_only=True)
class FinalCell:
    """A cell of the final table, in the order in which the page shows its parts; `ranks` are drawn too."""

    kind: str
    text: str
    ranks: tuple[int, int] | None = None
    interval: str = ""
    remark: str = ""


@dataclass(frozen=True, kw_only=True)
class FinalRow:
    """A team in the final table; `anchor` is its place on the page, where it has one."""

    rank: str
    name: str
    anchor: str = ""
    is_finalist: bool = False
    starts_group: bool = False
    cells: Sequence[FinalCell]


@dataclass(frozen=True, kw_only=True)
class FinalTable:
    """The final table, with rank and team before the `columns`; `files` have it too."""

    columns: Sequence[TableColumn]
    rows: Sequence[FinalRow]
    note: str
    files: Mapping[str, str]


def final_table(ranking: Ranking) -> FinalTable:
    """The columns of `table_columns` as the page shows them."""
    columns = table_columns(ranking)
    rows = [
        FinalRow(
            rank=rank_words(team),
            name=team.name,
            anchor=anchor(number),
            is_finalist=team.finalist,
            starts_group=number > 0 and team.group != ranking.teams[number - 1].group,
            cells=[_final_cell(column, number) for column in columns],
        )
        for number, team in enumerate(ranking.teams)
    ]
    return FinalTable(
        columns=columns, rows=rows, note=_note(ranking), files={"CSV": "ranking.csv", "LaTeX": "ranking.tex"}
    )


def consensus_table(consensus: Consensus) -> FinalTable:
    """Mean rank, what the bootstrap says about it, and the rank in every task."""
    means, ends, stable = consensus.mean_ranks, consensus.mean_rank_intervals, consensus.stability
    columns = [TableColumn("Mean rank", means, intervals=ends, decimals=2, kind="score")]
    if stable:
        wins = [chance(each, cases=consensus.cases) for each in stable.win_probabilities]
        columns.append(TableColumn(f"Rank, {confidence_words(consensus.confidence)} interval", stable.rank_intervals))
        columns.append(TableColumn("Chance of winning", wins))
    if consensus.kemeny:
        columns.append(TableColumn("Kemeny place", [consensus.kemeny.index(team) + 1 for team in consensus.teams]))
    columns += [TableColumn(task, ranks) for task, ranks in zip(consensus.tasks, consensus.ranks, strict=True)]
    ranks = Counter(consensus.consensus_ranks)
    rows = [
        FinalRow(
            rank=f"{rank}{'=' if ranks[rank] > 1 else ''}",
            name=consensus.teams[number],
            cells=[_final_cell(each, number) for each in columns],
        )
        for number, rank in enumerate(consensus.consensus_ranks)
    ]
    note = "Teams of equal rank are marked with =. The last columns are the ranks in the tasks."
    return FinalTable(columns=columns, rows=rows, note=note, files={"CSV": "consensus.csv"})


def _final_cell(column: TableColumn, number: int) -> FinalCell:
    cell, interval = column.cells[number], column.interval(number)
    remark = column.remarks[number] if column.remarks else ""
    if cell is None or isinstance(cell, str):
        return FinalCell(kind=column.kind, text=cell or NOTHING, remark=remark)
    if isinstance(cell, tuple):
        return FinalCell(kind=column.kind, text=rank_range(cell, " to "), ranks=cell, remark=remark)
    text = fixed(cell, column.decimals)
    spread = column.spreads[number] if column.spreads and interval is None else None
    if spread is not None:
        text += f" ± {fixed(spread, column.decimals)}"
    return FinalCell(kind=column.kind, text=text, interval=interval_words(interval, column.decimals), remark=remark)


def _note(ranking: Ranking) -> str:
    words = ["Teams of equal rank are marked with =."]
    shown = sum(column.headline for column in ranking.columns)
    if shown < len(ranking.columns):
        words.append(f"{shown} of {len(ranking.columns)} figures are shown; ranking.csv has all.")
    confidence = confidence_words(ranking.methods.confidence)
    if ranking.deciding.score_intervals is not None or any(column.intervals for column in ranking.columns):
        words.append(f"Below a figure is its {confidence} interval over cases.")
    if ranking.not_resampled:
        words.append(f"One figure per team, so without an interval: {listed(list(ranking.not_resampled))}.")
    if any(column.errors and not column.intervals for column in ranking.columns if column.headline):
        words.append("± is the standard deviation over cases.")
    if ranking.differences:
        words.append(
            "A line between two teams separates groups: teams in the same group do not differ significantly from the "
            "group's best team."
        )
    elif ranking.arena is not None and any(team.group is not None for team in ranking.teams):
        words.append("Groups are the arena's: the votes do not separate the teams of a group.")
    if any(team.failed or team.missing for team in ranking.teams):
        words.append("Failed and missing cases count with the worst value of everything that teams are ranked by.")
    if ranking.deciding.stability is not None:
        words.append(
            "The intervals and the chance of winning come from resampling the cases with replacement; a shared first "
            "place counts as an equal part of a win."
        )
    return " ".join(words)


def differences_table(ranking: Ranking) -> Table | None:
    """Every team compared with the next one."""
    if not ranking.differences:
        return None
    found, decimals = ranking.differences, column_decimals(team.score for team in ranking.teams)
    teams = {team.name: team for team in ranking.teams}
    groups = [_group_words(teams[each.better], teams[each.worse], each.interval) for each in found]
    explained = _WHY_SAME if any("p = " in words for words in groups) else ""
    return Table.of(
        {
            "Team": [each.better for each in found],
            "Next team": [each.worse for each in found],
            f"Difference in {ranking.deciding.score_title}": [fixed(each.difference, decimals) for each in found],
            f"{confidence_words(ranking.methods.confidence)} interval": [
                interval_words(each.interval, decimals) or NOTHING for each in found
            ],
            "Probability of being ahead": [chance(each.probability_ahead, cases=len(ranking.cases)) for each in found],
            "Groups": groups,
        },
        f"Every team compared with the next one over the same resampled cases{explained}",
        title="Neighbours compared",
        kind="names",
    )


def _group_words(better: Team, worse: Team, interval: Interval | None) -> str:
    if None in (better.group, worse.group):
        return NO_VALUE
    if better.group != worse.group:
        return "different"
    return f"same (p = {probability(worse.group_p)})" if interval and interval[0] * interval[1] > 0 else "same"


def arena_tables(arena: Arena, teams: Sequence[Team]) -> tuple[list[str], Table]:
    """Sentences on the arena, and its figures of every finalist."""
    words = []
    if arena.votes is not None and arena.raters is not None and arena.cases is not None:
        words.append(f"{arena.raters} raters gave {arena.votes:,} votes on {arena.cases} cases.")
    if arena.stop_rule_holds is not None:
        words.append(
            "The stop rule holds."
            if arena.stop_rule_holds
            else " ".join(["The stop rule does not hold.", *arena.stop_rule_missing])
        )
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
    return words, Table.of(columns, "The finalists in the arena")


def calibration_tables(calibration: Calibration) -> list[Table]:
    """Agreement and biases of the judge, and the teams by votes, by the judge and by both."""
    interval = f"{confidence_words(calibration.confidence)} interval"
    return [
        Table(
            ("Judge and clinicians", "Value", interval, "Of"),
            figure_rows(calibration),
            "Agreement and biases",
            kind="words phrases",
        ),
        Table(
            head=("Team", "By votes", "By the judge", "By both", "Votes", "Worth votes"),
            rows=team_rows(calibration),
            caption=f"Comparisons won out of 100, with {interval}s",
        ),
    ]


# Team by team.


@dataclass(frozen=True, kw_only=True)
class CaseRow:
    """A case in a team's table: its values with `lost` ones, which the rules put in; `picture` where it has one."""

    anchor: str
    case: str
    status: str
    cells: Sequence[tuple[str, bool]]
    words: str
    picture: bool


@dataclass(frozen=True, kw_only=True)
class CasesOfTeam:
    """Every case of a team, failed and missing ones first, then the worst; `note` says which are left out."""

    team: int
    name: str
    head: Sequence[str]
    rows: Sequence[CaseRow]
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class TeamPage:
    """What the page shows about one team."""

    anchor: str
    rank: str
    name: str
    summary: str
    strengths: str
    standing: Table
    cases: CasesOfTeam
    overlays: Sequence[OverlayPicture]


def team_pages(ranking: Ranking, values: Sequence[CaseValues], pictures: CasePictures) -> list[TeamPage]:
    """In the order of the ranking."""
    return [
        TeamPage(
            anchor=anchor(row),
            rank=rank_words(team),
            name=team.name,
            summary=_summary(ranking, row),
            strengths=_strengths(row, values),
            standing=_standing(row, values),
            cases=_team_cases(ranking, values, row, {each.row for each in pictures.of(team.name)}),
            overlays=pictures.of(team.name),
        )
        for row, team in enumerate(ranking.teams)
    ]


def _team_cases(ranking: Ranking, values: Sequence[CaseValues], row: int, pictures: Collection[str]) -> CasesOfTeam:
    """The first metric is compared with the other teams."""
    if not values:
        return CasesOfTeam(team=row, name=ranking.teams[row].name, head=(), rows=())
    first, errors = values[0], {trouble.case: trouble.error for trouble in ranking.teams[row].troubles}
    order = bad_first(ranking.statuses[row], first.filled[row].tolist(), first.metric)
    most = max(1, MOST_CELLS // (len(ranking.teams) * len(values)))
    rows = []
    for case in order[:most]:
        name, column = ranking.cases[case], first.filled[:, case]
        median = float(np.median(column[~np.isnan(column)])) if first.defined[case] else None
        cells = [(figure(float(each.filled[row, case])), bool(each.missing[row, case])) for each in values]
        place = f"{first.ranks[row, case]} of {len(ranking.teams)}" if first.defined[case] else NOTHING
        rows.append(
            CaseRow(
                anchor=f"{anchor(row)}-{case + 1}",
                case=name,
                status=ranking.statuses[row][case],
                cells=[*cells, (place, False), (figure(median), False)],
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
        note=shown_words(len(rows), len(order)),
    )


def shown_words(shown: int, number: int) -> str:
    """Empty where all cases are shown."""
    words = "failed and missing ones, and the worst. ranking.json and metrics.json have all"
    return f"{shown:,} of {number:,} cases are shown: {words}." if shown < number else ""


def bad_first(statuses: Sequence[str], values: Sequence[float | None], metric: Metric) -> list[int]:
    """The numbers of the cases: failed, missing, then the worst; those without a value last."""
    sign = 1 if metric.direction == "higher" else -1
    states = ("failed", "missing", "scored")

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


def _summary(ranking: Ranking, row: int) -> str:
    team, deciding = ranking.teams[row], ranking.deciding
    place = "Not ranked" if team.rank is None else f"Rank {team.rank} of {len(ranking.teams)}"
    if team.tied_with:
        place += f", shared with {listed(list(team.tied_with[:5]))}"
        if len(team.tied_with) > 5:
            place += " and others"
    decimals = column_decimals(deciding.scores)
    words = f"{place}. {deciding.score_title}: {with_interval(team.score, team.score_interval, decimals)}."
    if deciding.stability is not None:
        low, high = deciding.stability.rank_intervals[row]
        win = chance(deciding.stability.win_probabilities[row], cases=len(ranking.cases))
        span = f"rank {low}" if low == high else f"ranks {low} to {high}"
        words += f" {confidence_words(ranking.methods.confidence)} interval: {span}; chance of winning: {win}."
    words += f" {team.scored} of {count(team.expected, 'case')} scored"
    lost = lost_words(team.failed, team.missing)
    words += f" ({lost})." if lost else "."
    if team.unmatched:
        words += (
            f" {count(team.unmatched, 'submitted file or job', 'submitted files or jobs')} did not belong to any case."
        )
    for tests in ranking.significance[:1]:
        beaten = sum(tests.significant_holm[row])
        beaten_by = sum(other[row] for other in tests.significant_holm)
        title = next((metric.title for metric in ranking.metrics if metric.name == tests.metric), tests.metric)
        words += f" In {title}, significantly better than {count(beaten, 'team')} and worse than {beaten_by} (Holm)."
    return words


def _strengths(row: int, values: Sequence[CaseValues]) -> str:
    """The metrics with the best and with the worst position; empty where all positions are equal."""
    places = [(int(each.mean_ranks[row]), each.metric.title) for each in values]
    if len({place for place, _ in places}) < 2:
        return ""
    best, worst = min(places)[0], max(places)[0]
    strong = [title for place, title in places if place == best]
    weak = [title for place, title in places if place == worst]
    return f"Strongest in {_some(strong)} (rank {best}); weakest in {_some(weak)} (rank {worst})."


def _some(titles: list[str]) -> str:
    return listed(titles if len(titles) <= 3 else [*titles[:3], f"{len(titles) - 3} more"])


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
    """The worst cases of every team by the first metric that the schemes rank by; none without per-case values."""
    return {
        team.name: worst_captions(ranking.cases, ranking.statuses[row], values.filled[row].tolist(), values.metric)
        for values in case_values(ranking)[:1]
        for row, team in enumerate(ranking.teams)
    }


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
