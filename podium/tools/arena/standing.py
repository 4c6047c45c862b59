"""The standing of the teams: ratings with intervals, ranks and groups, the stop rule, and arena.json."""

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Literal, NamedTuple, TypeAlias

from podium import __version__
from podium.errors import listed
from podium.tools.arena.agreement import ArenaAgreement, arena_agreement
from podium.tools.arena.ratings import (
    BradleyTerry,
    RatingIntervals,
    averaged_elo,
    bradley_terry,
    count_pairs,
    counted,
    online_elo,
    rating_intervals,
)
from podium.tools.arena.settings import ArenaSettings
from podium.tools.arena.store import Ballot
from podium.tools.ranking.wording import Interval

RatingName: TypeAlias = Literal["elo-averaged", "elo", "bradley-terry"]
TITLES: dict[RatingName, str] = {"elo-averaged": "averaged Elo", "elo": "Elo", "bradley-terry": "Bradley-Terry"}
_FEW_CASES = 10
_SAME = 1e-6  # points: closer ratings are equal


@dataclass(frozen=True, kw_only=True)
class TeamStanding:
    """The ratings and the place of one team."""

    name: str
    rank: int  # 1 + the number of teams of a better score; under `tied_groups`, of a better group
    group: int  # 1 for the first group, 2 for the next: every team of a group is separated from every one of the next
    elo: float
    elo_averaged: float
    bradley_terry: float
    interval: Interval | None  # of the Bradley-Terry rating; None where the votes cannot tell
    votes: int
    wins: int
    losses: int
    ties: int

    def rating(self, by: RatingName) -> float:
        return {"elo": self.elo, "elo-averaged": self.elo_averaged, "bradley-terry": self.bradley_terry}[by]


@dataclass(frozen=True, kw_only=True)
class Standing:
    """The order of all teams, and what it rests on."""

    decided_by: RatingName
    tied_groups: bool  # whether the teams of a group share its rank
    ratings: Mapping[str, float]  # the score of every team: its rating by `decided_by` to one decimal, larger is better
    teams: tuple[TeamStanding, ...]  # best first by score; equal ones in the order of the names
    pair_votes: tuple[tuple[int, ...], ...]  # [row][column] in the order of `teams`: votes on this pair
    pair_wins: tuple[tuple[int, ...], ...]  # [row][column]: votes in which row was preferred to column
    pair_separated: tuple[tuple[bool, ...], ...]  # [row][column]: row is above column by more than chance
    disagreements: tuple[str, ...]  # sentences: which ratings order which two teams differently
    notes: tuple[str, ...]  # sentences on what the figures are based on
    votes: int  # that count; repeats do not, and are counted separately
    repeats: int
    raters: int
    cases: int

    @property
    def groups(self) -> tuple[tuple[str, ...], ...]:
        """The groups, best first."""
        last = self.teams[-1].group if self.teams else 0
        return tuple(tuple(team.name for team in self.teams if team.group == group) for group in range(1, last + 1))


def standing(
    ballots: Sequence[Ballot],
    methods: Sequence[str],
    settings: ArenaSettings,
    *,
    by: RatingName = "elo-averaged",
    tied_groups: bool = False,
) -> Standing:
    votes = counted(ballots)
    fit = bradley_terry(votes, methods)
    intervals = rating_intervals(
        votes, methods, replicates=settings.bootstraps, confidence=settings.confidence, seed=settings.seed
    )
    ratings: dict[RatingName, dict[str, float]] = {
        "elo-averaged": averaged_elo(
            votes, methods, k_factor=settings.k_factor, permutations=settings.permutations, seed=settings.seed
        ),
        "elo": online_elo(votes, methods, k_factor=settings.k_factor),
        "bradley-terry": fit.ratings,
    }
    scores = {name: round(ratings[by][name], 1) for name in methods}
    order = sorted(methods, key=lambda name: (-scores[name], name))
    counts = count_pairs(votes, order)
    groups = number_groups(order, intervals.separated)
    better = {name: -groups[name] for name in order} if tied_groups else scores
    teams = tuple(
        TeamStanding(
            name=name,
            rank=1 + sum(better[other] > better[name] for other in order),
            group=groups[name],
            elo=ratings["elo"][name],
            elo_averaged=ratings["elo-averaged"][name],
            bradley_terry=ratings["bradley-terry"][name],
            interval=intervals.by_team[name],
            votes=int(counts.votes[row].sum()),
            wins=int(counts.wins[row].sum()),
            losses=int(counts.wins[:, row].sum()),
            ties=int(counts.ties[row].sum()),
        )
        for row, name in enumerate(order)
    )
    return Standing(
        decided_by=by,
        tied_groups=tied_groups,
        ratings={name: scores[name] for name in order},
        teams=teams,
        pair_votes=tuple(map(tuple, counts.votes.tolist())),
        pair_wins=tuple(map(tuple, counts.wins.tolist())),
        pair_separated=tuple(tuple((one, other) in intervals.separated for other in order) for one in order),
        disagreements=tuple(_disagreements(teams)),
        notes=tuple(_notes(teams, fit, intervals)),
        votes=len(votes),
        repeats=sum(ballot.repeat for ballot in ballots),
        raters=len({ballot.rater for ballot in ballots}),
        cases=len({vote.case for vote in votes}),
    )


class RatingPoint(NamedTuple):
    """The Bradley-Terry ratings after a number of votes, and the largest change since the previous point."""

    votes: int
    ratings: dict[str, float]
    change: float | None


def rating_course(ballots: Sequence[Ballot], methods: Sequence[str]) -> list[RatingPoint]:
    """How the ratings converge: after each tenth of the votes."""
    votes = counted(ballots)
    course: list[RatingPoint] = []
    for end in sorted({len(votes) * tenth // 10 for tenth in range(1, 11)} - {0}):
        ratings = bradley_terry(votes[:end], methods).ratings
        changes = (abs(ratings[name] - course[-1].ratings[name]) for name in methods) if course else ()
        course.append(RatingPoint(end, ratings, max(changes, default=None)))
    return course


def number_groups(order: Sequence[str], separated: Container[tuple[str, str]]) -> dict[str, int]:
    """The number of every team's group. A group ends where every team so far is separated from every team that follows,
    so its teams overlap directly or through others."""
    groups, group = {}, 1
    for place, name in enumerate(order):
        if place and all((one, other) in separated for one in order[:place] for other in order[place:]):
            group += 1
        groups[name] = group
    return groups


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


def _notes(teams: Sequence[TeamStanding], fit: BradleyTerry, intervals: RatingIntervals) -> Iterator[str]:
    if not intervals.cases:
        yield "There is no vote yet: every rating has its initial value."
        return
    added = "half a virtual draw was added to every pair"
    if fit.why_virtual_draw:
        yield f"The plain Bradley-Terry fit does not exist ({fit.why_virtual_draw}): {added}."
    extreme = [team.name for team in teams if team.votes and team.votes in (team.wins, team.losses)]
    if extreme and intervals.cases > 1:
        yield f"{listed(extreme)} won or lost every vote: the true difference is unknown, and the interval too narrow."
    if intervals.cases < 2:
        yield "All votes are on one case: there are no intervals, since these resample cases."
    elif intervals.cases < _FEW_CASES:
        yield f"Only {intervals.cases} cases have votes: intervals over few cases are rough."
    if intervals.cases > 1 and intervals.raters == 1:
        yield "All votes are by one rater: the intervals say nothing about what other raters would prefer."
    unknown = [team.name for team in teams if not team.votes]
    if unknown:
        yield f"Without a vote, and so separated from nobody: {listed(unknown)}."


# When to stop: a minimum number of votes, and settled ratings. Whether the order is clear is shown beside it.


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
    """All of `required` must be met; `missing` says in sentences what is not met yet."""

    holds: bool
    required: tuple[Condition, ...]
    optional: tuple[Condition, ...]
    missing: tuple[str, ...]


def stop_rule(ballots: Iterable[Ballot], reached: Standing, settings: ArenaSettings) -> StopRule:
    """`reached`: the standing of the same ballots."""
    required = tuple(vote_conditions(ballots, [team.name for team in reached.teams], settings))
    missing = tuple(condition.sentence for condition in required if not condition.met)
    return StopRule(holds=not missing, required=required, optional=(neighbours_separated(reached),), missing=missing)


def vote_conditions(ballots: Iterable[Ballot], methods: Sequence[str], settings: ArenaSettings) -> Iterator[Condition]:
    """Those that are required."""
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


def neighbours_separated(reached: Standing) -> Condition:
    """No two neighbours in the order of the teams could be in the other order by chance."""
    neighbours = [(f"{one.name} and {other.name}", place) for place, (one, other) in enumerate(pairwise(reached.teams))]
    unclear = [pair for pair, place in neighbours if not reached.pair_separated[place][place + 1]]
    return Condition(
        name="neighbours separated",
        met=not unclear,
        sentence=f"Not separated: {', '.join(unclear)}." if unclear else "The votes separate all neighbours.",
        reached=len(neighbours) - len(unclear),
        needed=len(neighbours),
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


# arena.json: the ratings that decide, which `podium rank --arena` reads, and everything that supports them.
#
# Raters are counted, not named: the file may be published.


@dataclass(frozen=True, kw_only=True)
class ArenaResult(Standing):
    """The standing, and what goes with it."""

    schema: Literal["podium-arena-1"] = "podium-arena-1"
    podium_version: str
    settings: Mapping[str, int | float | tuple[str, ...]]
    unjudged: int  # votes "cannot judge", which no rating counts
    closed: bool  # no vote can follow; otherwise the result is provisional
    stop_rule: StopRule
    agreement: ArenaAgreement  # of the raters, who are counted and not named


def arena_result(  # noqa: PLR0913  (votes, rules, and what goes with them)
    ballots: Sequence[Ballot],
    methods: Sequence[str],
    settings: ArenaSettings,
    *,
    notes: Sequence[str],
    by: RatingName,
    tied_groups: bool = False,
    closed: bool = False,
) -> ArenaResult:
    """What the standing votes say; `notes` are those of `init`. Depends on nothing else, not even on the time."""
    reached = standing(ballots, methods, settings, by=by, tied_groups=tied_groups)
    rule = stop_rule(ballots, reached, settings)
    warning = [] if rule.holds else [f"The stop rule does not hold yet: {' '.join(rule.missing)}"]
    notes = (*warning, *reached.notes, *notes)
    return ArenaResult(
        **{**vars(reached), "notes": notes},
        podium_version=__version__,
        settings=settings.model_dump(exclude={"url", "instructions", "window_presets"}),
        unjudged=sum(not ballot.is_judged for ballot in ballots),
        closed=closed,
        agreement=arena_agreement(ballots, methods),
        stop_rule=rule,
    )
