"""The live leaderboard of Grand Challenge, computed offline: absolute, or the mean or median of positions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from podium.metrics.declaration import Direction
from podium.ranking.positions import positions

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
