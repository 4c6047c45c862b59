"""The standing of the teams: all three ratings, intervals, ranks and tied groups, and where the ratings disagree."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal, TypeAlias

from podium.arena.ratings.ballots import Ballot
from podium.arena.ratings.bradley_terry import BradleyTerry, bradley_terry
from podium.arena.ratings.elo import averaged_elo, online_elo
from podium.arena.ratings.intervals import Interval, Intervals, bootstrap_intervals
from podium.arena.ratings.pair_counts import count_pairs, counted
from podium.arena.settings import ArenaSettings
from podium.arena.wording import listed

RatingName: TypeAlias = Literal["elo-averaged", "elo", "bradley-terry"]
TITLES: dict[RatingName, str] = {"elo-averaged": "averaged Elo", "elo": "Elo", "bradley-terry": "Bradley-Terry"}
_FEW_CASES = 10
_SAME = 1e-6  # points: closer ratings are equal


@dataclass(frozen=True, kw_only=True)
class TeamStanding:
    """rank      1 + the number of teams whose interval lies above this one's
    group     1 for the first tied group, 2 for the next: every interval of a group lies above every one of the next
    interval  of the Bradley-Terry rating; None where the votes cannot tell
    """

    name: str
    rank: int
    group: int
    elo: float
    elo_averaged: float
    bradley_terry: float
    interval: Interval | None
    votes: int
    wins: int
    losses: int
    ties: int

    def rating(self, by: RatingName) -> float:
        return {"elo": self.elo, "elo-averaged": self.elo_averaged, "bradley-terry": self.bradley_terry}[by]


@dataclass(frozen=True, kw_only=True)
class Standing:
    """teams          best first by `decided_by`; equal ratings in the order of the names
    pair_votes     [row][column] in the order of `teams`: votes on this pair
    pair_wins      [row][column]: votes in which row was preferred to column
    disagreements  sentences: which ratings order which two teams differently
    notes          sentences on what the figures rest on
    votes          that count; repeats do not, and are counted apart
    """

    decided_by: RatingName
    teams: tuple[TeamStanding, ...]
    pair_votes: tuple[tuple[int, ...], ...]
    pair_wins: tuple[tuple[int, ...], ...]
    disagreements: tuple[str, ...]
    notes: tuple[str, ...]
    votes: int
    repeats: int
    raters: int
    cases: int

    @property
    def ratings(self) -> dict[str, float]:
        """The ratings that decide."""
        return {team.name: team.rating(self.decided_by) for team in self.teams}

    @property
    def groups(self) -> tuple[tuple[str, ...], ...]:
        """The tied groups, best first."""
        last = self.teams[-1].group if self.teams else 0
        return tuple(tuple(team.name for team in self.teams if team.group == group) for group in range(1, last + 1))


def standing(
    ballots: Sequence[Ballot], methods: Sequence[str], settings: ArenaSettings, *, by: RatingName = "elo-averaged"
) -> Standing:
    votes = counted(ballots)
    fit = bradley_terry(votes, methods)
    intervals = bootstrap_intervals(
        votes, methods, replicates=settings.bootstraps, confidence=settings.confidence, seed=settings.seed
    )
    ratings: dict[RatingName, dict[str, float]] = {
        "elo-averaged": averaged_elo(
            votes, methods, k_factor=settings.k_factor, permutations=settings.permutations, seed=settings.seed
        ),
        "elo": online_elo(votes, methods, k_factor=settings.k_factor),
        "bradley-terry": fit.ratings,
    }
    order = sorted(methods, key=lambda name: (-round(ratings[by][name] / _SAME), name))
    counts = count_pairs(votes, order)
    groups = tied_groups(order, intervals.of)
    teams = tuple(
        TeamStanding(
            name=name,
            rank=rank_of(name, intervals.of),
            group=groups[name],
            elo=ratings["elo"][name],
            elo_averaged=ratings["elo-averaged"][name],
            bradley_terry=ratings["bradley-terry"][name],
            interval=intervals.of[name],
            votes=int(counts.votes[row].sum()),
            wins=int(counts.wins[row].sum()),
            losses=int(counts.wins[:, row].sum()),
            ties=int(counts.ties[row].sum()),
        )
        for row, name in enumerate(order)
    )
    return Standing(
        decided_by=by,
        teams=teams,
        pair_votes=tuple(map(tuple, counts.votes.tolist())),
        pair_wins=tuple(map(tuple, counts.wins.tolist())),
        disagreements=tuple(_disagreements(teams)),
        notes=tuple(_notes(teams, fit, intervals)),
        votes=len(votes),
        repeats=sum(ballot.repeat for ballot in ballots),
        raters=len({ballot.rater for ballot in ballots}),
        cases=len({vote.case for vote in votes}),
    )


def rank_of(name: str, intervals: Mapping[str, Interval | None]) -> int:
    """An interval that is not known lies above none and below none."""
    mine = intervals[name]
    return 1 + sum(mine is not None and other is not None and other.lies_above(mine) for other in intervals.values())


def tied_groups(order: Sequence[str], intervals: Mapping[str, Interval | None]) -> dict[str, int]:
    """A group ends where every team so far lies above every team to come: in the order given, the runs of teams that
    overlap one with another, be it by way of a third."""
    groups, group = {}, 1
    for place, name in enumerate(order):
        if place and all(_above(intervals[one], intervals[other]) for one in order[:place] for other in order[place:]):
            group += 1
        groups[name] = group
    return groups


def _above(one: Interval | None, other: Interval | None) -> bool:
    return one is not None and other is not None and one.lies_above(other)


def _disagreements(teams: Iterable[TeamStanding]) -> Iterator[str]:
    for one, other in combinations(teams, 2):
        margins = {by: one.rating(by) - other.rating(by) for by in TITLES}
        first = [by for by, margin in margins.items() if margin > _SAME]
        second = [by for by, margin in margins.items() if margin < -_SAME]
        if first and second:
            sentence = f"{_puts(first, one, other)}, but {_puts(second, other, one)}."
            yield sentence[0].upper() + sentence[1:]


def _puts(ratings: Sequence[RatingName], first: TeamStanding, second: TeamStanding) -> str:
    shown = [f"{TITLES[by]} ({first.rating(by):.1f}, {second.rating(by):.1f})" for by in ratings]
    return f"{listed(shown)} {'put' if len(shown) > 1 else 'puts'} {first.name} before {second.name}"


def _notes(teams: Sequence[TeamStanding], fit: BradleyTerry, intervals: Intervals) -> Iterator[str]:
    if not intervals.cases:
        yield "There is no vote yet: every rating has its initial value."
        return
    added = "half a virtual draw was added to every pair"
    if fit.why_virtual_draw:
        yield f"The plain Bradley-Terry fit does not exist ({fit.why_virtual_draw}): {added}."
    extreme = [team.name for team in teams if team.votes and team.votes in (team.wins, team.losses)]
    if extreme and intervals.replicates:
        yield f"{listed(extreme)} won or lost every vote: the true difference is unknown, and the interval too narrow."
    if intervals.cases < 2:
        yield "All votes are on one case: there are no intervals, since these are drawn over cases."
    elif intervals.cases < _FEW_CASES:
        yield f"Only {intervals.cases} cases have votes: intervals over few cases are rough."
    unknown = [team.name for team in teams if not team.votes]
    if unknown:
        yield f"Without a vote, and so tied with everybody: {listed(unknown)}."
    if intervals.virtual_draws and not fit.why_virtual_draw:
        share = f"{intervals.virtual_draws} of {intervals.replicates}"
        yield f"In {share} bootstrap replicates the plain fit does not exist: there, {added}."
