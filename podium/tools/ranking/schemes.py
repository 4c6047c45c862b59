"""The general ranking schemes, each written once for any number of replicates: the data as they are make one.

A scheme ranks by one metric; by several metrics it ranks by each and then by the mean of the positions.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr

from podium.metrics import Floats
from podium.metrics.declaration import Direction, Metric
from podium.metrics.resampling import Resamples
from podium.tools.ranking.result import Difference
from podium.tools.ranking.statistics import (
    Ranks,
    case_positions,
    holm,
    mean_positions,
    pairwise_p,
    percentile_interval,
    positions,
    share_of_significant_wins,
)

# The single cases of all teams as arrays: what the general schemes rank by.


@dataclass(frozen=True, kw_only=True)
class CaseTable:
    """One metric of all teams: `values[team, case]` as in the files, NaN where a team has no value."""

    metric: Metric
    values: Floats

    @property
    def defined(self) -> NDArray[np.bool_]:
        """The cases where at least one team has a value.

        Where no team has one the metric is undefined (Dice where the reference is empty), and there is nothing to
        rank; where some team has one, it is missing for the teams without one.
        """
        return np.asarray(~np.isnan(self.values).all(axis=0))

    def filled(self) -> Floats:
        """The defined cases, a missing value being the metric's worst."""
        values = self.values[:, self.defined]
        return np.where(np.isnan(values), self.metric.worst, values)

    def gains(self) -> Floats:
        """`filled`, turned so that larger is better."""
        return self.filled() if self.metric.direction == "higher" else -self.filled()


def case_table(metric: Metric, rows: Sequence[Sequence[float | None]]) -> CaseTable:
    """From `rows[team][case]`, None where a team has no value."""
    return CaseTable(metric=metric, values=np.array(rows, dtype=np.float64).reshape(len(rows), -1))


@dataclass(frozen=True, kw_only=True)
class SchemeOptions:
    """quantile  of the cases, for `quantile-then-rank`: 0.05 asks how a team does in its worst twentieth
    alpha     the level of the tests
    workers   threads for the tests; no figure depends on it"""

    quantile: float = 0.05
    alpha: float = 0.05
    workers: int = 1


Score = Callable[[CaseTable, Resamples, SchemeOptions], Floats]


@dataclass(frozen=True, kw_only=True)
class Scheme:
    """`score` gives one figure per team from a table of cases, as `[replicate, team]`.

    words        may hold {quantile}
    direction    of that figure; None means the metric's own
    score_title  of that figure; empty where it is the metric's own
    """

    name: str
    title: str
    words: str
    score: Score
    direction: Direction | None = None
    score_title: str = ""

    def direction_for(self, table: CaseTable) -> Direction:
        return self.direction or table.metric.direction


def _mean(table: CaseTable, resamples: Resamples, _: SchemeOptions) -> Floats:
    return resamples.only(table.defined).mean(table.filled().T)


def _quantile(share: float, table: CaseTable, resamples: Resamples) -> Floats:
    kept = resamples.only(table.defined)
    return np.stack([kept.quantiles(values, [share])[0] for values in table.filled()], axis=1)


def _median(table: CaseTable, resamples: Resamples, _: SchemeOptions) -> Floats:
    return _quantile(0.5, table, resamples)


def _low_quantile(table: CaseTable, resamples: Resamples, options: SchemeOptions) -> Floats:
    share = options.quantile if table.metric.direction == "higher" else 1 - options.quantile
    return _quantile(share, table, resamples)


def _positions_in_cases(table: CaseTable) -> Ranks:
    return case_positions(table.values[:, table.defined], table.metric.direction)


def _mean_position(table: CaseTable, resamples: Resamples, _: SchemeOptions) -> Floats:
    return resamples.only(table.defined).mean(_positions_in_cases(table).T)


def _median_position(table: CaseTable, resamples: Resamples, _: SchemeOptions) -> Floats:
    kept = resamples.only(table.defined)
    ranks = _positions_in_cases(table).astype(np.float64)
    return np.stack([kept.quantiles(values, [0.5])[0] for values in ranks], axis=1)


def _wins(table: CaseTable, resamples: Resamples, options: SchemeOptions) -> Floats:
    p = pairwise_p(table.gains(), resamples.only(table.defined), workers=options.workers)
    return share_of_significant_wins(p, alpha=options.alpha)


def _wins_after_holm(table: CaseTable, resamples: Resamples, options: SchemeOptions) -> Floats:
    p = pairwise_p(table.gains(), resamples.only(table.defined), workers=options.workers)
    return share_of_significant_wins(holm(p), alpha=options.alpha)


MEAN = Scheme(
    name="mean-then-rank",
    title="Mean, then rank",
    words="teams are ranked by the mean over cases",
    score=_mean,
)
MEDIAN = Scheme(
    name="median-then-rank",
    title="Median, then rank",
    words="teams are ranked by the median over cases",
    score=_median,
)
QUANTILE = Scheme(
    name="quantile-then-rank",
    title="Quantile, then rank",
    words="teams are ranked by the {quantile:g} quantile of their cases from the worse side, linearly interpolated",
    score=_low_quantile,
)
RANK_MEAN = Scheme(
    name="rank-then-mean",
    title="Rank, then mean",
    words="teams are ranked in every case, then by the mean of these ranks",
    score=_mean_position,
    direction="lower",
    score_title="Mean rank",
)
RANK_MEDIAN = Scheme(
    name="rank-then-median",
    title="Rank, then median",
    words="teams are ranked in every case, then by the median of these ranks",
    score=_median_position,
    direction="lower",
    score_title="Median rank",
)
TEST = Scheme(
    name="test-then-rank",
    title="Test, then rank",
    words="teams are ranked by the share of the other teams they beat in a one-sided paired Wilcoxon signed-rank test",
    score=_wins,
    direction="higher",
    score_title="Significant wins",
)
TEST_HOLM = Scheme(
    name="test-then-rank-holm",
    title="Test with Holm, then rank",
    words="teams are ranked by the share of the other teams they beat in a one-sided paired Wilcoxon signed-rank test, "
    "the p values adjusted after Holm over all ordered pairs",
    score=_wins_after_holm,
    direction="higher",
    score_title="Significant wins",
)

SIDE_BY_SIDE = (MEAN, MEDIAN, RANK_MEAN, RANK_MEDIAN, TEST)
SCHEMES = {scheme.name: scheme for scheme in (*SIDE_BY_SIDE, QUANTILE, TEST_HOLM)}


@dataclass(frozen=True, kw_only=True)
class SchemeOutcome:
    """`ranks[replicate, team]`, and what they were made from, `scores[replicate, team]`, better in `direction`."""

    ranks: Ranks
    scores: Floats
    direction: Direction
    score_title: str


def apply_scheme(
    scheme: Scheme,
    tables: Sequence[CaseTable],
    resamples: Resamples,
    options: SchemeOptions,
    weights: Sequence[float] | None = None,
) -> SchemeOutcome:
    """Rank by every table, and where there are several by the mean of the positions, `weights` being equal if None."""
    scores = [scheme.score(table, resamples, options) for table in tables]
    directions = [scheme.direction_for(table) for table in tables]
    ranks = [positions([(score, direction)]) for score, direction in zip(scores, directions, strict=True)]
    if len(tables) == 1:
        title = scheme.score_title or tables[0].metric.title
        return SchemeOutcome(ranks=ranks[0], scores=scores[0], direction=directions[0], score_title=title)
    combined = mean_positions(ranks, weights or [1.0] * len(ranks))
    return SchemeOutcome(
        ranks=positions([(combined, "lower")]), scores=combined, direction="lower", score_title="Mean position"
    )


# The live leaderboard of Grand Challenge, computed offline: absolute, or the mean or median of positions.

PlatformMethod = Literal["absolute", "mean", "median"]


@dataclass(frozen=True, kw_only=True)
class PlatformPlace:
    """`rank` as the platform counts: 0 for a submission it leaves out; `score` is what it ranks by."""

    rank: int
    score: float | None


def platform_ranking(
    submissions: Mapping[str, Sequence[float | None]],
    directions: Sequence[Direction],
    method: PlatformMethod,
) -> dict[str, PlatformPlace]:
    """Rank submissions by columns, the score's column first.

    A submission without a number in any ranked column is never ranked (position 0), under `absolute` too. Each
    column gives positions, equal values sharing the smaller; `absolute` takes those of the first column, `mean` and
    `median` rank by that statistic of a submission's positions.
    """
    ranked = [name for name, values in submissions.items() if all(value is not None for value in values)]
    places = {name: PlatformPlace(rank=0, score=None) for name in submissions}
    if not ranked:
        return places
    figures = np.array([submissions[name] for name in ranked], dtype=np.float64)
    by_column = np.stack([positions([(figures[:, number], direction)]) for number, direction in enumerate(directions)])
    match method:
        case "absolute":
            scores = by_column[0].astype(np.float64)
        case "mean":
            scores = by_column.sum(axis=0) / len(directions)  # whole numbers: equal sums are equal
        case "median":
            scores = np.median(by_column, axis=0)
    for name, rank, score in zip(ranked, positions([(scores, "lower")]), scores, strict=True):
        places[name] = PlatformPlace(rank=int(rank), score=float(score))
    return places


# What an organiser may choose.

OFFICIAL = "official"
PLATFORM = "platform"


@dataclass(frozen=True, kw_only=True)
class RankingOptions:
    """scheme           what the final table follows: `official`, `platform`, or a general scheme
    metrics          per-case metrics for the general schemes instead of those the challenge declares
    weights          of these metrics' positions where there are several; 1 where not named
    confidence       of every interval
    alpha            the level of every test
    platform_method  instead of what the challenge's phase settings say
    arena            the arena's result, to decide among the finalists
    break_arena_ties order teams of one of the arena's groups by their ratings instead of letting them share the rank
    calibration      of the judge by the arena's votes, for the page
    workers          threads; no figure depends on it
    """

    scheme: str = OFFICIAL
    metrics: tuple[str, ...] = ()
    weights: Mapping[str, float] = field(default_factory=dict)
    bootstraps: int = 1000
    seed: int = 0
    confidence: float = 0.95
    alpha: float = 0.05
    quantile: float = 0.05
    platform_method: PlatformMethod | None = None
    arena: Path | None = None
    break_arena_ties: bool = False
    calibration: Path | None = None
    workers: int = 1


# Teams compared by the score that decides: neighbours in the table, and groups of teams that cannot be told apart.


def neighbour_differences(
    teams: Sequence[str], full: SchemeOutcome, replicates: SchemeOutcome, *, confidence: float
) -> tuple[Difference, ...]:
    """Every team and the next one, in the order of the final table.

    The difference is the better team's score minus the other's. The probability that the better one is ahead is the
    share of replicates in which its rank is better, an equal rank counting half.
    """
    scores, ranks = full.scores[0], replicates.ranks
    found = []
    for first in range(len(teams) - 1):
        second = first + 1
        with np.errstate(invalid="ignore"):  # two infinite worst values have no difference
            difference = float(scores[first] - scores[second])
            drawn = replicates.scores[:, first] - replicates.scores[:, second]
        ahead = np.where(ranks[:, first] == ranks[:, second], 0.5, ranks[:, first] < ranks[:, second])
        found.append(
            Difference(
                better=teams[first],
                worse=teams[second],
                difference=difference if np.isfinite(difference) else None,
                interval=percentile_interval(drawn, confidence=confidence),
                probability_ahead=float(ahead.mean()),
            )
        )
    return tuple(found)


def rank_groups(
    full: SchemeOutcome, replicates: SchemeOutcome, *, cases: int, alpha: float
) -> tuple[tuple[int, ...], tuple[float | None, ...]]:
    """For every team, in the order of the final table, the number of its group (from 1) and the adjusted p of its
    comparison with the group's first team, which itself has none.

    The best team is the anchor of the first group. A team that does not differ from it at `alpha`, after Holm's
    adjustment over all comparisons with this anchor, belongs to its group; the best team outside is the next anchor.
    """
    teams = full.scores.shape[1]
    groups: list[int] = [0] * teams
    adjusted: list[float | None] = [None] * teams
    group = 0
    while 0 in groups:
        group += 1
        anchor, *others = [team for team in range(teams) if not groups[team]]
        groups[anchor] = group
        p = holm_adjusted([paired_p(full, replicates, anchor, other, cases=cases) for other in others])
        for other, value in zip(others, p, strict=True):
            if value > alpha:
                groups[other], adjusted[other] = group, value
    return tuple(groups), tuple(adjusted)


def paired_p(full: SchemeOutcome, replicates: SchemeOutcome, first: int, second: int, *, cases: int) -> float:
    """Two-sided p of two teams' difference: t = difference / bootstrap standard error, n - 1 degrees of freedom.

    The standard error is the spread of the paired differences over the replicates times sqrt(n / (n - 1)): for a mean
    over n cases this is the paired t test, but for the noise of the draws. 1 where the score or the cases cannot tell:
    one case, equal scores, infinite scores.
    """
    with np.errstate(invalid="ignore"):
        difference = float(full.scores[0, first] - full.scores[0, second])
        drawn: Floats = replicates.scores[:, first] - replicates.scores[:, second]
    if cases < 2 or difference == 0 or not np.isfinite(difference) or not np.isfinite(drawn).all():
        return 1.0
    error = float(drawn.std()) * (cases / (cases - 1)) ** 0.5
    if error == 0:
        return 0.0
    return float(2 * stdtr(cases - 1, -abs(difference) / error))


def holm_adjusted(p: Sequence[float]) -> list[float]:
    """The i-th smallest of m times m - i + 1, made non-decreasing, at most 1; in the order given."""
    adjusted = [0.0] * len(p)
    largest = 0.0
    for place, number in enumerate(sorted(range(len(p)), key=lambda each: p[each])):
        largest = max(largest, min(1.0, p[number] * (len(p) - place)))
        adjusted[number] = largest
    return adjusted
