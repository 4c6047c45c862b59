"""When to stop: enough votes, ratings that have settled, and either a clear order or a spent budget."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise

from podium.arena.ratings.ballots import Ballot
from podium.arena.ratings.elo import online_elo
from podium.arena.ratings.intervals import Interval
from podium.arena.ratings.pair_counts import count_pairs, counted
from podium.arena.ratings.standing import Standing
from podium.arena.settings import ArenaSettings


@dataclass(frozen=True, kw_only=True)
class Condition:
    """`reached` is compared with `needed`; None where there is nothing to compare yet."""

    name: str
    met: bool
    sentence: str
    reached: float | None
    needed: float


@dataclass(frozen=True, kw_only=True)
class StopRule:
    """All of `required` must be met, and one of `either`."""

    required: tuple[Condition, ...]
    either: tuple[Condition, ...]

    @property
    def conditions(self) -> tuple[Condition, ...]:
        return self.required + self.either

    @property
    def holds(self) -> bool:
        return all(condition.met for condition in self.required) and any(condition.met for condition in self.either)

    @property
    def missing(self) -> tuple[str, ...]:
        """What is still to come, in sentences; empty where the rule holds."""
        missing = [condition.sentence for condition in self.required if not condition.met]
        if not any(condition.met for condition in self.either):
            missing.append(" ".join(condition.sentence for condition in self.either))
        return tuple(missing)


def stop_rule(ballots: Iterable[Ballot], reached: Standing, settings: ArenaSettings) -> StopRule:
    """`reached`: the standing of the same ballots."""
    methods = [team.name for team in reached.teams]
    fitted = {team.name: team.bradley_terry for team in reached.teams}
    intervals = {team.name: team.interval for team in reached.teams}
    votes = counted(ballots)
    return StopRule(
        required=tuple(vote_conditions(votes, methods, settings)),
        either=(intervals_separate(fitted, intervals), _budget_spent(len(votes), settings)),
    )


def vote_conditions(ballots: Iterable[Ballot], methods: Sequence[str], settings: ArenaSettings) -> Iterator[Condition]:
    """Those that need no interval."""
    votes = counted(ballots)
    yield _votes_per_pair(votes, methods, settings.min_votes_per_pair)
    yield Condition(
        name="enough votes",
        met=len(votes) >= settings.min_votes,
        sentence=f"Cast: {len(votes)} of at least {_votes(settings.min_votes)}.",
        reached=len(votes),
        needed=settings.min_votes,
    )
    yield _settled(votes, methods, settings)


def intervals_separate(fitted: Mapping[str, float], intervals: Mapping[str, Interval | None]) -> Condition:
    """No two neighbours in the order of the Bradley-Terry ratings overlap."""
    order = sorted(fitted, key=lambda name: (-fitted[name], name))
    neighbours = list(pairwise(order))
    overlapping = [
        f"{one} and {other}"
        for one, other in neighbours
        if (upper := intervals[one]) is None or (lower := intervals[other]) is None or not upper.lies_above(lower)
    ]
    separate = len(neighbours) - len(overlapping)
    sentence = (
        f"The intervals of {len(overlapping)} of {len(neighbours)} neighbours overlap or are not known yet: "
        f"{', '.join(overlapping)}."
        if overlapping
        else "The intervals of all neighbours are apart."
    )
    return Condition(
        name="intervals apart", met=not overlapping, sentence=sentence, reached=separate, needed=len(neighbours)
    )


def _budget_spent(votes: int, settings: ArenaSettings) -> Condition:
    return Condition(
        name="budget spent",
        met=votes >= settings.vote_budget,
        sentence=f"Cast: {votes} of the budget of {_votes(settings.vote_budget)}.",
        reached=votes,
        needed=settings.vote_budget,
    )


def _votes_per_pair(votes: Sequence[Ballot], methods: Sequence[str], needed: int) -> Condition:
    counts = count_pairs(votes, methods).votes
    pairs = {(one, other): int(counts[one, other]) for one, other in combinations(range(len(methods)), 2)}
    short = [pair for pair, count in pairs.items() if count < needed]
    fewest = min(pairs, key=lambda pair: pairs[pair], default=None)
    if fewest is None:
        sentence = "There is no pair to compare."
    elif short:
        one, other = (methods[index] for index in fewest)
        sentence = (
            f"{len(short)} of {len(pairs)} pairs {'has' if len(short) == 1 else 'have'} fewer than {_votes(needed)}; "
            f"the fewest, {one} against {other}, has {pairs[fewest]}."
        )
    else:
        sentence = f"Every pair has at least {_votes(needed)}; the fewest is {pairs[fewest]}."
    return Condition(
        name="votes per pair",
        met=not short,
        sentence=sentence,
        reached=None if fewest is None else pairs[fewest],
        needed=needed,
    )


def _settled(votes: Sequence[Ballot], methods: Sequence[str], settings: ArenaSettings) -> Condition:
    """The largest change of an online Elo rating over the last `window` votes."""
    name, window, needed = "ratings settled", settings.window, settings.epsilon_points
    if len(votes) < window or not methods:
        sentence = f"The change of Elo is not known before {_votes(window)} are cast."
        return Condition(name=name, met=False, sentence=sentence, reached=None, needed=needed)
    now = online_elo(votes, methods, k_factor=settings.k_factor)
    before = online_elo(votes[:-window], methods, k_factor=settings.k_factor)
    team = max(methods, key=lambda method: abs(now[method] - before[method]))
    change = abs(now[team] - before[team])
    sentence = (
        f"The largest change of Elo over the last {window} votes is {change:.1f} points, of {team}; "
        f"less than {needed:g} is required."
    )
    return Condition(name=name, met=change < needed, sentence=sentence, reached=change, needed=needed)


def _votes(count: int) -> str:
    return f"{count} vote{'' if count == 1 else 's'}"
