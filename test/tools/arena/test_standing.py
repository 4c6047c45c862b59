"""The standing: order, ranks, groups, counts, and every sentence in its words."""

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from literal import arena as literal
from properties import examples
from tools.arena.golden_votes import GOLDEN, TEAMS, UNDEFEATED, ballots, votes

from podium.tools.arena.settings import ArenaSettings
from podium.tools.arena.standing import (
    Condition,
    Standing,
    StopRule,
    number_groups,
    standing,
    stop_rule,
)
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
    assert found.ratings == {team.name: round(team.elo_averaged, 1) for team in found.teams}
    assert [team.rank for team in found.teams] == [1, 2, 3, 4]
    assert found.groups == (("A", "B", "D", "C"),)
    assert (found.votes, found.repeats, found.raters, found.cases) == (12, 0, 1, 3)
    assert found.notes == (
        "Only 3 cases have votes: intervals over few cases are rough.",
        "All votes are by one rater: the intervals say nothing about what other raters would prefer.",
    )
    assert found.disagreements == ()


def test_the_order_follows_the_rating_that_decides() -> None:
    """A beat B early and often; what came last weighs more in Elo than in Bradley-Terry."""
    cast = ballots([("A", "B", "left")] * 20 + [("A", "B", "right")] * 18, cases=7)
    strong = ArenaSettings(k_factor=64, permutations=50, bootstraps=50)
    assert [team.name for team in standing(cast, "AB", strong, by="elo").teams] == ["B", "A"]
    found = standing(cast, "AB", strong, by="bradley-terry")
    assert [team.name for team in found.teams] == ["A", "B"]
    assert found.ratings == {"A": 1009.2, "B": 990.8}
    averaged, online, fitted = (
        tuple(f"{team.rating(by):.1f}" for team in found.teams) for by in ("elo-averaged", "elo", "bradley-terry")
    )
    assert found.disagreements == (
        f"Averaged Elo ({averaged[0]}, {averaged[1]}) and Bradley-Terry ({fitted[0]}, {fitted[1]}) put A before B, "
        f"but Elo ({online[1]}, {online[0]}) puts B before A.",
    )
    assert fitted == ("1009.2", "990.8")  # +- 200 log10(20 / 18)


@pytest.mark.parametrize(
    ("cast", "notes"),
    [
        ([], ["There is no vote yet: every rating has its initial value."]),
        (
            [("A", "B", "left")],
            [
                "The plain Bradley-Terry fit does not exist (C got no vote; A won every vote; B lost every vote): "
                "half a virtual draw was added to every pair.",
                "All votes are on one case: there are no intervals, since these resample cases.",
                "Without a vote, and so separated from nobody: C.",
            ],
        ),
        (
            UNDEFEATED,
            [
                "The plain Bradley-Terry fit does not exist (A won every vote; C lost every vote): "
                "half a virtual draw was added to every pair.",
                "A and C won or lost every vote: the true difference is unknown, and the interval too narrow.",
                "Only 3 cases have votes: intervals over few cases are rough.",
                "All votes are by one rater: the intervals say nothing about what other raters would prefer.",
            ],
        ),
    ],
)
def test_few_votes(cast: list[tuple[str, str, str]], notes: list[str]) -> None:
    found = standing(ballots(cast), "ABC", QUICK)
    assert list(found.notes) == notes
    if len(cast) < 2:
        assert [(team.group, team.interval) for team in found.teams] == [(1, None)] * 3


def test_repeats_are_counted_apart() -> None:
    cast = ballots(GOLDEN)
    repeat = Ballot(rater="bert", case="case9", left="B", right="A", answer="left", repeat=True)
    found = standing([*cast, repeat], TEAMS, QUICK)
    assert (found.votes, found.repeats, found.raters, found.cases) == (12, 1, 2, 3)
    assert found.teams == standing(cast, TEAMS, QUICK).teams


CLEAR = [("A", "C", "left"), ("B", "C", "left"), ("A", "B", "left")] * 60 + [
    *[("C", "A", "left"), ("C", "B", "left")],
    *[("B", "A", "left")] * 55,
]


@pytest.mark.parametrize(("tied", "ranks"), [(False, [1, 2, 3]), (True, [1, 1, 3])])
def test_the_score_ranks_and_the_group_stands_beside_it(tied: bool, ranks: list[int]) -> None:
    found = standing(ballots(CLEAR, cases=20), "CBA", QUICK, tied_groups=tied)
    assert found.groups == (("A", "B"), ("C",))
    assert [team.rank for team in found.teams] == ranks
    assert found.pair_separated == ((False, False, True), (False, False, True), (False, False, False))
    assert found.tied_groups is tied


def test_scores_equal_to_one_decimal_share_a_rank() -> None:
    """A won 30 and lost 30 to D; B and C tied 60 times."""
    cast = ballots([("A", "D", "left"), ("D", "A", "left"), ("B", "C", "tie"), ("C", "B", "tie")] * 30, cases=20)
    found = standing(cast, "DCBA", ArenaSettings(k_factor=0.01))
    assert found.ratings == dict.fromkeys("ABCD", 1000.0)
    assert [(team.name, team.rank) for team in found.teams] == [("A", 1), ("B", 1), ("C", 1), ("D", 1)]
    assert found.teams[0].elo_averaged != found.teams[1].elo_averaged


def test_nobody() -> None:
    found: Standing = standing([], [], QUICK)
    assert (found.teams, found.groups) == ((), ())


@pytest.mark.parametrize(
    ("order", "separated", "groups"),
    [
        ("ABC", ["AB", "AC", "BC"], [1, 2, 3]),
        ("ABC", ["AC"], [1, 1, 1]),  # A and C hang together by B
        ("ABC", ["AB", "BC"], [1, 1, 1]),
        ("ABC", ["AC", "BC"], [1, 1, 2]),
        ("BAC", ["AB", "AC", "BC"], [1, 1, 2]),  # another rating put B first
        ("ABCD", ["AC", "AD", "BC", "BD"], [1, 1, 2, 2]),
        ("", [], []),
    ],
)
def test_groups(order: str, separated: list[str], groups: list[int]) -> None:
    found = number_groups(order, {(pair[0], pair[1]) for pair in separated})
    assert found == dict(zip(order, groups, strict=True))


@examples(30)
@given(votes(), st.integers(1, 5))
def test_any_votes_have_a_standing(cast: list[tuple[str, str, str]], cases: int) -> None:
    found = standing(ballots(cast, cases=cases), TEAMS, QUICK)
    assert sorted(team.name for team in found.teams) == list(TEAMS)
    assert sum(team.wins for team in found.teams) == sum(team.losses for team in found.teams)
    assert sum(team.votes for team in found.teams) == 2 * len(cast) == 2 * found.votes
    scores = [round(team.elo_averaged, 1) for team in found.teams]
    assert scores == sorted(scores, reverse=True) == list(found.ratings.values())
    assert [team.rank for team in found.teams] == [1 + sum(other > score for other in scores) for score in scores]


# Every condition of the stop rule on both sides of its bound, in its words.

RULES = ArenaSettings(permutations=5, bootstraps=100)


def rule(cast: list[Ballot], methods: str, rules: ArenaSettings = RULES) -> StopRule:
    return stop_rule(cast, standing(cast, methods, rules), rules)


def condition(found: StopRule, name: str) -> Condition:
    (one,) = [condition for condition in (*found.required, *found.optional) if condition.name == name]
    return one


def every_pair(rounds: int, methods: str = "ABC") -> list[tuple[str, str, str]]:
    """The earlier letter wins three times out of four."""
    return [
        (*pair, "right" if turn % 4 == 3 else "left") for turn in range(rounds) for pair in combinations(methods, 2)
    ]


@pytest.mark.parametrize(
    ("votes", "methods", "reached", "words"),
    [
        (30, "ABC", 10, "Every pair has at least 10 votes; the fewest is 10."),
        (29, "ABC", 9, "1 of 3 pairs has fewer than 10 votes; the fewest, B against C, has 9."),
        (30, "ABCDEFG", 0, "18 of 21 pairs have fewer than 10 votes; the fewest, A against D, has 0."),
    ],
)
def test_votes_per_pair(votes: int, methods: str, reached: int, words: str) -> None:
    found = condition(rule(ballots(every_pair(10)[:votes]), methods), "votes per pair")
    assert (found.met, found.reached, found.needed, found.sentence) == (reached >= 10, reached, 10, words)


@pytest.mark.parametrize(("votes", "met"), [(99, False), (100, True)])
def test_the_number_of_votes(votes: int, met: bool) -> None:
    one = condition(rule(ballots(every_pair(40)[:votes]), "ABC"), "enough votes")
    assert (one.met, one.sentence) == (met, f"Cast: {votes} of at least 100 votes.")
    assert (one.reached, one.needed) == (votes, 100)


def test_the_change_over_the_window_as_read_literally() -> None:
    cast = every_pair(25, "ABCD")
    found = condition(rule(ballots(cast), "ABCD"), "ratings settled")
    now, before = literal.elo(cast, TEAMS, 4), literal.elo(cast[:-50], TEAMS, 4)
    changes = {team: abs(now[team] - before[team]) for team in TEAMS}
    largest = max(changes, key=lambda team: changes[team])
    assert found.reached == pytest.approx(changes[largest])
    assert found.met == (changes[largest] < 10)
    assert found.sentence == (
        f"The largest change of Elo over the last 50 votes is {changes[largest]:.1f} points, of {largest}; "
        "less than 10 is required."
    )


def test_settled_on_both_sides_of_the_bound() -> None:
    """Fifty ties after a hundred wins pull two ratings together by a known amount."""
    cast = [("A", "B", "left")] * 100 + [("A", "B", "tie")] * 50
    change = literal.elo(cast[:100], "AB", 4)["A"] - literal.elo(cast, "AB", 4)["A"]
    for epsilon, met in ((change * 1.001, True), (change * 0.999, False)):
        rules = RULES.model_copy(update={"epsilon_points": epsilon})
        assert condition(rule(ballots(cast), "AB", rules), "ratings settled").met is met


def test_the_window_must_be_full() -> None:
    cast = [("A", "B", "tie")] * 50
    assert condition(rule(ballots(cast), "AB"), "ratings settled").met
    found = condition(rule(ballots(cast[1:]), "AB"), "ratings settled")
    assert (found.met, found.reached) == (False, None)
    assert found.sentence == "The change of Elo is not known before 50 votes are cast."


def test_neighbours() -> None:
    found = condition(rule(ballots(CLEAR, cases=20), "ABC"), "neighbours separated")
    assert (found.met, found.reached, found.needed) == (False, 1, 2)
    assert found.sentence == "Not separated: A and B."


def test_what_is_optional_stops_nothing() -> None:
    """Two teams that are equal: enough votes and settled ratings are all that the document asks for."""
    cast = ballots([("A", "B", "right" if index % 2 else "left") for index in range(120)], cases=30)
    rules = RULES.model_copy(update={"k_factor": 1.0})
    assert not rule(cast[:98], "AB", rules).holds
    found = rule(cast, "AB", rules)
    assert found.holds
    assert found.missing == ()
    assert [one.name for one in found.required] == ["votes per pair", "enough votes", "ratings settled"]
    assert [(one.name, one.met) for one in found.optional] == [("neighbours separated", False)]


def test_a_clear_order() -> None:
    cast = ballots([("A", "B", "right" if index % 5 == 4 else "left") for index in range(400)], cases=30)
    found = condition(rule(cast, "AB"), "neighbours separated")
    assert (found.met, found.sentence, found.reached, found.needed) == (
        True,
        "The votes separate all neighbours.",
        1,
        1,
    )


def test_what_is_missing_is_said() -> None:
    found = rule(ballots(every_pair(9)), "ABC")
    assert found.missing == tuple(
        condition(found, name).sentence for name in ("votes per pair", "enough votes", "ratings settled")
    )


@pytest.mark.parametrize("methods", ["", "A", "AB"])
def test_without_votes_it_does_not_hold(methods: str) -> None:
    assert not rule([], methods).holds
