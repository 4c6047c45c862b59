"""Every condition of the stop rule on both sides of its bound, in its words."""

from itertools import combinations

import pytest
from arena.golden_votes import TEAMS, ballots
from literal import arena as literal

from podium.tools.arena.ratings import Interval
from podium.tools.arena.settings import ArenaSettings
from podium.tools.arena.standing import Condition, StopRule, intervals_separate, standing, stop_rule
from podium.tools.arena.store import Ballot

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


def test_votes_per_pair() -> None:
    cast = every_pair(10)
    assert condition(rule(ballots(cast), "ABC"), "votes per pair") == Condition(
        name="votes per pair",
        met=True,
        sentence="Every pair has at least 10 votes; the fewest is 10.",
        reached=10,
        needed=10,
    )
    assert condition(rule(ballots(cast[:-1]), "ABC"), "votes per pair") == Condition(
        name="votes per pair",
        met=False,
        sentence="1 of 3 pairs has fewer than 10 votes; the fewest, B against C, has 9.",
        reached=9,
        needed=10,
    )
    found = condition(rule(ballots(cast), "ABCDEFG"), "votes per pair")
    assert (found.met, found.sentence) == (
        False,
        "18 of 21 pairs have fewer than 10 votes; the fewest, " + found.sentence.split("fewest, ")[1],
    )
    assert found.sentence.endswith(", has 0.")


@pytest.mark.parametrize(("votes", "met"), [(99, False), (100, True)])
def test_number_of_votes(votes: int, met: bool) -> None:
    found = condition(rule(ballots(every_pair(40)[:votes]), "ABC"), "enough votes")
    assert (found.met, found.sentence) == (met, f"Cast: {votes} of at least 100 votes.")
    assert (found.reached, found.needed) == (votes, 100)


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
    apart = {"A": Interval(880, 920), "B": Interval(1060, 1140), "C": Interval(960, 1040)}
    found = intervals_separate(fitted, apart)
    assert (found.met, found.sentence, found.reached) == (True, "The intervals of all neighbours are apart.", 2)
    found = intervals_separate(fitted, apart | {"C": Interval(920, 1040)})
    assert (found.met, found.reached, found.needed) == (False, 1, 2)
    assert found.sentence == "The intervals of 1 of 2 neighbours overlap or are not known yet: C and A."
    found = intervals_separate(fitted, apart | {"C": None})
    assert found.sentence == "The intervals of 2 of 2 neighbours overlap or are not known yet: B and C, C and A."


@pytest.mark.parametrize(("votes", "met"), [(99, False), (100, True)])
def test_the_budget(votes: int, met: bool) -> None:
    rules = RULES.model_copy(update={"vote_budget": 100})
    found = condition(rule(ballots(every_pair(40)[:votes]), "ABC", rules), "budget spent")
    assert (found.met, found.sentence) == (met, f"Cast: {votes} of the budget of 100 votes.")


def test_all_of_three_and_one_of_two() -> None:
    def named(*met: bool) -> StopRule:
        made = [Condition(name=str(i), met=m, sentence=f"{i}.", reached=0, needed=0) for i, m in enumerate(met)]
        return StopRule(required=tuple(made[:3]), either=tuple(made[3:]))

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


def test_repeats_do_not_count() -> None:
    cast = [
        Ballot(rater="anna", case=f"c{index}", left="A", right="B", answer="both-good", repeat=True)
        for index in range(200)
    ]
    assert condition(rule(cast, "AB"), "enough votes").reached == 0
    assert condition(rule(cast, "AB"), "votes per pair").reached == 0
