"""Votes and judge together: the figures by hand, the estimator of the paper, and intervals that hold the truth."""

from collections.abc import Sequence

import numpy as np
import pytest

from podium.tools.arena.calibration import VotesOnTeam, prediction_powered
from podium.tools.arena.calibration_counts import SeenByBoth, count_clinicians, count_judge_twice, count_votes, measure
from podium.tools.arena.store import Ballot, VoteAnswer
from podium.tools.ranking.calibration import Measured


def ballot(case: str, answer: VoteAnswer, *, rater: str = "anna", repeat: bool = False) -> Ballot:
    left, right = ("B", "A") if repeat else ("A", "B")
    return Ballot(rater=rater, case=case, left=left, right=right, answer=answer, repeat=repeat)


def measured(seen: Sequence[SeenByBoth], others: Sequence[Ballot] = ()) -> dict[str, Measured]:
    counts = [count_votes(seen), count_clinicians(others)]
    return {each.name: each for each in measure(counts, replicates=200, seed=1, confidence=0.95)}


def test_agreement_kappa_and_length_by_hand() -> None:
    """Ten votes: 6 the same of which 1 tie; clinicians have 2 ties, the judge 1."""
    answers: list[tuple[VoteAnswer, float, int]] = [
        *([("left", 0.2, 5)] * 3),
        *([("right", -0.1, 4)] * 2),
        ("both-bad", 0.0, 0),
        ("both-good", 0.3, 2),
        *([("left", -0.2, -3)] * 2),
        ("right", 0.4, 1),
    ]
    seen = [SeenByBoth(ballot=ballot(f"c{n}", a), judge=j, words=w) for n, (a, j, w) in enumerate(answers)]
    found = measured(seen)
    assert found["agreement"].value == pytest.approx(6 / 10)
    assert (found["agreement_decided"].value, found["agreement_decided"].total) == (pytest.approx(5 / 8), 8)
    by_chance = 0.2 * 0.1 + 0.8 * 0.9 / 2
    assert found["kappa"].value == pytest.approx((0.6 - by_chance) / (1 - by_chance))
    # Longer: clinicians took it in the first three votes alone; the judge there, in both misses on the right, and last.
    assert found["clinicians_longer"].value == pytest.approx(3 / 8)
    assert found["judge_longer"].value == pytest.approx(6 / 8)
    assert found["length_bias"].value == pytest.approx(3 / 8)
    assert found["clinicians_left"].value == pytest.approx(5 / 8)
    assert found["judge_left"].value == pytest.approx(5 / 9)
    assert all(each.interval is not None for each in found.values() if each.value is not None)
    low, high = found["agreement"].interval or (1.0, 0.0)
    assert low < 0.6 < high


def test_two_clinicians_and_repeats_by_hand() -> None:
    votes = [
        *(ballot("c1", "left"), ballot("c1", "left", rater="ben"), ballot("c1", "right", rater="cleo")),
        *(ballot("c2", "both-good"), ballot("c2", "both-bad", rater="ben")),
        *(ballot("c1", "right", repeat=True), ballot("c2", "left", repeat=True)),
    ]
    found = measured([], votes)
    assert (found["between_raters"].value, found["between_raters"].total) == (pytest.approx(2 / 4), 4)
    assert (found["clinicians_repeats"].value, found["clinicians_repeats"].total) == (pytest.approx(1 / 2), 2)
    assert found["agreement"].value is None


def test_two_runs_of_the_judge_by_hand() -> None:
    once = np.array([[0.5, 0.4, 0.4], [0.1, np.nan, 0.2]])
    again = np.array([[0.6, 0.6, 0.2], [0.1, 0.3, 0.3]])
    counts = count_judge_twice(once, again, ["c1", "c2"])
    assert counts["c1"] == {"judged twice": 3, "same twice": 1}
    assert counts["c2"] == {"judged twice": 1, "same twice": 1}


def test_one_vote_per_case_is_the_estimator_of_the_paper() -> None:
    """PPI++ for a mean: lambda = Cov(Y, f) / ((1 + n / N) Var f), with n labelled and N other cases."""
    random = np.random.default_rng(3)
    n, others = 400, 1600
    f = random.random(n + others)
    y = (random.random(n + others) < f).astype(np.float64)
    weight = np.cov(y[:n], f[:n])[0, 1] / ((1 + n / others) * f.var(ddof=1))
    estimate = y[:n].mean() + weight * (f[n:].mean() - f[:n].mean())
    variance = (y[:n] - weight * f[:n]).var() / n + weight**2 * f[n:].var() / others
    votes = VotesOnTeam(case=np.arange(n), opponent=np.zeros(n, dtype=np.int64), points=y[:n])
    by_votes, by_both, _ = prediction_powered(votes, f[:, None], confidence=0.95)
    assert by_both.value == pytest.approx(estimate, abs=1e-3)
    assert by_both.variance == pytest.approx(variance, rel=0.02)
    assert by_votes.value == y[:n].mean()
    assert by_votes.variance == pytest.approx(y[:n].var(ddof=1) / n, rel=0.01)
    assert by_both.variance < by_votes.variance


def test_a_judge_that_says_nothing_changes_nothing() -> None:
    votes = VotesOnTeam(
        case=np.array([0, 1, 2, 3]), opponent=np.array([1, 2, 1, 2]), points=np.array([1.0, 0.0, 0.5, 1.0])
    )
    by_votes, by_both, weight = prediction_powered(votes, np.zeros((6, 3)), confidence=0.95)
    assert weight == 0
    assert by_both.value == by_votes.value == pytest.approx((0.75 + 0.5) / 2)


def test_every_opponent_counts_the_same() -> None:
    """Nine wins against one team and one loss against the other are one half, not nine tenths."""
    votes = VotesOnTeam(case=np.arange(10), opponent=np.array([1] * 9 + [2]), points=np.array([1.0] * 9 + [0.0]))
    assert prediction_powered(votes, np.zeros((10, 3)), confidence=0.95)[0].value == 0.5


def test_too_few_cases_have_no_interval() -> None:
    votes = VotesOnTeam(case=np.array([0, 1]), opponent=np.array([1, 1]), points=np.array([1.0, 0.0]))
    by_votes, by_both, _ = prediction_powered(votes, np.zeros((5, 2)), confidence=0.95)
    assert by_votes.interval is None
    assert by_both.interval is None


def test_the_intervals_hold_the_truth_and_the_judge_makes_them_narrower() -> None:
    """400 simulated challenges, fixed seed: two votes on each of 30 cases against two teams, 100 cases judged.

    bench/calibration.py does the same for whole arenas.
    """
    random = np.random.default_rng(2026)
    cases, voted = 100, 30
    inside, narrower = {"votes": 0, "both": 0}, 0
    for _ in range(400):
        ahead = random.standard_normal((cases, 3)) + 0.3  # of the first team; column 0 is itself
        judged = ahead + 0.5 * random.standard_normal((cases, 3))
        chance = 1 / (1 + np.exp(-2 * ahead))
        case, opponent = np.repeat(np.arange(voted), 2), np.tile([1, 2], voted)
        points = (random.random(2 * voted) < chance[case, opponent]).astype(np.float64)
        votes = VotesOnTeam(case=case, opponent=opponent, points=points)
        by_votes, by_both, _ = prediction_powered(votes, judged, confidence=0.95)
        for name, estimate in (("votes", by_votes), ("both", by_both)):
            low, high = estimate.interval or (0.0, 0.0)
            inside[name] += low <= TRUTH <= high
        narrower += by_both.variance < by_votes.variance
    assert 0.93 <= inside["votes"] / 400 <= 0.97
    assert 0.93 <= inside["both"] / 400 <= 0.97
    assert narrower > 350


# E[1 / (1 + exp(-2 X))] for X normal with mean 0.3 and variance 1, by quadrature.
_X = np.linspace(-9, 9, 20001)
TRUTH = float(np.sum(np.exp(-((_X - 0.3) ** 2) / 2) / (1 + np.exp(-2 * _X))) * (_X[1] - _X[0]) / np.sqrt(2 * np.pi))
