"""The Bradley-Terry fit against the figures of the rules, a literal implementation and evalica."""

import numpy as np
import pytest
from arena.golden_votes import GOLDEN, TEAMS, UNDEFEATED, ballots, votes
from hypothesis import given, settings
from hypothesis import strategies as st
from literal import arena as literal

from podium.tools.arena.ratings import bradley_terry, count_pairs, fit_ratings, plain_fit_exists, with_virtual_draws


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


@settings(max_examples=60, deadline=None)
@given(votes())
def test_as_read_literally(cast: list[tuple[str, str, str]]) -> None:
    found = bradley_terry(ballots(cast), TEAMS)
    exists = literal.fit_exists(cast, TEAMS)
    assert (found.why_virtual_draw is None) == exists
    assert found.ratings == pytest.approx(literal.bradley_terry(cast, TEAMS, 0 if exists else 0.5), abs=1e-5)


@settings(max_examples=60, deadline=None)
@given(votes("ABCDEFG", most=60))
def test_the_fit_exists_where_every_partition_is_crossed(cast: list[tuple[str, str, str]]) -> None:
    points = count_pairs(ballots(cast), tuple("ABCDEFG")).points
    assert plain_fit_exists(points) == literal.fit_exists(cast, "ABCDEFG")


@settings(max_examples=60, deadline=None)
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


@settings(max_examples=60, deadline=None)
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
