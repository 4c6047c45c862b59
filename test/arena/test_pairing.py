"""Pairing: balanced at any moment, whoever arrives when."""

from collections import Counter
from collections.abc import Iterable, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from podium.tools.arena.voting import MIN_PLACES_BETWEEN, MatchupPlanner, Planned

SHARE = 0.05


def pair(planned: Planned) -> tuple[int, int]:
    return min(planned.left, planned.right), max(planned.left, planned.right)


def fresh(lists: Iterable[Sequence[Planned]]) -> list[Planned]:
    return [each for listed in lists for each in listed if each.repeat_of is None]


def spread(counted: Counter[tuple[int, int]], methods: int) -> int:
    counts = [counted[low, high] for low in range(methods) for high in range(low + 1, methods)]
    return max(counts) - min(counts)


def plan_one_by_one(planner: MatchupPlanner, counts: Sequence[int]) -> list[list[Planned]]:
    lists: list[list[Planned]] = []
    for rater, count in enumerate(counts):
        lists.append(planner.plan(count, rater=rater, others=fresh(lists)))
    return lists


@st.composite
def arenas(draw: st.DrawFn) -> tuple[MatchupPlanner, list[int]]:
    """Several raters of different diligence, none of whom can run out of cases for a pair."""
    methods = draw(st.integers(2, 7))
    pairs = methods * (methods - 1) // 2
    counts = draw(st.lists(st.integers(1, 80), min_size=1, max_size=8))
    cases = max(counts) // pairs + 2
    planner = MatchupPlanner(
        methods=methods, cases=draw(st.integers(cases, cases + 30)), repeat_share=SHARE, seed=draw(st.integers(0, 99))
    )
    return planner, counts


@given(arenas())
@settings(max_examples=50, deadline=None)
def test_every_pair_is_planned_equally_often_and_so_is_every_list_from_its_beginning(
    arena: tuple[MatchupPlanner, list[int]],
) -> None:
    planner, counts = arena
    lists = plan_one_by_one(planner, counts)
    assert [len(listed) for listed in lists] == counts
    for number in range(1, len(lists) + 1):
        assert spread(Counter(map(pair, fresh(lists[:number]))), planner.methods) <= 1
    for listed in lists:
        for end in range(len(listed)):
            assert spread(Counter(map(pair, fresh([listed[:end]]))), planner.methods) <= 2


@given(arenas())
@settings(max_examples=50, deadline=None)
def test_sides_are_balanced_for_every_pair(arena: tuple[MatchupPlanner, list[int]]) -> None:
    planner, counts = arena
    planned = fresh(plan_one_by_one(planner, counts))
    lower_left = Counter(pair(each) for each in planned if each.left < each.right)
    for each, count in Counter(map(pair, planned)).items():
        assert abs(2 * lower_left[each] - count) <= 1


@given(arenas())
@settings(max_examples=50, deadline=None)
def test_no_matchup_comes_twice_but_for_repeats_with_swapped_sides(arena: tuple[MatchupPlanner, list[int]]) -> None:
    planner, counts = arena
    for listed, count in zip(plan_one_by_one(planner, counts), counts, strict=True):
        shown = Counter((pair(each), each.case) for each in listed if each.repeat_of is None)
        assert set(shown.values()) <= {1}
        repeats = [(place, each) for place, each in enumerate(listed) if each.repeat_of is not None]
        for place, each in repeats:
            assert each.repeat_of is not None
            first = listed[each.repeat_of]
            assert (first.case, first.left, first.right) == (each.case, each.right, each.left)
            assert first.repeat_of is None
            assert place - each.repeat_of >= MIN_PLACES_BETWEEN
        assert len({each.repeat_of for _, each in repeats}) == len(repeats)
        assert len(repeats) == round(SHARE * count)


@pytest.mark.parametrize("share", [0.0, 0.1, 0.3, 0.49])
@pytest.mark.parametrize("count", [1, 5, 6, 7, 30])
def test_repeats_keep_their_distance_in_short_lists_and_with_large_shares(share: float, count: int) -> None:
    listed = MatchupPlanner(methods=3, cases=40, repeat_share=share, seed=1).plan(count, rater=0)
    assert len(listed) == count
    repeats = [(place, each.repeat_of) for place, each in enumerate(listed) if each.repeat_of is not None]
    assert all(first is not None and place - first >= MIN_PLACES_BETWEEN for place, first in repeats)
    assert len(repeats) <= share * count + 1
    if count <= 5:
        assert not repeats  # nothing is five places back


def test_repeats_are_spread_over_the_list() -> None:
    listed = MatchupPlanner(methods=7, cases=50, repeat_share=SHARE, seed=3).plan(60, rater=0)
    places = [place for place, each in enumerate(listed) if each.repeat_of is not None]
    assert [place // 20 for place in places] == [0, 1, 2]


def test_what_a_revoked_rater_left_is_made_up_for_by_the_next() -> None:
    planner = MatchupPlanner(methods=5, cases=30, repeat_share=SHARE, seed=4)
    lists = plan_one_by_one(planner, [40, 40, 40])
    lists[1] = lists[1][:7]  # the rest no longer counts
    assert spread(Counter(map(pair, fresh(lists))), 5) <= 2
    lists.append(planner.plan(40, rater=3, others=fresh(lists)))
    assert spread(Counter(map(pair, fresh(lists))), 5) <= 1


def test_a_list_that_grows_stays_balanced_and_repeats_nothing() -> None:
    planner = MatchupPlanner(methods=4, cases=30, repeat_share=SHARE, seed=4)
    first = planner.plan(40, rater=0)
    other = planner.plan(25, rater=1, others=fresh([first]))
    grown = first + planner.plan(40, rater=0, mine=first, others=fresh([other]))
    assert len(grown) == 80
    assert spread(Counter(map(pair, fresh([grown, other]))), 4) <= 1
    assert set(Counter((pair(each), each.case) for each in fresh([grown])).values()) == {1}
    assert sum(each.repeat_of is not None for each in grown) == 4


def test_the_seed_and_the_order_of_invitations_decide_and_nothing_else() -> None:
    def lists(seed: int) -> list[list[Planned]]:
        return plan_one_by_one(MatchupPlanner(methods=6, cases=20, repeat_share=SHARE, seed=seed), [30, 40])

    assert lists(1) == lists(1)
    assert lists(1) != lists(2)
    assert lists(1)[0] != lists(1)[1][:30]


def test_a_list_ends_where_the_matchups_do() -> None:
    listed = MatchupPlanner(methods=3, cases=10, repeat_share=SHARE, seed=0).plan(10**9, rater=0)
    assert len(fresh([listed])) == 30
    assert len(set(map(pair, listed))) == 3
    assert len(listed) - 30 == round(SHARE * len(listed)) == 2
    assert MatchupPlanner(methods=3, cases=10, repeat_share=SHARE, seed=0).plan(5, rater=0, mine=listed) == []


def test_no_matchup_is_planned_again_while_another_was_never_planned() -> None:
    lists = plan_one_by_one(MatchupPlanner(methods=3, cases=12, repeat_share=SHARE, seed=0), [12, 12, 12])
    matchups = Counter((pair(each), each.case) for each in fresh(lists))
    assert max(matchups.values()) == 1


def test_cases_are_shared_out_evenly_over_all_and_to_each() -> None:
    def unevenness(planned: Iterable[Planned]) -> int:
        counts = Counter(each.case for each in planned)
        return max(counts.values()) - min(counts[case] for case in range(12))

    of_each = []
    for seed in range(10):
        lists = plan_one_by_one(MatchupPlanner(methods=4, cases=12, repeat_share=SHARE, seed=seed), [7, 20, 13, 20])
        assert unevenness(fresh(lists)) <= 1
        of_each.append(max(unevenness(fresh([listed])) for listed in lists))
    assert max(of_each) <= 2  # pairs and all cases come first, so that it cannot always be 1
    assert of_each.count(1) >= 8


def test_a_coin_decides_the_side_of_a_pairs_first_showing() -> None:
    listed = MatchupPlanner(methods=7, cases=10, repeat_share=0.0, seed=0).plan(21, rater=0)
    assert len(set(map(pair, listed))) == 21
    assert 5 <= sum(each.left < each.right for each in listed) <= 16
