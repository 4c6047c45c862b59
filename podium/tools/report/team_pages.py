"""One page per team: where it is strong, where it is weak, which cases it lost and which went worst."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from podium.metrics.declaration import Metric
from podium.tools.ranking.result import Ranking, Team, Trouble, chance, column_decimals, even_decimals
from podium.tools.ranking.statistics import case_positions
from podium.tools.report.metric_section import CaseValues, case_values
from podium.tools.report.overlays import OverlayPicture
from podium.tools.report.page import (
    NOTHING,
    Table,
    count,
    figure,
    fixed,
    interval_words,
    listed,
    percent,
    with_interval,
)

MOST_TROUBLES = 12
WORST_CASES = 5
_METRICS_WITH_WORST_CASES = 2


@dataclass(frozen=True, kw_only=True)
class WorstTable:
    """The worst cases of a team in one metric."""

    caption: str
    table: Table


@dataclass(frozen=True, kw_only=True)
class TeamPage:
    """What the template shows of one team."""

    anchor: str
    rank: str
    name: str
    summary: str
    strengths: str
    standing: Table
    worst: Sequence[WorstTable]
    troubles: Sequence[Trouble]
    more_troubles: str
    overlays: Sequence[OverlayPicture]


def team_pages(
    ranking: Ranking, values: Sequence[CaseValues], overlays: Mapping[str, Sequence[OverlayPicture]]
) -> list[TeamPage]:
    """The pages in ranking order; `overlays` by team, where the organiser gave images."""
    means = {each.metric.name: np.array(each.means, dtype=np.float64) for each in values}
    ranks = {each.metric.name: _ranks_of(means[each.metric.name], each.metric) for each in values}
    deciding = [each for each in values if each.in_schemes] or list(values)
    pages = []
    for row, team in enumerate(ranking.teams):
        shown = team.troubles[:MOST_TROUBLES]
        left_out = len(team.troubles) - len(shown)
        pages.append(
            TeamPage(
                anchor=anchor(row),
                rank=rank_words(team),
                name=team.name,
                summary=_summary(ranking, row),
                strengths=_strengths(row, values, ranks),
                standing=_standing(row, values, means, ranks),
                worst=[
                    _worst(row, each, ranking)
                    for each in deciding[:_METRICS_WITH_WORST_CASES]
                    if _worst_cases(row, each, ranking)
                ],
                troubles=shown,
                more_troubles=f"and {count(left_out, 'more case')}." if left_out else "",
                overlays=overlays.get(team.name, ()),
            )
        )
    return pages


def anchor(row: int) -> str:
    """The place of a team's page: by its number, since a name may hold anything."""
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
        words += f" {percent(ranking.methods.confidence)} interval: {span}; chance of winning: {win}."
    words += f" {team.scored} of {count(team.expected, 'case')} scored"
    lost = [f"{number} {what}" for number, what in ((team.failed, "failed"), (team.missing, "missing")) if number]
    words += f" ({', '.join(lost)})." if lost else "."
    if team.unmatched:
        words += f" {count(team.unmatched, 'submitted file or job', 'submitted files or jobs')} belonged to no case."
    for tests in ranking.significance[:1]:
        beaten = sum(tests.significant_holm[row])
        beaten_by = sum(other[row] for other in tests.significant_holm)
        title = next((metric.title for metric in ranking.metrics if metric.name == tests.metric), tests.metric)
        words += f" In {title}, significantly better than {count(beaten, 'team')} and worse than {beaten_by} (Holm)."
    return words


def _ranks_of(means: NDArray[np.float64], metric: Metric) -> NDArray[np.int64]:
    return case_positions(means[:, None], metric.direction)[:, 0]


def _strengths(row: int, values: Sequence[CaseValues], ranks: Mapping[str, NDArray[np.int64]]) -> str:
    """The metrics of the best and of the worst position; nothing where all positions are the same."""
    places = [(int(ranks[each.metric.name][row]), each.metric.title) for each in values]
    if len({place for place, _ in places}) < 2:
        return ""
    best, worst = min(places)[0], max(places)[0]
    strong = [title for place, title in places if place == best]
    weak = [title for place, title in places if place == worst]
    return f"Strongest in {_some(strong)} (rank {best}); weakest in {_some(weak)} (rank {worst})."


def _some(titles: list[str]) -> str:
    return listed(titles if len(titles) <= 3 else [*titles[:3], f"{len(titles) - 3} more"])


def _standing(
    row: int,
    values: Sequence[CaseValues],
    means: Mapping[str, NDArray[np.float64]],
    ranks: Mapping[str, NDArray[np.int64]],
) -> Table:
    rows = []
    for each in values:
        metric = each.metric
        all_means = means[metric.name]
        best = float((np.fmax if metric.direction == "higher" else np.fmin).reduce(all_means))
        unit = f" ({metric.unit})" if metric.unit else ""
        decimals = even_decimals(each.means)
        interval = each.intervals[row] if each.intervals else None
        rows.append(
            (
                f"{metric.title}{unit}",
                str(ranks[metric.name][row]),
                fixed(float(all_means[row]), decimals),
                interval_words(interval, decimals) or NOTHING,
                fixed(best, decimals),
            )
        )
    return Table(head=("Metric", "Rank", "Mean", "Its interval", "Best"), rows=rows)


def worst_captions(ranking: Ranking, row: int, *, most: int) -> dict[str, str]:
    """A team's worst scored cases with the figure that makes them so, for overlays."""
    values = case_values(ranking)
    deciding = next((each for each in values if each.in_schemes), values[0] if values else None)
    if deciding is None:
        return {}
    return {
        ranking.cases[case]: f"{deciding.metric.title} {figure(float(deciding.filled[row, case]))}"
        for case in _worst_cases(row, deciding, ranking)[:most]
    }


def _worst_cases(row: int, each: CaseValues, ranking: Ranking) -> list[int]:
    """The scored cases with a value, the worst first; a perfect case is not listed."""
    perfect = each.metric.highest if each.metric.direction == "higher" else each.metric.lowest
    scored = [
        case
        for case, status in enumerate(ranking.statuses[row])
        if status == "scored" and not np.isnan(each.filled[row, case]) and each.filled[row, case] != perfect
    ]
    sign = 1 if each.metric.direction == "higher" else -1
    return sorted(scored, key=lambda case: (sign * each.filled[row, case], ranking.cases[case]))


def _worst(row: int, each: CaseValues, ranking: Ranking) -> WorstTable:
    """The scored cases of the worst values, beside what all teams made of them."""
    metric = each.metric
    rows = []
    for case in _worst_cases(row, each, ranking)[:WORST_CASES]:
        column = each.filled[:, case]
        median = float(np.median(column[~np.isnan(column)]))
        rows.append(
            (
                ranking.cases[case],
                figure(float(each.filled[row, case])),
                figure(median),
                f"{each.ranks[row, case]} of {len(ranking.teams)}",
            )
        )
    return WorstTable(
        caption=f"Worst scored cases: {metric.title}",
        table=Table(head=("Case", "Value", "Median of all teams", "Rank in the case"), rows=rows),
    )
