"""How often the arena's Bradley-Terry intervals cover, and how often it separates teams that are equal or reversed.

    python bench/arena_intervals.py [--arenas 400] [--seed 2026] [--workers 2]

Simulated arenas with the real pairing: every case and every rater shifts the strength of every team at random, and one
vote in five is a tie. What an interval should cover is the fit to infinitely many votes, cases and raters, from the
mean of the votes over these shifts (Gauss-Hermite quadrature). "Now" are the intervals of `podium arena`. "Cases" are
plain percentiles of a bootstrap over cases alone, "pigeonhole" expanded percentiles, by the smaller of the two numbers,
of a bootstrap that draws cases and raters and counts a vote as often as both of them were drawn; both fit again.
"""

import argparse
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import NDArray
from rich import box
from rich.console import Console
from rich.table import Table

from podium.metrics.resampling import expanded_tail
from podium.tools.arena.ratings import (
    SCALE,
    count_pairs,
    fit_ratings,
    plain_fit_exists,
    rating_intervals,
    with_virtual_draws,
)
from podium.tools.arena.settings import ArenaSettings
from podium.tools.arena.simulation import Scenario, cast_votes
from podium.tools.arena.store import Ballot

CONFIDENCE = 0.95
TIES = 0.2
REPLICATES = 400  # of the bootstraps that fit again
COMPARED = 0.2  # share of the arenas in which these are drawn: they take most of the time


@dataclass(frozen=True)
class Setting:
    """Spreads in points; the gap is between neighbours."""

    teams: int
    gap: float
    cases: int
    raters: int
    case_spread: float
    rater_spread: float
    votes: int


SETTINGS = (
    Setting(7, 0, 40, 10, 100, 0, 600),
    Setting(7, 0, 40, 10, 100, 50, 600),
    Setting(7, 0, 40, 10, 100, 50, 240),
    Setting(7, 0, 10, 10, 100, 50, 600),
    Setting(7, 0, 40, 5, 100, 50, 600),
    Setting(7, 0, 40, 3, 100, 50, 600),
    Setting(7, 0, 20, 5, 200, 100, 600),
    Setting(7, 100, 40, 10, 100, 50, 600),
    Setting(7, 200, 40, 10, 100, 50, 600),
    Setting(3, 0, 20, 4, 100, 50, 150),
)


def true_ratings(setting: Setting) -> NDArray[np.float64]:
    """In the true order, best first."""
    strengths = -setting.gap * np.arange(setting.teams)
    nodes, weights = np.polynomial.hermite_e.hermegauss(80)
    spread = np.sqrt(2 * (setting.case_spread**2 + setting.rater_spread**2))
    ahead = strengths[:, None, None] - strengths[:, None] + spread * nodes
    wins = (1 / (1 + 10 ** (-ahead / SCALE))) @ (weights / weights.sum())
    expected = (1 - TIES) * wins + TIES / 2
    np.fill_diagonal(expected, 0)
    return fit_ratings(expected[None])[0]


def percentile_ends(
    ballots: list[Ballot], names: list[str], random: np.random.Generator, *, with_raters: bool
) -> NDArray[np.float64]:
    """[end, team] of a bootstrap that fits every replicate again."""
    cases, raters = (sorted({getattr(vote, name) for vote in ballots}) for name in ("case", "rater"))
    points = np.zeros((len(cases), len(raters), len(names), len(names)))
    for vote in ballots:
        points[cases.index(vote.case), raters.index(vote.rater)] += count_pairs([vote], names).points
    of_cases, of_raters = (
        random.multinomial(len(each), np.full(len(each), 1 / len(each)), size=REPLICATES) for each in (cases, raters)
    )
    tail = (1 - CONFIDENCE) / 2
    if with_raters:
        tail = expanded_tail(CONFIDENCE, min(len(cases), len(raters)))
    else:
        of_raters = np.ones_like(of_raters)
    drawn = np.einsum("bc,br,crij->bij", of_cases, of_raters, points, optimize=True)
    drawn = np.where(plain_fit_exists(drawn)[:, None, None], drawn, with_virtual_draws(drawn))
    return np.asarray(np.quantile(fit_ratings(drawn), [tail, 1 - tail], axis=0))


def arena(setting: Setting, seed: int, run: int) -> tuple[float, bool, float | None, float | None]:
    """The share of teams whose interval covers, whether a pair is wrongly separated, the other methods' shares."""
    random = np.random.default_rng((seed, run))
    names = [f"team{number}" for number in range(setting.teams)]
    rules = ArenaSettings(matchups_per_rater=-(-setting.votes // setting.raters))
    scenario = Scenario(
        gap_points=setting.gap,
        teams=setting.teams,
        raters=setting.raters,
        cases=setting.cases,
        tie_share=TIES,
        case_spread_points=setting.case_spread,
        rater_spread_points=setting.rater_spread,
        settings=rules,
    )
    ballots = list(islice(cast_votes(scenario, names, names, random, int(random.integers(2**31))), setting.votes))
    true = true_ratings(setting)
    found = rating_intervals(ballots, names, replicates=rules.bootstraps, confidence=CONFIDENCE, seed=run)
    ends = np.array([found.by_team[name] or (-np.inf, np.inf) for name in names]).T
    wrong = any(setting.gap == 0 or better > worse for better, worse in found.separated)

    def covered(low: NDArray[np.float64], high: NDArray[np.float64]) -> float:
        return float(np.mean((low <= true) & (true <= high)))

    others = (None, None)
    if run % round(1 / COMPARED) == 0:
        others = tuple(covered(*percentile_ends(ballots, names, random, with_raters=both)) for both in (False, True))  # type: ignore[assignment]
    return covered(*ends), wrong, *others


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--arenas", type=int, default=400, help="per setting")
    parser.add_argument("--seed", type=int, default=2026)
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    table = Table(box=box.SIMPLE_HEAD)
    for column in ("teams", "gap", "cases", "raters", "spread: cases", "raters", "votes"):
        table.add_column(column, justify="right")
    for column in ("covered now", "wrongly separated", "by cases", "by pigeonhole"):
        table.add_column(column, justify="right")
    with ProcessPoolExecutor(options.workers) as pool:
        for setting in SETTINGS:
            each = (setting,) * options.arenas, (options.seed,) * options.arenas, range(options.arenas)
            now, wrong, *others = zip(*pool.map(arena, *each, chunksize=8), strict=True)
            shown = [np.mean([share for share in shares if share is not None]) for shares in others]
            figures = (f"{share:.1%}" for share in (np.mean(now), np.mean(wrong), *shown))
            table.add_row(*(f"{value:g}" for value in vars(setting).values()), *figures)
    Console(width=140).print(table)


if __name__ == "__main__":
    main()
