"""Agreement of the raters, against Krippendorff's own worked example and a literal reading."""

from collections.abc import Sequence
from fractions import Fraction
from itertools import cycle, permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from properties import examples
from scipy.stats import binomtest
from sklearn.metrics import cohen_kappa_score
from tools.arena.golden_votes import GOLDEN, TEAMS, ballots, votes

from podium.tools.arena.agreement import (
    Proportion,
    RaterFigures,
    arena_agreement,
    coin_p,
    nominal_alpha,
    rater_agreements,
    rater_figures,
)
from podium.tools.arena.settings import ArenaSettings
from podium.tools.arena.standing import standing
from podium.tools.arena.store import Ballot, VoteAnswer

# Krippendorff 2011, example C: four observers, twelve units, missing data; nominal alpha is 0.743.
EXAMPLE = (
    ("1", "2", "3", "3", "2", "1", "4", "1", "2", "", "", ""),
    ("1", "2", "3", "3", "2", "2", "4", "1", "2", "5", "", "3"),
    ("", "3", "3", "3", "2", "3", "4", "2", "2", "5", "1", ""),
    ("1", "2", "3", "3", "2", "4", "4", "1", "2", "5", "1", ""),
)


def ballot(rater: str, answer: VoteAnswer, *, case: str = "one", left: str = "A", repeat: bool = False) -> Ballot:
    right = "B" if left == "A" else "A"
    return Ballot(rater=rater, case=case, left=left, right=right, answer=answer, repeat=repeat)


def literal_alpha(units: list[list[str]]) -> Fraction | None:
    """1 - observed / expected disagreement, over ordered pairs of values."""
    units = [unit for unit in units if len(unit) > 1]
    values = [value for unit in units for value in unit]
    count = len(values)
    expected = sum(one != other for one, other in permutations(values, 2))
    if not expected:
        return None
    observed = sum(Fraction(sum(a != b for a, b in permutations(unit, 2)), len(unit) - 1) for unit in units)
    return 1 - (observed / count) / Fraction(expected, count * (count - 1))


def test_krippendorffs_example() -> None:
    units = ["".join(unit) for unit in zip(*EXAMPLE, strict=True)]
    assert nominal_alpha([unit for unit in units if len(unit) > 1], {}) == pytest.approx(0.743, abs=5e-4)


@given(st.lists(st.lists(st.sampled_from("abc"), min_size=2, max_size=5), max_size=8))
def test_alpha_as_its_definition_says(units: list[list[str]]) -> None:
    expected = literal_alpha(units)
    assert nominal_alpha(units, {}) == (None if expected is None else pytest.approx(float(expected)))


def test_raters_who_agree_on_the_same_winner_everywhere_agree_fully() -> None:
    """Without mirroring every value would be "first", and alpha undefined."""
    cast = [ballot(rater, "left", case=case) for rater in ("anna", "ben") for case in ("one", "two", "three")]
    found = arena_agreement(cast, ["A", "B"])
    assert (found.krippendorff_alpha, found.shared_matchups) == (1.0, 3)


def test_alpha_knows_no_names() -> None:
    cast = [
        ballot("anna", "left", case="one"),
        ballot("ben", "right", case="one", left="B"),
        ballot("anna", "both-good", case="two"),
        ballot("ben", "left", case="two"),
        ballot("anna", "right", case="three"),
        ballot("ben", "right", case="three"),
    ]
    named = {"A": "Z", "B": "B"}
    swapped = [one._replace(left=named[one.left], right=named[one.right]) for one in cast]
    found = arena_agreement(cast, ["A", "B"]).krippendorff_alpha
    assert found == pytest.approx(arena_agreement(swapped, ["Z", "B"]).krippendorff_alpha)
    assert found is not None
    assert 0 < found < 1


def test_repeats_sides_and_what_nobody_could_judge() -> None:
    cast = [
        ballot("anna", "left"),
        ballot("anna", "right", left="B", repeat=True),  # A again
        ballot("anna", "cannot-judge", case="two"),
        ballot("ben", "both-bad"),
        ballot("ben", "right", left="B", repeat=True),
    ]
    found = arena_agreement(cast, ["A", "B"])
    assert found.same_on_repeats == Proportion(count=1, total=2)
    assert found.chose_left == Proportion(count=1, total=3)
    assert found.chose_left_p == 1.0
    assert [one.unjudged for one in found.raters] == [1, 0]
    assert found.raters[1].ratings == {"A": pytest.approx(1000), "B": pytest.approx(1000)}


def test_the_raters_of_the_rules_votes() -> None:
    found = arena_agreement(ballots(GOLDEN), TEAMS)
    (one,) = found.raters
    assert one.ratings["A"] == pytest.approx(1198.9792, abs=1e-3)
    assert found.krippendorff_alpha is None


# What is said of each rater, against SciPy and scikit-learn, and every remark in its words.


def cast(
    rater: str, answers: Sequence[VoteAnswer], *, seconds: float = 60, pairs: Sequence[str] = ("AB", "BC", "CA")
) -> list[Ballot]:
    """The pairs in turn, every vote on a case of its own."""
    votes = [(*pair, answer) for pair, answer in zip(cycle(pairs), answers, strict=False)]
    return ballots(votes, rater=rater, cases=len(votes), seconds=seconds)


def repeated(ballot: Ballot, answer: VoteAnswer) -> Ballot:
    return ballot._replace(left=ballot.right, right=ballot.left, answer=answer, repeat=True)


def of(rater: str, given: Sequence[Ballot]) -> RaterFigures:
    (found,) = [one for one in rater_figures(given, "ABC") if one.rater == rater]
    return found


def share(count: int, total: int) -> Proportion:
    return Proportion(count=count, total=total)


def test_a_rater_by_hand() -> None:
    mine = cast("anna", ["left", "left", "right", "both-good", "left"], seconds=30)
    again = [repeated(mine[0], "right"), repeated(mine[2], "right"), repeated(mine[3], "both-good")]
    again = [ballot._replace(cast_at=120 + 10 * (index + 1)) for index, ballot in enumerate(again)]
    found = of("anna", mine + again)
    assert (found.votes, found.repeats) == (8, 3)
    assert (found.ties, found.left) == (share(2, 8), share(3, 6))
    assert coin_p(found.left) == 1
    assert found.consistent == share(2, 3)  # A again, C instead of A, tie again
    assert found.median_seconds == 30
    assert (found.agreeing, found.with_order, found.kappa) == (share(0, 0), share(0, 0), None)
    assert found.remarks == ()


@pytest.mark.parametrize(
    ("answers", "seconds", "remarks"),
    [
        (["left"] * 40, 60, ["always chose the left report (40 of 40)"]),
        (["right"] * 8, 60, ["always chose the right report (8 of 8)"]),
        (["left"] * 7, 60, []),
        (["left"] * 35 + ["right"] * 5, 60, ["chose the left report in 35 of 40 decided votes (p = 1.4e-06)"]),
        (["left"] * 26 + ["right"] * 14, 60, []),
        (["both-good"] * 25, 60, ["chose tie every time (25 of 25)"]),
        (["both-good"] * 9, 60, []),
        (["both-good"] * 20 + ["left", "right"] * 2, 60, ["chose tie in 20 of 24 votes"]),
        (["left", "right"] * 10, 2.04, ["took 2.0 seconds per vote at the median"]),
        (["left", "right"] * 10, 5, []),
    ],
)
def test_remarks_on_one_rater(answers: list[VoteAnswer], seconds: float, remarks: list[str]) -> None:
    assert list(of("anna", cast("anna", answers, seconds=seconds)).remarks) == remarks


@pytest.mark.parametrize(
    ("answers", "remarks"),
    [
        (["left", "both-good", "left", "right"], ["answered 3 of 4 repeats differently"]),
        (["left", "right", "right", "right"], []),
    ],
)
def test_remarks_on_repeats(answers: list[VoteAnswer], remarks: list[str]) -> None:
    """Of a rater who first chose the left report: with the sides swapped, right is the same answer."""
    mine = cast("anna", ["left"] * 4)
    found = of("anna", [*mine, *map(repeated, mine, answers)])
    assert list(found.remarks) == remarks


def test_against_the_order_of_the_others() -> None:
    """Two raters find A before B before C; the third the reverse. Each is held against the two others."""
    good = cast("anna", ["left", "left", "right"] * 4) + cast("bert", ["left", "left", "right"] * 4)
    odd = cast("carl", ["right", "right", "left"] * 4)
    assert of("anna", good).with_order == share(12, 12)
    assert of("anna", good + odd).with_order == share(0, 0)  # bert and carl cancel each other: they have no order
    found = of("carl", good + odd)
    assert found.with_order == share(0, 12)
    assert found.remarks == ("voted with the order of the others in only 0 of 12 decided votes",)
    assert (found.agreeing, found.kappa) == (share(0, 24), -1)
    assert of("anna", good + odd).agreeing == share(12, 24)
    assert of("anna", good + odd).kappa == 0  # 1 with bert, -1 with carl


def test_the_order_of_the_others_tells_nothing_of_what_they_have_not_seen() -> None:
    others = cast("bert", ["left", "left", "right"], pairs=["AB"])
    mine = cast("anna", ["left", "left", "both-good"], pairs=["AB", "BC"])
    assert of("anna", mine + others).with_order == share(1, 1)


@settings(deadline=None)
@given(st.integers(0, 60), st.integers(0, 60))
def test_the_coin(heads: int, tails: int) -> None:
    expected = binomtest(heads, heads + tails).pvalue if heads + tails else 1
    assert coin_p(share(heads, heads + tails)) == pytest.approx(expected)


@examples(60)
@given(st.lists(st.tuples(*[st.sampled_from(("left", "right", "both-good"))] * 2), min_size=2, max_size=20))
def test_kappa_by_scikit_learn(answers: list[tuple[VoteAnswer, VoteAnswer]]) -> None:
    """Every matchup entered from both sides; the second rater saw every other one with the sides swapped."""
    swap: dict[str, VoteAnswer] = {"left": "right", "right": "left", "both-good": "both-good"}
    one = cast("anna", [mine for mine, _ in answers])
    other = cast("bert", [theirs for _, theirs in answers])
    shown = [
        ballot._replace(left=ballot.right, right=ballot.left, answer=swap[ballot.answer]) if index % 2 else ballot
        for index, ballot in enumerate(other)
    ]
    (found,) = rater_agreements([*one, *shown])
    assert (found.raters, found.shared) == (("anna", "bert"), len(answers))
    assert found.agreeing == sum(mine == theirs for mine, theirs in answers)
    if all(pair == ("both-good", "both-good") for pair in answers):
        assert found.kappa is None
    else:
        mine, theirs = ([pair[who] for pair in answers] for who in (0, 1))
        expected = cohen_kappa_score(mine + [swap[one] for one in mine], theirs + [swap[one] for one in theirs])
        assert found.kappa == pytest.approx(expected)


@examples(30)
@given(st.lists(st.tuples(st.sampled_from(("anna", "bert", "carl")), votes(most=4)), max_size=8))
def test_nobody_is_dropped(drawn: list[tuple[str, list[tuple[str, str, str]]]]) -> None:
    given = [ballot for rater, some in drawn for ballot in ballots(some, rater=rater)]
    found = rater_figures(given, TEAMS)
    assert [one.rater for one in found] == sorted({ballot.rater for ballot in given})
    assert sum(one.votes for one in found) == len(given)


def test_a_hopeless_rater_is_named_and_still_counts() -> None:
    given = ballots(GOLDEN) + cast("zoe", ["left"] * 30, pairs=["DA"])
    (remark, *_) = [one.remarks for one in rater_figures(given, TEAMS) if one.rater == "zoe"]
    assert "always chose the left report (30 of 30)" in remark
    assert standing(given, TEAMS, ArenaSettings(permutations=5, bootstraps=5)).votes == 42
