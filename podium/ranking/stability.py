"""What the replicates of a bootstrap say about a ranking."""

import numpy as np
from numpy.typing import NDArray

from podium.ranking.kendall import tau_b
from podium.ranking.positions import Ranks
from podium.ranking.result import Stability, Taus


def stability(replicates: Ranks, full: Ranks, *, confidence: float) -> Stability:
    """`replicates[replicate, team]` against `full[team]`.

    The interval's ends are ranks that occurred: the lower quantile rounds down to one, the upper up, so that no more
    replicates lie beyond an end than the confidence allows.
    """
    teams = full.size
    counts = np.stack([(replicates == rank).sum(axis=0) for rank in range(1, teams + 1)], axis=1)
    tail = (1 - confidence) / 2
    low = np.quantile(replicates, tail, axis=0, method="lower")
    high = np.quantile(replicates, 1 - tail, axis=0, method="higher")
    first = replicates == 1
    wins = (first / first.sum(axis=1, keepdims=True)).mean(axis=0)
    return Stability(
        replicates=replicates.shape[0],
        rank_frequencies=tuple(tuple(row) for row in (counts / replicates.shape[0]).tolist()),
        rank_intervals=tuple((int(a), int(b)) for a, b in zip(low, high, strict=True)),
        mean_ranks=tuple(replicates.mean(axis=0).tolist()),
        win_probabilities=tuple(wins.tolist()),
        taus=summary(tau_b(replicates, full)),
    )


def summary(taus: NDArray[np.float64]) -> Taus:
    """The distribution of the taus that exist, and how many do not."""
    defined = taus[~np.isnan(taus)]
    if not defined.size:
        return Taus(values=(), undefined=taus.size, mean=None, median=None, lower_quartile=None, upper_quartile=None)
    lower, median, upper = np.quantile(defined, [0.25, 0.5, 0.75]).tolist()
    return Taus(
        values=tuple(defined.tolist()),
        undefined=int(taus.size - defined.size),
        mean=float(defined.mean()),
        median=median,
        lower_quartile=lower,
        upper_quartile=upper,
    )
