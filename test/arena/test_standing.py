"""The standing: order, ranks, tied groups, counts, and every sentence in its words."""

import pytest
from arena.golden_votes import GOLDEN, TEAMS, UNDEFEATED, ballots, votes
from hypothesis import given, settings
from hypothesis import strategies as st

from podium.tools.arena.ratings import Interval
from podium.tools.arena.settings import ArenaSettings
from podium.tools.arena.standing import Standing, rank_of, standing, tied_groups
from podium.tools.arena.store import Ballot

QUICK = ArenaSettings(permutations=20, bootstraps=50)


def test_the_golden_votes() -> None:
    found = standing(ballots(GOLDEN), TEAMS, QUICK)
    assert [team.name for team in found.teams] == ["A", "B", "D", "C"]
    first = found.teams[0]
    assert (first.votes, first.wins, first.losses, first.ties) == (6, 4, 1, 1)
    assert f"{first.elo:.6f} {first.bradley_terry:.4f}" == "1005.851604 1198.9792"
    assert found.pair_votes == ((0, 3, 1, 2), (3, 0, 2, 2), (1, 2, 0, 2), (2, 2, 2, 0))
    assert found.pair_wins == ((0, 1, 1, 2), (1, 0, 2, 1), (0, 0, 0, 1), (0, 1, 0, 0))
    assert found.ratings == {team.name: team.elo_averaged for team in found.teams}
    assert (found.votes, found.repeats, found.raters, found.cases) == (12, 0, 1, 3)
    assert "Only 3 cases have votes: intervals over few cases are rough." in found.notes


def test_the_order_follows_the_rating_that_decides() -> None:
    """A beat B early and often; what came last weighs more in Elo than in Bradley-Terry."""
    cast = ballots([("A", "B", "left")] * 20 + [("A", "B", "right")] * 18, cases=7)
    strong = ArenaSettings(k_factor=64, permutations=50, bootstraps=50)
    assert [team.name for team in standing(cast, "AB", strong, by="elo").teams] == ["B", "A"]
    found = standing(cast, "AB", strong, by="bradley-terry")
    assert [team.name for team in found.teams] == ["A", "B"]
    assert found.ratings == {team.name: team.bradley_terry for team in found.teams}
    averaged, online, fitted = (
        tuple(f"{team.rating(by):.1f}" for team in found.teams) for by in ("elo-averaged", "elo", "bradley-terry")
    )
    assert found.disagreements == (
        f"Averaged Elo ({averaged[0]}, {averaged[1]}) and Bradley-Terry ({fitted[0]}, {fitted[1]}) put A before B, "
        f"but Elo ({online[1]}, {online[0]}) puts B before A.",
    )
    assert fitted == ("1009.2", "990.8")  # +- 200 log10(20 / 18)


def test_agreement_is_silent() -> None:
    assert standing(ballots(GOLDEN), TEAMS, QUICK).disagreements == ()


@pytest.mark.parametrize(
    ("cast", "notes"),
    [
        ([], ["There is no vote yet: every rating has its initial value."]),
        (
            [("A", "B", "left")],
            [
                "The plain Bradley-Terry fit does not exist (C got no vote; A won every vote; B lost every vote): "
                "half a virtual draw was added to every pair.",
                "All votes are on one case: there are no intervals, since these are drawn over cases.",
                "Without a vote, and so tied with everybody: C.",
            ],
        ),
        (
            UNDEFEATED,
            [
                "The plain Bradley-Terry fit does not exist (A won every vote; C lost every vote): "
                "half a virtual draw was added to every pair.",
                "A and C won or lost every vote: the true difference is unknown, and the interval too narrow.",
                "Only 3 cases have votes: intervals over few cases are rough.",
            ],
        ),
    ],
)
def test_few_votes(cast: list[tuple[str, str, str]], notes: list[str]) -> None:
    found = standing(ballots(cast), "ABC", QUICK)
    assert list(found.notes) == notes
    if len(cast) < 2:
        assert [(team.rank, team.group, team.interval) for team in found.teams] == [(1, 1, None)] * 3


def test_replicates_without_a_plain_fit_are_counted() -> None:
    cast = [("A", "B", "left")] * 9 + [("A", "B", "right")]
    found = standing(ballots(cast, cases=10), "AB", ArenaSettings(permutations=5, bootstraps=1000))
    (note,) = found.notes
    without = int(note.split()[1])
    assert without == pytest.approx(1000 * 0.9**10, abs=60)  # those that leave out the one case of B
    assert note == (
        f"In {without} of 1000 bootstrap replicates the plain fit does not exist: "
        "there, half a virtual draw was added to every pair."
    )


def test_repeats_are_counted_apart() -> None:
    cast = ballots(GOLDEN)
    repeat = Ballot(rater="bert", case="case9", left="B", right="A", answer="left", repeat=True)
    found = standing([*cast, repeat], TEAMS, QUICK)
    assert (found.votes, found.repeats, found.raters, found.cases) == (12, 1, 2, 3)
    assert found.teams == standing(cast, TEAMS, QUICK).teams


def test_clear_votes_make_groups() -> None:
    cast = [("A", "C", "left"), ("B", "C", "left"), ("A", "B", "tie")] * 60 + [("C", "A", "left"), ("C", "B", "left")]
    found = standing(ballots(cast, cases=20), "CBA", QUICK)
    assert found.groups == (("A", "B"), ("C",))
    assert [team.rank for team in found.teams] == [1, 1, 3]


def test_nobody() -> None:
    found: Standing = standing([], [], QUICK)
    assert (found.teams, found.groups) == ((), ())


@pytest.mark.parametrize(
    ("bounds", "ranks", "groups"),
    [
        ({"A": (5, 6), "B": (3, 4), "C": (1, 2)}, [1, 2, 3], [1, 2, 3]),
        ({"A": (3, 6), "B": (2, 4), "C": (1, 2.5)}, [1, 1, 2], [1, 1, 1]),  # A and C hang together by B
        ({"A": (1, 9), "B": (4, 5), "C": (2, 3)}, [1, 1, 2], [1, 1, 1]),  # C lies below B, but not below A
        ({"A": (3, 4), "B": (2, 3), "C": (0, 1)}, [1, 1, 3], [1, 1, 2]),  # touching is overlapping
        ({"A": (1, 2), "B": (5, 6), "C": (0, 0.5)}, [2, 1, 3], [1, 1, 2]),  # another rating put A first
        ({"A": (5, 6), "B": None, "C": (1, 2)}, [1, 1, 2], [1, 1, 1]),
    ],
)
def test_ranks_and_groups(bounds: dict[str, tuple[float, float] | None], ranks: list[int], groups: list[int]) -> None:
    intervals = {name: None if pair is None else Interval(*pair) for name, pair in bounds.items()}
    assert [rank_of(name, intervals) for name in intervals] == ranks
    assert list(tied_groups(list(intervals), intervals).values()) == groups


@settings(max_examples=30, deadline=None)
@given(votes(), st.integers(1, 5))
def test_any_votes_have_a_standing(cast: list[tuple[str, str, str]], cases: int) -> None:
    found = standing(ballots(cast, cases=cases), TEAMS, QUICK)
    assert sorted(team.name for team in found.teams) == list(TEAMS)
    assert sum(team.wins for team in found.teams) == sum(team.losses for team in found.teams)
    assert sum(team.votes for team in found.teams) == 2 * len(cast) == 2 * found.votes
    ordered = [team.elo_averaged for team in found.teams]
    assert ordered == pytest.approx(sorted(ordered, reverse=True), abs=1e-5)
