"""Which methods are compared on which case: seeded, and balanced over pairs, cases and raters in any order of arrival.

Greedy: the next matchup is always one of those planned least often, so the plan is balanced at any moment, and the next
list compensates for a rater who joins late or leaves early. Over the matchups of all lists, repeats left out,
every pair is planned equally often within 1, and in any beginning of one rater's list within 2, as long
as no rater has run out of cases for a pair.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, pairwise
from random import Random

import numpy as np
import numpy.typing as npt

MIN_PLACES_BETWEEN = 5


@dataclass(frozen=True, kw_only=True)
class Planned:
    """One place in a rater's list; methods and cases are numbers from 0.

    repeat_of  the place (from 0) in the same list where it was shown first, with the sides swapped
    """

    case: int
    left: int
    right: int
    repeat_of: int | None = None


@dataclass(frozen=True, kw_only=True)
class MatchupPlanner:
    """How lists are planned in one arena: numbers of methods and cases, the share of repeats, and the seed."""

    methods: int
    cases: int
    repeat_share: float
    seed: int

    def plan(
        self,
        count: int,
        *,
        rater: int,
        mine: Sequence[Planned] = (),
        practised: Iterable[Planned] = (),
        others: Iterable[Planned] = (),
    ) -> list[Planned]:
        """The next `count` places of a rater's list, or as many as there are matchups he has not had.

        mine       the rater's list so far
        practised  what the rater has seen as practice: planned for nobody by it, but not for this rater again
        others     what counts of everybody else's lists
        """
        random = Random(f"{self.seed} {rater} {len(mine)}")  # noqa: S311
        board = _Board(self.methods, self.cases, random)
        for planned in others:
            board.add(planned)
        for planned in mine:
            board.add(planned, is_mine=True)
        for planned in practised:
            board.close(planned)
        count = min(count, 2 * (len(mine) + board.left_over) + 1)  # less than half of a list are repeats
        while count - self._repeats(count, mine) > board.left_over:
            count -= 1
        listed = list(mine)
        slots = _repeat_slots(len(mine), count, self._repeats(count, mine), random)
        while len(listed) < len(mine) + count:
            repeat = _repeat(listed, random) if len(listed) in slots else None
            if repeat is None and not board.left_over:
                break
            listed.append(repeat or board.draw())
            board.add(listed[-1], is_mine=True)
        return listed[len(mine) :]

    def practice(self, count: int, *, rater: int, mine: Iterable[Planned]) -> list[Planned]:
        """Up to `count` matchups that are not in the rater's whole list, `mine`."""
        random = Random(f"{self.seed} {rater} practice")  # noqa: S311
        board = _Board(self.methods, self.cases, random)
        for planned in mine:
            board.add(planned, is_mine=True)
        drawn: list[Planned] = []
        while len(drawn) < count and board.left_over:
            drawn.append(board.draw())
            board.add(drawn[-1], is_mine=True)
        return drawn

    def _repeats(self, count: int, mine: Sequence[Planned]) -> int:
        """Repeats among the next `count` places, so that the whole list has its share after any extension."""
        due = round(self.repeat_share * (len(mine) + count)) - sum(each.repeat_of is not None for each in mine)
        return min(max(due, 0), count)


def _repeat_slots(start: int, count: int, repeats: int, random: Random) -> set[int]:
    """Places for the repeats: one random place in each of `repeats` equal stretches, so that none is predictable."""
    ends = [start + count * number // repeats for number in range(repeats + 1)] if repeats else []
    stretches = [range(max(low, MIN_PLACES_BETWEEN), high) for low, high in pairwise(ends)]
    return {stretch[int(random.random() * len(stretch))] for stretch in stretches if stretch}


def _repeat(listed: Sequence[Planned], random: Random) -> Planned | None:
    """One shown at least five places ago and not repeated yet; none where the list is too short for that."""
    repeated = {planned.repeat_of for planned in listed}
    choices = [
        place
        for place in range(len(listed) - MIN_PLACES_BETWEEN + 1)
        if listed[place].repeat_of is None and place not in repeated
    ]
    if not choices:
        return None
    place = choices[int(random.random() * len(choices))]
    first = listed[place]
    return replace(first, left=first.right, right=first.left, repeat_of=place)


class _Board:
    """How often everything is planned, without the repeats: they measure a rater, not the methods."""

    def __init__(self, methods: int, cases: int, random: Random) -> None:
        self._pairs = list(combinations(range(methods), 2))
        self._number = {pair: number for number, pair in enumerate(self._pairs)}
        self._random = random
        pairs = len(self._pairs)
        self._by_pair = np.zeros((pairs, 1), dtype=np.int64)
        self._by_matchup = np.zeros((pairs, cases), dtype=np.int64)
        self._by_case = np.zeros((1, cases), dtype=np.int64)
        self._mine_by_case = np.zeros((1, cases), dtype=np.int64)
        self._is_open = np.ones((pairs, cases), dtype=bool)  # the rater has not had it
        self._lower_left = np.zeros(pairs, dtype=np.int64)  # how often the pair's first method stood left, less right

    @property
    def left_over(self) -> int:
        return int(self._is_open.sum())

    def add(self, planned: Planned, *, is_mine: bool = False) -> None:
        if planned.repeat_of is not None:
            return
        pair, low = self._pair(planned)
        self._by_pair[pair] += 1
        self._by_matchup[pair, planned.case] += 1
        self._by_case[0, planned.case] += 1
        self._lower_left[pair] += 1 if planned.left == low else -1
        if is_mine:
            self._mine_by_case[0, planned.case] += 1
            self.close(planned)

    def close(self, planned: Planned) -> None:
        """The rater has had it."""
        self._is_open[self._pair(planned)[0], planned.case] = False

    def _pair(self, planned: Planned) -> tuple[int, int]:
        """The number of the pair, and its first method."""
        low, high = sorted((planned.left, planned.right))
        return self._number[low, high], low

    def draw(self) -> Planned:
        """One of the open matchups that were planned least: by pair, then with its case, by case, for this rater."""
        best = self._is_open
        for planned in (self._by_pair, self._by_matchup, self._by_case, self._mine_by_case):
            best = _least(planned, best)
        choices = np.flatnonzero(best)
        pair, case = divmod(int(choices[int(self._random.random() * len(choices))]), best.shape[1])
        low, high = self._pairs[pair]
        excess = self._lower_left[pair]
        is_lower_left = excess < 0 or (excess == 0 and self._random.random() < 0.5)
        left, right = (low, high) if is_lower_left else (high, low)
        return Planned(case=case, left=left, right=right)


def _least(planned: npt.NDArray[np.int64], among: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    counts = np.broadcast_to(planned, among.shape)
    least: npt.NDArray[np.bool_] = among & (counts == counts[among].min())
    return least
