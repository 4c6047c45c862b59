"""The general ranking schemes, each written once for any number of replicates: the data as they are make one.

A scheme ranks by one metric; by several metrics it ranks by each and then by the mean of the positions.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from podium.metrics import Floats
from podium.metrics.declaration import Direction
from podium.metrics.resampling import Resamples
from podium.ranking.cases import CaseTable
from podium.ranking.positions import Ranks, case_positions, mean_positions, positions
from podium.ranking.wilcoxon import holm, pairwise_p, share_of_significant_wins


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
