"""Elo against the figures of the rules, a literal reading, and every order of the votes."""

import random

import pytest
from arena.golden_votes import GOLDEN, TEAMS, ballots, votes
from hypothesis import given, settings
from hypothesis import strategies as st
from literal import arena as literal

from podium.tools.arena.ratings import averaged_elo, online_elo


@pytest.mark.parametrize(
    ("cast", "k_factor", "expected"),
    [
        (GOLDEN, 4, {"A": "1005.851604", "B": "1004.000255", "D": "996.068620", "C": "994.079522"}),
        (GOLDEN[::-1], 4, {"A": "1005.988419", "B": "1003.875217", "D": "996.011512", "C": "994.124853"}),
        (GOLDEN, 32, {"A": "1039.103429", "B": "1032.097332", "D": "972.207888", "C": "956.591351"}),
    ],
)
def test_the_figures_of_the_rules(cast: list[tuple[str, ...]], k_factor: float, expected: dict[str, str]) -> None:
    found = online_elo(ballots(cast), TEAMS, k_factor=k_factor)
    assert {team: f"{rating:.6f}" for team, rating in found.items()} == expected


@settings(max_examples=60, deadline=None)
@given(votes(), st.sampled_from((4.0, 32.0)))
def test_as_read_literally(cast: list[tuple[str, str, str]], k_factor: float) -> None:
    assert online_elo(ballots(cast), TEAMS, k_factor=k_factor) == pytest.approx(literal.elo(cast, TEAMS, k_factor))


@settings(max_examples=60, deadline=None)
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


def test_repeats_do_not_count() -> None:
    cast = ballots(GOLDEN)
    repeat = cast[0]._replace(left="B", right="A", answer="left", repeat=True)
    assert online_elo([*cast, repeat], TEAMS, k_factor=4) == online_elo(cast, TEAMS, k_factor=4)
    averaged = [averaged_elo(given, TEAMS, k_factor=4, permutations=5, seed=0) for given in (cast, [*cast, repeat])]
    assert averaged[0] == averaged[1]


def test_without_votes_everybody_is_at_the_start() -> None:
    assert online_elo([], TEAMS, k_factor=4) == dict.fromkeys(TEAMS, 1000.0)
    assert averaged_elo([], TEAMS, k_factor=4, permutations=5, seed=0) == dict.fromkeys(TEAMS, 1000.0)
