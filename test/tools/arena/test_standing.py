"""The standing: order, ranks, tied groups, counts, and every sentence in its words."""

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
    combine,
    intervals_separate,
    rank_of,
    standing,
    stop_rule,
    tied_groups,
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
    assert found.ratings == {team.name: team.elo_averaged for team in found.teams}
    assert (found.votes, found.repeats, found.raters, found.cases) == (12, 0, 1, 3)
    assert "Only 3 cases have votes: intervals over few cases are rough." in found.notes
    assert found.disagreements == ()


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
    assert [rank_of(name, bounds) for name in bounds] == ranks
    assert list(tied_groups(list(bounds), bounds).values()) == groups


@examples(30)
@given(votes(), st.integers(1, 5))
def test_any_votes_have_a_standing(cast: list[tuple[str, str, str]], cases: int) -> None:
    found = standing(ballots(cast, cases=cases), TEAMS, QUICK)
    assert sorted(team.name for team in found.teams) == list(TEAMS)
    assert sum(team.wins for team in found.teams) == sum(team.losses for team in found.teams)
    assert sum(team.votes for team in found.teams) == 2 * len(cast) == 2 * found.votes
    ordered = [team.elo_averaged for team in found.teams]
    assert ordered == pytest.approx(sorted(ordered, reverse=True), abs=1e-5)


# Every condition of the stop rule on both sides of its bound, in its words.

RULES = ArenaSettings(permutations=5, bootstraps=100, vote_budget=1000)


def rule(cast: list[Ballot], methods: str, rules: ArenaSettings = RULES) -> StopRule:
    return stop_rule(cast, standing(cast, methods, rules), rules)


def condition(found: StopRule, name: str) -> Condition:
    (one,) = [condition for condition in found.conditions if condition.name == name]
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
def test_number_of_votes_and_the_budget(votes: int, met: bool) -> None:
    found = rule(ballots(every_pair(40)[:votes]), "ABC", RULES.model_copy(update={"vote_budget": 100}))
    for name, words in (("enough votes", "at least"), ("budget spent", "the budget of")):
        one = condition(found, name)
        assert (one.met, one.sentence) == (met, f"Cast: {votes} of {words} 100 votes.")
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


def test_intervals_of_neighbours() -> None:
    fitted = {"A": 900.0, "B": 1100.0, "C": 1000.0}
    apart = {"A": (880, 920), "B": (1060, 1140), "C": (960, 1040)}
    found = intervals_separate(fitted, apart)
    assert (found.met, found.sentence, found.reached) == (True, "No intervals of neighbours overlap.", 2)
    found = intervals_separate(fitted, apart | {"C": (920, 1040)})
    assert (found.met, found.reached, found.needed) == (False, 1, 2)
    assert found.sentence == "The intervals of 1 of 2 neighbours overlap or are not known yet: C and A."
    found = intervals_separate(fitted, apart | {"C": None})
    assert found.sentence == "The intervals of 2 of 2 neighbours overlap or are not known yet: B and C, C and A."


def test_all_of_three_and_one_of_two() -> None:
    def named(*met: bool) -> StopRule:
        made = [Condition(name=str(i), met=m, sentence=f"{i}.", reached=0, needed=0) for i, m in enumerate(met)]
        return combine(tuple(made[:3]), tuple(made[3:]))

    assert named(True, True, True, True, False).holds
    assert named(True, True, True, False, True).holds
    assert not named(True, True, True, False, False).holds
    assert not named(True, False, True, True, True).holds
    assert named(True, False, True, False, False).missing == ("1.", "3. 4.")
    assert named(True, True, True, True, False).missing == ()


def test_from_the_first_vote_to_the_last() -> None:
    """Two teams, one clearly better, over 30 cases: the rule does not hold at first, and holds in the end."""
    cast = ballots([("A", "B", "right" if index % 5 == 4 else "left") for index in range(400)], cases=30)
    rules = RULES.model_copy(update={"k_factor": 1.0})
    assert not rule(cast[:60], "AB", rules).holds
    found = rule(cast, "AB", rules)
    assert found.holds
    assert not condition(found, "budget spent").met


@pytest.mark.parametrize("methods", ["", "A", "AB"])
def test_without_votes_it_does_not_hold(methods: str) -> None:
    assert not rule([], methods).holds
