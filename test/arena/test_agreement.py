"""Agreement of the raters, against Krippendorff's own worked example and a literal reading."""

from fractions import Fraction
from itertools import permutations

import pytest
from arena.golden_votes import GOLDEN, TEAMS, ballots
from hypothesis import given
from hypothesis import strategies as st

from podium.tools.arena.agreement import Share, arena_agreement, nominal_alpha
from podium.tools.arena.store import Answer, Ballot

# Krippendorff 2011, example C: four observers, twelve units, missing data; nominal alpha is 0.743.
EXAMPLE = (
    ("1", "2", "3", "3", "2", "1", "4", "1", "2", "", "", ""),
    ("1", "2", "3", "3", "2", "2", "4", "1", "2", "5", "", "3"),
    ("", "3", "3", "3", "2", "3", "4", "2", "2", "5", "1", ""),
    ("1", "2", "3", "3", "2", "4", "4", "1", "2", "5", "1", ""),
)


def ballot(rater: str, answer: Answer, *, case: str = "one", left: str = "A", repeat: bool = False) -> Ballot:
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
    units = [[value for value in unit if value] for unit in zip(*EXAMPLE, strict=True)]
    assert nominal_alpha([unit for unit in units if len(unit) > 1]) == pytest.approx(0.743, abs=5e-4)


@given(st.lists(st.lists(st.sampled_from("abc"), min_size=2, max_size=5), max_size=8))
def test_alpha_as_its_definition_says(units: list[list[str]]) -> None:
    expected = literal_alpha(units)
    assert nominal_alpha(units) == (None if expected is None else pytest.approx(float(expected)))


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
    assert found.same_on_repeats == Share(count=1, total=2)
    assert found.chose_left == Share(count=1, total=3)
    assert found.chose_left_p == 1.0
    assert [one.unjudged for one in found.raters] == [1, 0]
    assert found.raters[1].ratings == {"A": pytest.approx(1000), "B": pytest.approx(1000)}


def test_the_raters_of_the_rules_votes() -> None:
    found = arena_agreement(ballots(GOLDEN), TEAMS)
    (one,) = found.raters
    assert one.ratings["A"] == pytest.approx(1198.9792, abs=1e-3)
    assert found.krippendorff_alpha is None
