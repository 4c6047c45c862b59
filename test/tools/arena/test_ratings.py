"""The Bradley-Terry fit against the figures of the rules, a literal implementation and evalica."""

import math
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from literal import arena as literal
from properties import examples
from scipy.stats import t
from tools.arena.golden_votes import GOLDEN, TEAMS, UNDEFEATED, ballots, votes

from podium.tools.arena.ratings import (
    RatingIntervals,
    averaged_elo,
    bradley_terry,
    count_pairs,
    fit_ratings,
    online_elo,
    plain_fit_exists,
    rating_intervals,
    with_virtual_draws,
)
from podium.tools.arena.settings import ArenaSettings
from podium.tools.arena.store import Ballot


def test_the_figures_of_the_rules() -> None:
    found = bradley_terry(ballots(GOLDEN), TEAMS)
    assert found.why_virtual_draw is None
    strengths = {team: 10 ** ((rating - 1000) / 400) for team, rating in found.ratings.items()}
    assert {team: f"{strength:.8f}" for team, strength in strengths.items()} == {
        "A": "3.14374994",
        "B": "1.99848716",
        "C": "0.38351096",
        "D": "0.41502367",
    }
    assert {team: f"{rating:.4f}" for team, rating in found.ratings.items()} == {
        "A": "1198.9792",
        "B": "1120.2805",
        "C": "833.5111",
        "D": "847.2291",
    }


def test_the_undefeated_of_the_rules() -> None:
    found = bradley_terry(ballots(UNDEFEATED), "ABC")
    assert {team: f"{rating:.3f}" for team, rating in found.ratings.items()} == {
        "A": "1198.919",
        "B": "1000.000",
        "C": "801.081",
    }
    assert found.why_virtual_draw == "A won every vote; C lost every vote"


@examples(60)
@given(votes())
def test_as_read_literally(cast: list[tuple[str, str, str]]) -> None:
    found = bradley_terry(ballots(cast), TEAMS)
    exists = literal.fit_exists(cast, TEAMS)
    assert (found.why_virtual_draw is None) == exists
    assert found.ratings == pytest.approx(literal.bradley_terry(cast, TEAMS, 0 if exists else 0.5), abs=1e-5)


@examples(60)
@given(votes("ABCDEFG", most=60))
def test_the_fit_exists_where_every_partition_is_crossed(cast: list[tuple[str, str, str]]) -> None:
    points = count_pairs(ballots(cast), tuple("ABCDEFG")).points
    assert plain_fit_exists(points) == literal.fit_exists(cast, "ABCDEFG")


@examples(60)
@given(votes("ABC", least=10))
def test_evalica_finds_the_same(cast: list[tuple[str, str, str]]) -> None:
    import evalica

    winner = {"left": evalica.Winner.X, "right": evalica.Winner.Y, "tie": evalica.Winner.Draw}
    found = bradley_terry(ballots(cast), "ABC")
    if found.why_virtual_draw is None:
        left, right, won = zip(*cast, strict=True)
        raw = evalica.bradley_terry(left, right, [winner[one] for one in won], tolerance=1e-12, limit=10_000).scores
        logs = np.log10(raw)
        assert found.ratings == pytest.approx((1000 + 400 * (logs - logs.mean())).to_dict(), abs=1e-5)


@pytest.mark.parametrize(
    ("cast", "why"),
    [
        ([], "A, B, C and D got no vote"),
        ([("A", "B", "tie")], "C and D got no vote"),
        (
            [("A", "B", "left"), ("B", "A", "left"), ("C", "A", "left"), ("C", "D", "left"), ("D", "A", "tie")],
            "C won every vote",
        ),
        ([("A", "B", "tie"), ("B", "C", "tie"), ("C", "D", "left")], "D lost every vote"),
        ([("A", "B", "tie"), ("C", "D", "tie")], "no chain of wins or ties leads from A to C"),
        ([("A", "B", "tie"), ("C", "D", "tie"), ("A", "C", "left")], "no chain of wins or ties leads from C to A"),
    ],
)
def test_why_there_is_no_plain_fit(cast: list[tuple[str, str, str]], why: str) -> None:
    found = bradley_terry(ballots(cast), TEAMS)
    assert found.why_virtual_draw == why
    assert found.ratings == pytest.approx(literal.bradley_terry(cast, TEAMS, 0.5), abs=1e-5)


def test_equal_ratings_only_where_the_votes_are_symmetric() -> None:
    circle = [("A", "B", "left"), ("B", "C", "left"), ("C", "A", "left")]
    assert bradley_terry(ballots(circle), "ABC").ratings == pytest.approx(dict.fromkeys("ABC", 1000.0))
    assert bradley_terry(ballots(circle), "ABC").why_virtual_draw is None
    apart = [("A", "B", "tie"), ("C", "D", "tie"), ("A", "B", "left"), ("C", "D", "left")]
    ratings = bradley_terry(ballots(apart), TEAMS).ratings
    assert ratings["A"] == pytest.approx(ratings["C"])
    assert ratings["A"] > 1000 > ratings["B"]


def test_one_team_or_none() -> None:
    assert bradley_terry([], ["A"]).ratings == {"A": 1000.0}
    assert bradley_terry([], []).ratings == {}


def test_a_fit_that_explains_nothing_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Even if the condition for the fit were overlooked, equal strengths would not be accepted as a result."""
    monkeypatch.setattr("podium.tools.arena.ratings.plain_fit_exists", lambda _: True)
    with pytest.raises(ArithmeticError, match=r"The Bradley-Terry fit does not exist\."):
        bradley_terry(ballots(UNDEFEATED), "ABC")


@examples(60)
@given(st.lists(votes(most=40), min_size=1, max_size=5))
def test_a_batch_is_fitted_like_its_members(batch: list[list[tuple[str, str, str]]]) -> None:
    points = np.stack([count_pairs(ballots(cast), TEAMS).points for cast in batch])
    exists = plain_fit_exists(points)
    found = fit_ratings(np.where(exists[:, None, None], points, with_virtual_draws(points)))
    for ratings, cast in zip(found, batch, strict=True):
        assert ratings == pytest.approx(list(bradley_terry(ballots(cast), TEAMS).ratings.values()), abs=1e-5)


@pytest.mark.parametrize(
    "points",
    [
        [[0, 1e5, 0], [0, 0, 1e5], [1, 0, 0]],  # a circle held together by one upset
        [[0, 1000, 0, 0], [0.5, 0, 1000, 0], [0, 0.5, 0, 1000], [0, 0, 0.5, 0]],  # a chain
        [[0, 0.5, 500, 500], [0.5, 0, 500, 500], [0.5, 0, 0, 0.5], [0, 0, 0.5, 0]],
    ],
)
def test_the_batch_solves_its_equations_on_lopsided_votes(points: list[list[float]]) -> None:
    won = np.array(points)
    strength = 10 ** ((fit_ratings(won[None])[0] - 1000) / 400)
    expected = ((won + won.T) * strength[:, None] / (strength[:, None] + strength)).sum(axis=1)
    assert expected == pytest.approx(won.sum(axis=1), rel=1e-9, abs=1e-6)
    assert np.log(strength).mean() == pytest.approx(0, abs=1e-9)


# Elo against the figures of the rules, a literal reading, and every order of the votes.


@pytest.mark.parametrize(
    ("cast", "k_factor", "expected"),
    [
        (GOLDEN, 4, {"A": "1005.851604", "B": "1004.000255", "D": "996.068620", "C": "994.079522"}),
        (GOLDEN[::-1], 4, {"A": "1005.988419", "B": "1003.875217", "D": "996.011512", "C": "994.124853"}),
        (GOLDEN, 32, {"A": "1039.103429", "B": "1032.097332", "D": "972.207888", "C": "956.591351"}),
    ],
)
def test_elo_figures_of_the_rules(cast: list[tuple[str, ...]], k_factor: float, expected: dict[str, str]) -> None:
    found = online_elo(ballots(cast), TEAMS, k_factor=k_factor)
    assert {team: f"{rating:.6f}" for team, rating in found.items()} == expected


@examples(60)
@given(votes(), st.sampled_from((4.0, 32.0)))
def test_elo_as_read_literally(cast: list[tuple[str, str, str]], k_factor: float) -> None:
    assert online_elo(ballots(cast), TEAMS, k_factor=k_factor) == pytest.approx(literal.elo(cast, TEAMS, k_factor))


@examples(60)
@given(votes(least=1), st.randoms())
def test_the_average_knows_no_order_no_side_and_no_rater(
    cast: list[tuple[str, str, str]], chance: random.Random
) -> None:
    first = averaged_elo(ballots(cast), TEAMS, k_factor=32, permutations=20, seed=3)
    swapped = {"left": "right", "right": "left", "tie": "tie"}
    others = [vote if chance.random() < 0.5 else (vote[1], vote[0], swapped[vote[2]]) for vote in cast]
    chance.shuffle(others)
    again = averaged_elo(ballots(others, rater="bert"), TEAMS[::-1], k_factor=32, permutations=20, seed=3)
    assert again == first
    assert sum(first.values()) == pytest.approx(4000)


def test_the_average_approaches_the_mean_over_all_orders() -> None:
    """7! orders, K = 400 so that the order matters: the error of 20000 draws lies far below what one order is off."""
    cast = GOLDEN[:7]
    exact = literal.elo_over_all_orders(cast, TEAMS, 400)
    found = averaged_elo(ballots(cast), TEAMS, k_factor=400, permutations=20_000, seed=1)
    assert found == pytest.approx(exact, abs=3)
    assert max(abs(literal.elo(cast, TEAMS, 400)[team] - exact[team]) for team in TEAMS) > 30


def test_another_seed_draws_other_orders() -> None:
    drawn = [averaged_elo(ballots(GOLDEN), TEAMS, k_factor=32, permutations=3, seed=seed) for seed in (1, 1, 2)]
    assert drawn[0] == drawn[1] != drawn[2]


def test_by_default_the_seed_moves_the_average_by_less_than_a_tenth() -> None:
    """600 votes, of which C loses the first 300 and wins the others: the order of the votes matters."""
    cast = ballots([(*("AC", "BC")[turn % 2], "left" if turn < 300 else "right") for turn in range(600)])
    drawn = [
        averaged_elo(cast, "ABC", k_factor=4, permutations=ArenaSettings().permutations, seed=seed) for seed in range(6)
    ]
    assert abs(online_elo(cast, "ABC", k_factor=4)["C"] - drawn[0]["C"]) > 10
    for team in "ABC":
        assert max(one[team] for one in drawn) - min(one[team] for one in drawn) < 0.1


def test_without_votes_everybody_is_at_the_start() -> None:
    assert online_elo([], TEAMS, k_factor=4) == dict.fromkeys(TEAMS, 1000.0)
    assert averaged_elo([], TEAMS, k_factor=4, permutations=5, seed=0) == dict.fromkeys(TEAMS, 1000.0)


# Intervals: against a literal reading, hand calculations, and what cases and raters are.


def intervals(cast: list[tuple[str, ...]], *, cases: int, replicates: int = 200, seed: int = 0) -> RatingIntervals:
    return rating_intervals(ballots(cast, cases=cases), TEAMS, replicates=replicates, confidence=0.95, seed=seed)


def by_raters(cast: list[Ballot], raters: int) -> list[Ballot]:
    """The raters in turn."""
    return [ballot._replace(rater=f"rater{index % raters}") for index, ballot in enumerate(cast)]


def widths(found: RatingIntervals) -> list[float]:
    return [ends[1] - ends[0] for ends in found.by_team.values() if ends is not None]


@pytest.mark.parametrize(("times", "cases", "raters"), [(3, 5, 3), (4, 12, 2), (2, 24, 4)])
def test_intervals_as_read_literally(times: int, cases: int, raters: int) -> None:
    """Half of an interval is Student's quantile times the standard error."""
    cast = by_raters(ballots(GOLDEN * times, cases=cases), raters)
    found = rating_intervals(cast, TEAMS, replicates=100_000, confidence=0.95, seed=5)
    variances, freedom = literal.variance_and_freedom(
        GOLDEN * times, TEAMS, [ballot.case for ballot in cast], [ballot.rater for ballot in cast]
    )
    ratings = bradley_terry(cast, TEAMS).ratings
    for team in TEAMS:
        half = t.ppf(0.975, freedom) * variances[team] ** 0.5
        assert found.by_team[team] == pytest.approx((ratings[team] - half, ratings[team] + half), abs=0.02 * half)
    assert (found.cases, found.raters) == (cases, raters)


def test_an_interval_by_hand() -> None:
    """A is preferred in 4 of 6 cases. The log odds have the information 6 * 2/9 = 4/3, the scores the sum of squares
    4/9 + 8/9 = 4/3, so their variance is 6/5 / (4/3) = 0.9; A has half of the log odds; t of 5 degrees is 2.5706."""
    cast = ballots([("A", "B", "left")] * 4 + [("A", "B", "right")] * 2, cases=6)
    half = 400 / math.log(10) / 2 * math.sqrt(0.9) * 2.5706
    for many in (cast, cast * 10):  # sixty votes that agree within a case know no more than their six cases
        found = rating_intervals(many, "AB", replicates=200_000, confidence=0.95, seed=0)
        (low, high), rating = found.by_team["A"], bradley_terry(many, "AB").ratings["A"]
        assert (rating - low, high - rating) == pytest.approx((half, half), rel=0.01)
        assert found.separated == frozenset()


def test_votes_of_a_rater_go_together() -> None:
    """The same votes, on 24 cases: raters who prefer other teams widen the intervals, raters who agree do not."""
    cast = ballots([("A", "B", "left"), ("A", "B", "left"), ("B", "A", "left")] * 24, cases=24)
    split = [ballot._replace(rater=f"{ballot.left}{index % 2}") for index, ballot in enumerate(cast)]
    alone, agreed, apart = (
        widths(rating_intervals(given, "AB", replicates=2000, confidence=0.95, seed=1))[0]
        for given in (cast, by_raters(cast, 4), split)
    )
    assert alone <= agreed < apart / 2


def test_more_cases_make_narrower_intervals() -> None:
    few, many = (intervals(GOLDEN * times, cases=12 * times) for times in (3, 30))
    assert max(widths(many)) < min(widths(few)) / 2


def test_only_what_lies_beyond_chance_is_separated() -> None:
    lost = [("A", "C", "left"), ("B", "C", "left")] * 3 + [("C", "A", "left"), ("C", "B", "left"), ("A", "B", "tie")]
    cast = ballots(lost * 20, cases=16)
    assert intervals([], cases=2).separated == frozenset()
    found = rating_intervals(cast, "ABCD", replicates=2000, confidence=0.95, seed=0)
    assert found.separated == {("A", "C"), ("B", "C")}
    assert found.by_team["D"] is None


def test_who_won_everything_has_an_interval() -> None:
    found = rating_intervals(ballots([("A", "B", "left")] * 6, cases=2), "AB", replicates=500, confidence=0.95, seed=0)
    assert min(widths(found)) > 400
    assert found.separated == frozenset()


def test_the_order_of_the_votes_does_not_matter_but_the_seed_does() -> None:
    cast = by_raters(ballots(GOLDEN, cases=5), 3)
    again, shuffled, other = (
        rating_intervals(given, TEAMS, replicates=50, confidence=0.9, seed=seed)
        for given, seed in ((cast, 1), (cast[::-1], 1), (cast, 2))
    )
    assert again == shuffled != other


@examples(60)
@given(votes(least=1))
def test_one_case_tells_nothing(cast: list[tuple[str, str, str]]) -> None:
    assert intervals(cast, cases=1) == RatingIntervals(
        by_team=dict.fromkeys(TEAMS), separated=frozenset(), cases=1, raters=1
    )


@examples(60)
@given(votes(least=2), st.integers(2, 4), st.integers(1, 3))
def test_any_votes_on_several_cases_have_intervals(cast: list[tuple[str, str, str]], cases: int, raters: int) -> None:
    """Also without a plain fit, and where nothing varies."""
    given = by_raters(ballots(cast, cases=cases), raters)
    found = rating_intervals(given, TEAMS, replicates=20, confidence=0.95, seed=0)
    ratings = bradley_terry(given, TEAMS).ratings
    seen = {team for left, right, _ in cast for team in (left, right)}
    for team, interval in found.by_team.items():
        assert (interval is not None) == (team in seen)
        assert interval is None or interval[0] - 1e-6 <= ratings[team] <= interval[1] + 1e-6
    for better, worse in found.separated:
        assert ratings[better] > ratings[worse]
