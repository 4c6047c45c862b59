"""The general ranking schemes, what an organiser may choose, and teams compared by the score that decides.

Each scheme is written once for any number of replicates; the original data count as one. A scheme ranks by one metric;
with several metrics it ranks by each and then by the mean of the positions.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr

from podium.execution.executor import ProgressFactory, no_progress
from podium.metrics import Floats
from podium.metrics.declaration import Direction, Metric
from podium.metrics.resampling import Resamples
from podium.tools.ranking.result import Difference, Intervals
from podium.tools.ranking.statistics import (
    Ranks,
    case_positions,
    holm,
    holm_over_pairs,
    mean_positions,
    median_interval,
    pairwise_p,
    percentile_interval,
    positions,
    share_of_significant_wins,
)

OFFICIAL = "official"
PLATFORM = "platform"
MEAN_POSITION: tuple[Direction, str] = ("lower", "Mean position")
PlatformMethod = Literal["absolute", "mean", "median"]


@dataclass(frozen=True, kw_only=True)
class RankingOptions:
    """What an organiser may choose.

    scheme            what the final table follows: `official`, `platform`, or a general scheme
    metrics           per-case metrics for the general schemes instead of those the challenge declares
    weights           of the positions by these metrics; 1 for metrics that are not named
    confidence        of every interval
    alpha             the level of every test
    quantile          of the cases, for `quantile-then-rank`: 0.05 asks how a team does in its worst twentieth
    platform_method   instead of the one in the challenge's phase settings
    arena             arena.json, whose ratings decide among the finalists
    break_arena_ties  order the teams of one arena group by their ratings instead of giving them the same rank
    calibration       calibration.json of the judge, for the page
    progress          how the progress of long work is shown
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
    progress: ProgressFactory = no_progress


@dataclass(frozen=True, kw_only=True)
class CaseTable:
    """One metric of all teams: `values[team, case]` as in the files, NaN where a team has no value."""

    metric: Metric
    values: Floats

    @property
    def defined(self) -> NDArray[np.bool_]:
        """The cases where at least one team has a value.

        Where no team has one, the metric is undefined (such as Dice with an empty reference) and the case is left out.
        Where some team has one, it counts as missing for the teams without one.
        """
        return np.asarray(~np.isnan(self.values).all(axis=0))

    def filled(self) -> Floats:
        """The defined cases, with the worst value of the metric where a value is missing."""
        values = self.values[:, self.defined]
        return np.where(np.isnan(values), self.metric.worst, values)

    def gains(self) -> Floats:
        """`filled`, negated where lower is better: larger is always better."""
        return self.filled() if self.metric.direction == "higher" else -self.filled()


def case_table(metric: Metric, rows: Sequence[Sequence[float | None]]) -> CaseTable:
    """From `rows[team][case]`, None where a team has no value."""
    return CaseTable(metric=metric, values=np.array(rows, dtype=np.float64).reshape(len(rows), -1))


ScoreFunction = Callable[[CaseTable, Resamples, RankingOptions], Floats]


@dataclass(frozen=True)
class Scheme:
    """A general scheme. `score` gives one figure per team from a table of cases, as `[replicate, team]`.

    words        one sentence; may contain {quantile}
    direction    of the score; None if it is the metric's
    score_title  of the score; empty if it is the metric's
    """

    name: str
    title: str
    words: str
    score: ScoreFunction
    direction: Direction | None = None
    score_title: str = ""


def _mean(table: CaseTable, resamples: Resamples, _: RankingOptions) -> Floats:
    return resamples.only(table.defined).mean(table.filled().T)


def _median(table: CaseTable, resamples: Resamples, _: RankingOptions) -> Floats:
    return _quantile(0.5, table.filled(), resamples.only(table.defined))


def _low_quantile(table: CaseTable, resamples: Resamples, options: RankingOptions) -> Floats:
    share = options.quantile if table.metric.direction == "higher" else 1 - options.quantile
    return _quantile(share, table.filled(), resamples.only(table.defined))


def _mean_position(table: CaseTable, resamples: Resamples, _: RankingOptions) -> Floats:
    return resamples.only(table.defined).mean(_positions_in_cases(table).T)


def _median_position(table: CaseTable, resamples: Resamples, _: RankingOptions) -> Floats:
    return _quantile(0.5, _positions_in_cases(table).astype(np.float64), resamples.only(table.defined))


def _wins(table: CaseTable, resamples: Resamples, options: RankingOptions, *, adjusted: bool = False) -> Floats:
    p = pairwise_p(table.gains(), resamples.only(table.defined))
    return share_of_significant_wins(holm_over_pairs(p) if adjusted else p, alpha=options.alpha)


def _quantile(share: float, by_team: Floats, resamples: Resamples) -> Floats:
    return np.stack([resamples.quantiles(values, [share])[0] for values in by_team], axis=1)


def _positions_in_cases(table: CaseTable) -> Ranks:
    return case_positions(table.values[:, table.defined], table.metric.direction)


def exact_intervals(scheme: Scheme, tables: Sequence[CaseTable], confidence: float) -> Intervals | None:
    """Of the scores of a scheme that ranks by medians of one metric; None for others."""
    of_cases = {"median-then-rank": CaseTable.filled, "rank-then-median": _positions_in_cases}.get(scheme.name)
    if of_cases is None or len(tables) != 1:
        return None
    return tuple(median_interval(values, confidence=confidence) for values in of_cases(tables[0]))


_TESTED = "teams are ranked by the share of the other teams they beat in a one-sided paired Wilcoxon signed-rank test{}"
_AFTER_HOLM = _TESTED.format(", the p values adjusted by Holm's method over all ordered pairs")
_LOW = "teams are ranked by the {quantile:g} quantile of their cases from the worse side, linearly interpolated"
_BY_RANKS = "teams are ranked in every case, then by the {} of these ranks"
_WINS: tuple[Direction, str] = ("higher", "Significant wins")

MEAN = Scheme("mean-then-rank", "Mean, then rank", "teams are ranked by the mean over cases", _mean)
SIDE_BY_SIDE = (
    MEAN,
    Scheme("median-then-rank", "Median, then rank", "teams are ranked by the median over cases", _median),
    Scheme("rank-then-mean", "Rank, then mean", _BY_RANKS.format("mean"), _mean_position, "lower", "Mean rank"),
    Scheme(
        "rank-then-median", "Rank, then median", _BY_RANKS.format("median"), _median_position, "lower", "Median rank"
    ),
    Scheme("test-then-rank", "Test, then rank", _TESTED.format(""), _wins, *_WINS),
)
_OTHERS = (
    Scheme("quantile-then-rank", "Quantile, then rank", _LOW, _low_quantile),
    Scheme("test-then-rank-holm", "Test with Holm, then rank", _AFTER_HOLM, partial(_wins, adjusted=True), *_WINS),
)
SCHEMES = {scheme.name: scheme for scheme in (*SIDE_BY_SIDE, *_OTHERS)}


class RankedFigure(NamedTuple):
    """A figure that teams are compared by: `values[replicate, team]`."""

    values: Floats
    direction: Direction
    title: str
    weight: float = 1.0


@dataclass(frozen=True, kw_only=True)
class SchemeOutcome:
    """`ranks[replicate, team]`, and the `scores[replicate, team]` that they follow from."""

    ranks: Ranks
    scores: Floats
    direction: Direction
    score_title: str

    @classmethod
    def of(cls, figures: Sequence[RankedFigure], tie_breaks: Sequence[RankedFigure] = ()) -> "SchemeOutcome":
        """Ranks by one figure, or by the weighted mean of the positions in several; among equals by the tie-breaks."""
        if len(figures) > 1:
            ranks = [positions([each[:2]]) for each in figures]
            figures = [RankedFigure(mean_positions(ranks, [each.weight for each in figures]), *MEAN_POSITION)]
        ((score, direction, title, _),) = figures
        ranked = positions([(score, direction), *(each[:2] for each in tie_breaks)])
        return cls(ranks=ranked, scores=score, direction=direction, score_title=title)


def apply_scheme(
    scheme: Scheme,
    tables: Sequence[CaseTable],
    resamples: Resamples,
    options: RankingOptions,
    weights: Sequence[float] = (),
) -> SchemeOutcome:
    """Rank by every table; with several, by the mean of the positions, with equal weights if none are given."""
    found = []
    with closing(options.progress(scheme.title, len(tables))) as progress:
        for table, weight in zip(tables, weights or [1.0] * len(tables), strict=True):
            direction, title = scheme.direction or table.metric.direction, scheme.score_title or table.metric.title
            found.append(RankedFigure(scheme.score(table, resamples, options), direction, title, weight))
            progress.advance()
    return SchemeOutcome.of(found)


# Teams compared by the score that decides: neighbours in the table, and groups of teams that do not differ.


def neighbour_differences(
    teams: Sequence[str], full: SchemeOutcome, replicates: SchemeOutcome, *, confidence: float
) -> tuple[Difference, ...]:
    """Every team compared with the next one, in the order of the final table."""
    found = []
    for number, (better, worse) in enumerate(pairwise(teams)):
        difference, drawn = _difference(full, replicates, number, number + 1)
        first, second = replicates.ranks[:, number], replicates.ranks[:, number + 1]
        found.append(
            Difference(
                better=better,
                worse=worse,
                difference=difference if np.isfinite(difference) else None,
                interval=percentile_interval(drawn, confidence=confidence),
                probability_ahead=float(np.where(first == second, 0.5, first < second).mean()),
            )
        )
    return tuple(found)


def _difference(full: SchemeOutcome, replicates: SchemeOutcome, first: int, second: int) -> tuple[float, Floats]:
    """Of the scores of two teams, and in every replicate; two infinite worst values have none."""
    with np.errstate(invalid="ignore"):
        drawn = replicates.scores[:, first] - replicates.scores[:, second]
        return float(full.scores[0, first] - full.scores[0, second]), drawn


def rank_groups(
    full: SchemeOutcome, replicates: SchemeOutcome, *, cases: int, alpha: float
) -> tuple[tuple[int | None, ...], tuple[float | None, ...]]:
    """The group of every team (from 1), in the order of the final table, and the adjusted p-value against the group's
    first team, which itself has None. A team without a finite score is in no group.

    The best team is the anchor of the first group. A team that does not differ from it at `alpha`, after Holm's
    adjustment over all comparisons with this anchor, belongs to its group; the best team outside is the next anchor.
    """
    left = np.flatnonzero(np.isfinite(full.scores[0])).tolist()
    groups: list[int | None] = [None] * full.scores.shape[1]
    adjusted: list[float | None] = [None] * len(groups)
    group = 0
    while left:
        group += 1
        anchor, *others = left
        groups[anchor] = group
        p = np.array([paired_p(full, replicates, anchor, other, cases=cases) for other in others])
        for other, value in zip(others, holm(p).tolist(), strict=True):
            if value > alpha:
                groups[other], adjusted[other] = group, value
        left = [team for team in others if groups[team] is None]
    return tuple(groups), tuple(adjusted)


def paired_p(full: SchemeOutcome, replicates: SchemeOutcome, first: int, second: int, *, cases: int) -> float:
    """Two-sided p-value of the difference of two teams: t = difference / bootstrap standard error, n - 1 degrees of
    freedom.

    The standard error is the standard deviation of the paired differences over the replicates times sqrt(n / (n - 1)):
    for a mean over n cases this is the paired t test, apart from the noise of the draws. 1 where there is no evidence:
    one case, equal scores, infinite scores. Replicates without a value are left out.
    """
    difference, drawn = _difference(full, replicates, first, second)
    drawn = drawn[~np.isnan(drawn)]
    if cases < 2 or difference == 0 or not np.isfinite(difference) or not drawn.size or not np.isfinite(drawn).all():
        return 1.0
    error = float(drawn.std()) * (cases / (cases - 1)) ** 0.5
    if error == 0:
        return 0.0
    return float(2 * stdtr(cases - 1, -abs(difference) / error))
