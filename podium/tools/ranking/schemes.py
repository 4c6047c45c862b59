"""The general ranking schemes, and what an organiser may choose.

Each scheme is written once for any number of replicates; the original data count as one. A scheme ranks by one metric;
with several metrics it ranks by each and then by the mean of the positions.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from podium.execution.executor import ProgressFactory, no_progress
from podium.metrics import Floats
from podium.metrics.declaration import Direction, Metric
from podium.metrics.resampling import Resamples, expanded_tail
from podium.tools.ranking.result import Intervals
from podium.tools.ranking.statistics import (
    Ranks,
    case_positions,
    holm_over_pairs,
    mean_positions,
    median_interval,
    pairwise_p,
    positions,
    share_of_significant_wins,
)

OFFICIAL = "official"
PLATFORM = "platform"
MEAN_POSITION: tuple[Direction, str] = ("lower", "Mean position")
PlatformMethod = Literal["absolute", "mean", "median"]


@dataclass(frozen=True, kw_only=True)
class RankingOptions:
    """What an organiser may choose."""

    scheme: str = OFFICIAL  # what the final table follows: `official`, `platform`, or a general scheme
    metrics: tuple[str, ...] = ()  # per-case metrics for the general schemes instead of those the challenge declares
    weights: Mapping[str, float] = field(default_factory=dict)  # of positions by metrics; 1 for those not named
    bootstraps: int | None = None  # replicates; by default as many as the intervals need (`enough_replicates`)
    seed: int = 0
    confidence: float = 0.95  # of every interval
    alpha: float = 0.05  # the level of every test
    quantile: float = 0.05  # of the cases, for `quantile-then-rank`: 0.05 asks how a team does in its worst twentieth
    platform_method: PlatformMethod | None = None  # instead of the one in the challenge's phase settings
    arena: Path | None = None  # arena.json, whose ratings decide among the finalists
    tied_groups: bool = False  # teams of one arena group share its rank, as where the arena was closed with that option
    calibration: Path | None = None  # calibration.json of the judge, for the page
    progress: ProgressFactory = no_progress  # how the progress of long work is shown


def enough_replicates(options: RankingOptions, *, cases: int) -> int:
    """As requested; otherwise 1,000, and up to 20,000 where the ends of an expanded percentile interval need more: at
    least 20 replicates beyond each end are expected, in full thousands (4,000 for 8 cases at 95 %)."""
    if options.bootstraps is not None:
        return options.bootstraps
    needed = 20 / max(expanded_tail(options.confidence, cases), 1e-3)
    return 1000 * max(1, math.ceil(needed / 1000))


@dataclass(frozen=True, kw_only=True)
class CaseTable:
    """One metric of all teams: `values[team, case]` as in the files, NaN where a team has no value, and `reasons` why,
    "" where that is not known."""

    metric: Metric
    values: Floats
    reasons: NDArray[np.str_]

    @property
    def defined(self) -> NDArray[np.bool_]:
        """The cases that teams are compared in: at least one has a value, or is right that there is nothing to find.

        Where no team has one, or all are right, the metric is undefined and the case is left out; so it is where the
        reference is empty and predictions of it are not counted.
        """
        is_right = self.reasons == "both_empty"
        has_value = ~np.isnan(self.values) | (is_right & ~is_right.all(axis=0))
        return np.asarray(has_value.any(axis=0) & ~(self.reasons == "reference_empty").any(axis=0))

    @property
    def compared(self) -> Floats:
        """The defined cases; NaN is behind every value. Who is right that there is nothing to find has the best value
        of the metric, or where that is infinite, of the case."""
        values, reasons = self.values[:, self.defined], self.reasons[:, self.defined]
        is_higher = self.metric.direction == "higher"
        best = self.metric.highest if is_higher else self.metric.lowest
        of_case = np.nan_to_num((np.fmax if is_higher else np.fmin).reduce(values, axis=0))
        return np.where(reasons == "both_empty", best if math.isfinite(best) else of_case, values)

    def filled(self) -> Floats:
        """The values that are compared, with the worst value of the metric where one is missing."""
        values = self.compared
        return np.where(np.isnan(values), self.metric.worst, values)

    def gains(self) -> Floats:
        """`filled`, negated where lower is better: larger is always better."""
        return self.filled() if self.metric.direction == "higher" else -self.filled()


def case_table(
    metric: Metric, rows: Sequence[Sequence[float | None]], reasons: Sequence[Sequence[str]] | None = None
) -> CaseTable:
    """From `rows[team][case]`, None where a team has no value, and the reasons in the same order."""
    values = np.array(rows, dtype=np.float64).reshape(len(rows), -1)
    why = np.full(values.shape, "") if reasons is None else np.array(reasons, dtype=np.str_).reshape(values.shape)
    return CaseTable(metric=metric, values=values, reasons=why)


ScoreFunction = Callable[[CaseTable, Resamples, RankingOptions], Floats]


@dataclass(frozen=True)
class Scheme:
    """A general scheme. `score` gives one figure per team from a table of cases, as `[replicate, team]`."""

    name: str
    title: str
    words: str  # one sentence; may contain {quantile}
    score: ScoreFunction
    direction: Direction | None = None  # of the score; None if it is the metric's
    score_title: str = ""  # of the score; empty if it is the metric's


def positions_in_cases(table: CaseTable) -> Ranks:
    return case_positions(table.compared, table.metric.direction)


Compared = Callable[[CaseTable], Floats | Ranks]  # what statistics are of: the values, or positions by them


def _mean(table: CaseTable, resamples: Resamples, _: RankingOptions, *, of: Compared = CaseTable.filled) -> Floats:
    return resamples.only(table.defined).mean(of(table).T)


def _median(table: CaseTable, resamples: Resamples, _: RankingOptions, *, of: Compared = CaseTable.filled) -> Floats:
    return _quantile(0.5, of(table), resamples.only(table.defined))


def _low_quantile(table: CaseTable, resamples: Resamples, options: RankingOptions) -> Floats:
    share = options.quantile if table.metric.direction == "higher" else 1 - options.quantile
    return _quantile(share, table.filled(), resamples.only(table.defined))


def _wins(table: CaseTable, resamples: Resamples, options: RankingOptions, *, adjusted: bool = False) -> Floats:
    p = pairwise_p(*resamples.only(table.defined).by_patient(table.gains()))
    return share_of_significant_wins(holm_over_pairs(p) if adjusted else p, alpha=options.alpha)


def _quantile(share: float, by_team: Floats | Ranks, resamples: Resamples) -> Floats:
    return np.stack([resamples.quantiles(values, [share])[0] for values in by_team.astype(np.float64)], axis=1)


def exact_intervals(scheme: Scheme, tables: Sequence[CaseTable], confidence: float) -> Intervals | None:
    """Of the scores of a scheme that ranks by medians of one metric; None for others."""
    of_cases = {"median-then-rank": CaseTable.filled, "rank-then-median": positions_in_cases}.get(scheme.name)
    if of_cases is None or len(tables) != 1:
        return None
    return tuple(median_interval(values, confidence=confidence) for values in of_cases(tables[0]))


_TESTED = "teams are ranked by the share of the other teams they beat in a one-sided paired Wilcoxon signed-rank test{}"
_AFTER_HOLM = _TESTED.format(", the p values adjusted by Holm's method over all ordered pairs")
_LOW = "teams are ranked by the {quantile:g} quantile of their cases from the worse side, linearly interpolated"
_BY_RANKS = "teams are ranked in every case, then by the {} of these ranks"
_BY_MEAN, _BY_MEDIAN = (partial(statistic, of=positions_in_cases) for statistic in (_mean, _median))
WINS: tuple[Direction, str] = ("higher", "Significant wins")

MEAN = Scheme("mean-then-rank", "Mean, then rank", "teams are ranked by the mean over cases", _mean)
SIDE_BY_SIDE = (
    MEAN,
    Scheme("median-then-rank", "Median, then rank", "teams are ranked by the median over cases", _median),
    Scheme("rank-then-mean", "Rank, then mean", _BY_RANKS.format("mean"), _BY_MEAN, "lower", "Mean rank"),
    Scheme("rank-then-median", "Rank, then median", _BY_RANKS.format("median"), _BY_MEDIAN, "lower", "Median rank"),
    Scheme("test-then-rank", "Test, then rank", _TESTED.format(""), _wins, *WINS),
)
TESTED = Scheme("test-then-rank-holm", "Test with Holm, then rank", _AFTER_HOLM, partial(_wins, adjusted=True), *WINS)
_QUANTILE = Scheme("quantile-then-rank", "Quantile, then rank", _LOW, _low_quantile)
SCHEMES = {scheme.name: scheme for scheme in (*SIDE_BY_SIDE, _QUANTILE, TESTED)}


class RankedFigure(NamedTuple):
    """A figure that teams are compared by: `values[replicate, team]`."""

    values: Floats
    direction: Direction
    title: str
    weight: float = 1.0
    part: int = 0


def _together(figures: Sequence[RankedFigure]) -> RankedFigure:
    """One figure, or the weighted mean of the positions in several."""
    if len(figures) == 1:
        return figures[0]
    ranks, weights = [positions([each[:2]]) for each in figures], [each.weight for each in figures]
    return RankedFigure(mean_positions(ranks, weights), *MEAN_POSITION, figures[0].weight)


@dataclass(frozen=True, kw_only=True)
class SchemeOutcome:
    """`ranks[replicate, team]`, and the `scores[replicate, team]` that they follow from."""

    ranks: Ranks
    scores: Floats
    direction: Direction
    score_title: str

    @classmethod
    def of(cls, figures: Sequence[RankedFigure], tie_breaks: Sequence[RankedFigure] = ()) -> "SchemeOutcome":
        """Ranks by one figure, or by the weighted mean of the positions in several, those of a part together first;
        among equals by the tie-breaks."""
        parts = [[each for each in figures if each.part == part] for part in sorted({each.part for each in figures})]
        score, direction, title, *_ = _together([*map(_together, parts)])
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
