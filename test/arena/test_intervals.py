"""Bootstrap intervals: against a literal implementation, cases that stay together, replicates without a plain fit."""

from collections import Counter

import numpy as np
import pytest
from arena.golden_votes import GOLDEN, TEAMS, ballots, votes
from hypothesis import given, settings
from hypothesis import strategies as st
from literal import arena as literal

from podium.tools.arena.ratings import Interval, Intervals, bootstrap_intervals


def intervals(cast: list[tuple[str, ...]], *, cases: int, replicates: int = 200, seed: int = 0) -> Intervals:
    return bootstrap_intervals(ballots(cast, cases=cases), TEAMS, replicates=replicates, confidence=0.95, seed=seed)


@settings(max_examples=20, deadline=None)
@given(votes(least=8, most=16), st.integers(2, 4))
def test_as_read_literally(cast: list[tuple[str, str, str]], cases: int) -> None:
    """The same draws of cases, every vote copied as often as its case was drawn, a literal fit for each."""
    found = intervals(cast, cases=cases, replicates=10, seed=5)
    drawn = np.random.default_rng(5).multinomial(cases, [1 / cases] * cases, size=10)
    ratings, without_fit = [], 0
    for times in drawn:
        copied = [vote for index, vote in enumerate(cast) for _ in range(times[index % cases])]
        exists = literal.fit_exists(copied, TEAMS)
        without_fit += not exists
        ratings.append(literal.bradley_terry(copied, TEAMS, 0 if exists else 0.5))
    seen = {team for left, right, _ in cast for team in (left, right)}
    for team in TEAMS:
        if team in seen:
            expected = np.quantile([one[team] for one in ratings], [0.025, 0.975])
            assert found.of[team] == pytest.approx(tuple(expected), abs=1e-4)
        else:
            assert found.of[team] is None
    assert (found.cases, found.replicates, found.virtual_draws) == (cases, 10, without_fit)


def test_votes_on_a_case_go_together() -> None:
    """Sixty votes that all agree within a case know no more than their six cases: the interval stays as wide."""
    pattern = [("A", "B", "left")] * 4 + [("A", "B", "right")] * 2
    once = bootstrap_intervals(ballots(pattern, cases=6), "AB", replicates=500, confidence=0.95, seed=0)
    tenfold = bootstrap_intervals(ballots(pattern * 10, cases=6), "AB", replicates=500, confidence=0.95, seed=0)
    assert once.virtual_draws == tenfold.virtual_draws > 0
    shares = Counter()
    for times in np.random.default_rng(0).multinomial(6, [1 / 6] * 6, size=500):
        shares[int(times[:4].sum())] += 1
    assert once.virtual_draws == shares[0] + shares[6]
    assert tenfold.of["A"] is not None
    assert once.of["A"] is not None
    assert tenfold.of["A"].high >= once.of["A"].high


def test_more_cases_make_narrower_intervals() -> None:
    few, many = (intervals(GOLDEN * times, cases=12 * times) for times in (3, 30))
    for team in TEAMS:
        assert width(many.of[team]) < width(few.of[team]) / 2
    assert many.virtual_draws == 0


def width(interval: Interval | None) -> float:
    assert interval is not None
    return interval.high - interval.low


def test_the_order_of_the_votes_does_not_matter_but_the_seed_does() -> None:
    cast = ballots(GOLDEN, cases=5)
    again, shuffled, other = (
        bootstrap_intervals(given, TEAMS, replicates=50, confidence=0.9, seed=seed)
        for given, seed in ((cast, 1), (cast[::-1], 1), (cast, 2))
    )
    assert again == shuffled != other


@settings(max_examples=60, deadline=None)
@given(votes(least=1))
def test_one_case_tells_nothing(cast: list[tuple[str, str, str]]) -> None:
    assert intervals(cast, cases=1) == Intervals(of=dict.fromkeys(TEAMS), cases=1, replicates=0, virtual_draws=0)
