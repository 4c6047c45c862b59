"""How far the raters agree: with each other, with themselves on repeats, and with a fair coin on left and right.

`rater_figures` are of every rater, for the organiser, who decides: no rater is excluded because of them. All votes of a
rater count there, repeats included; only agreement with others leaves the repeats out. `arena_agreement` is of all
raters, without their names, for arena.json.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise, permutations, product
from statistics import median
from typing import TypeAlias, TypeVar

from podium.metrics import Floats
from podium.tools.arena.ratings import PairCounts, bradley_terry, count_pairs, counted, fit_counts
from podium.tools.arena.store import Ballot

_STRIKING_P = 0.01
_ENOUGH_VOTES = 10
_QUICK_SECONDS = 5.0
_MIRRORED = {"first": "second", "second": "first", "tie": "tie"}

FloatsT = TypeVar("FloatsT", float, Floats)
SeenMatchup: TypeAlias = tuple[str, str, str]  # case, and the two methods in the order of their names


@dataclass(frozen=True, kw_only=True)
class Proportion:
    """`count` of `total`."""

    count: int
    total: int

    def __str__(self) -> str:
        return f"{self.count} of {self.total}"


@dataclass(frozen=True, kw_only=True)
class RaterFigures:
    """How one rater voted; `repeats` of the `votes` were repeats."""

    rater: str
    votes: int
    repeats: int
    unjudged: int  # of the votes: "cannot judge"; every other figure leaves these out
    ties: Proportion  # of the votes, both good and both bad
    left: Proportion  # of the decided votes
    consistent: Proportion  # repeats answered with the same method, or tie, as the first time
    agreeing: Proportion  # matchups that others judged too: answers like theirs, each other rater counted by itself
    kappa: float | None  # Cohen's kappa with each other rater, mean weighted by shared matchups; None where undefined
    with_order: Proportion  # decided votes for the method that is higher in the Bradley-Terry order of all other raters
    median_seconds: float | None  # between a vote and the next; None below two votes
    remarks: tuple[str, ...]  # conspicuous patterns, as phrases


@dataclass(frozen=True, kw_only=True)
class Agreement:
    """Of two raters on the matchups that both judged."""

    raters: tuple[str, str]
    shared: int
    agreeing: int
    kappa: float | None


def rater_figures(ballots: Sequence[Ballot], methods: Sequence[str]) -> tuple[RaterFigures, ...]:
    """Figures of everyone who voted, ordered by name."""
    agreements, counts = rater_agreements(ballots), count_pairs(ballots, methods)
    return tuple(
        _figures(rater, mine, counts, [pair for pair in agreements if rater in pair.raters])
        for rater, mine in sorted(_by_rater(ballots).items())
    )


def rater_agreements(ballots: Sequence[Ballot]) -> tuple[Agreement, ...]:
    """Of every two raters who share a matchup."""
    shared: defaultdict[tuple[str, str], list[tuple[str, str]]] = defaultdict(list)
    for by_rater in first_answers(ballots).values():
        for (one, mine), (other, theirs) in combinations(sorted(by_rater.items()), 2):
            shared[one, other].append((mine, theirs))
    found = []
    for raters, answers in sorted(shared.items()):
        agreeing = sum(mine == theirs for mine, theirs in answers)
        ties, their_ties = (column.count("") / len(answers) for column in zip(*answers, strict=True))
        defined = None if ties == their_ties == 1 else kappa(agreeing / len(answers), ties, their_ties)
        found.append(Agreement(raters=raters, shared=len(answers), agreeing=agreeing, kappa=defined))
    return tuple(found)


def _figures(rater: str, mine: Sequence[Ballot], counts: PairCounts, agreements: Sequence[Agreement]) -> RaterFigures:
    judged = [ballot for ballot in mine if ballot.is_judged]
    ties, left = _ties_and_left(judged)
    pauses = [later.cast_at - earlier.cast_at for earlier, later in pairwise(mine)]
    with_kappa = [(pair.kappa, pair.shared) for pair in agreements if pair.kappa is not None]
    figures = {
        "ties": ties,
        "left": left,
        "consistent": repeat_consistency(judged),
        "with_order": _with_order_of_others(mine, counts - count_pairs(mine, counts.methods)),
    }
    seconds = median(pauses) if pauses else None
    return RaterFigures(
        rater=rater,
        votes=len(mine),
        repeats=sum(ballot.repeat for ballot in mine),
        unjudged=len(mine) - len(judged),
        **figures,
        agreeing=Proportion(
            count=sum(pair.agreeing for pair in agreements), total=sum(pair.shared for pair in agreements)
        ),
        kappa=sum(kappa * shared for kappa, shared in with_kappa) / sum(shared for _, shared in with_kappa)
        if with_kappa
        else None,
        median_seconds=seconds,
        remarks=tuple(_remarks(**figures, seconds=seconds)),
    )


def coin_p(share: Proportion) -> float:
    """Two-sided exact binomial test of `share` against one half; 1 where there is nothing to test."""
    rarer = min(share.count, share.total - share.count)
    tail = ways = 1  # C(total, heads), from heads = 0 on: each from the one before, since thousands of votes are common
    for heads in range(1, rarer + 1):
        ways = ways * (share.total - heads + 1) // heads
        tail += ways
    return min(1.0, 2 * tail / (1 << share.total))


def seen_matchup(ballot: Ballot) -> SeenMatchup:
    return ballot.case, min(ballot.left, ballot.right), max(ballot.left, ballot.right)


def preferred(ballot: Ballot) -> str:
    """The method that was chosen, "" for a tie."""
    return {"left": ballot.left, "right": ballot.right}.get(ballot.answer, "")


def first_answers(ballots: Iterable[Ballot]) -> Mapping[SeenMatchup, Mapping[str, str]]:
    """What each rater of a matchup preferred when it was first shown."""
    found: defaultdict[SeenMatchup, dict[str, str]] = defaultdict(dict)
    for ballot in counted(ballots):
        found[seen_matchup(ballot)].setdefault(ballot.rater, preferred(ballot))
    return found


def kappa(agreed: FloatsT, ties: FloatsT, their_ties: FloatsT) -> FloatsT:
    """Cohen's kappa of the answers "this one", "the other one", "tie", with every matchup seen from both of its sides.

    So the names of the methods do not decide which is "this one", and each side is chosen in half of the decided votes:
    chance agrees with t t' + (1 - t) (1 - t') / 2 for shares t, t' of ties. Undefined where that is 1: only ties.
    """
    by_chance = ties * their_ties + (1 - ties) * (1 - their_ties) / 2
    return (agreed - by_chance) / (1 - by_chance)


def repeat_consistency(mine: Sequence[Ballot]) -> Proportion:
    """Of one rater: repeats answered with the same method, or tie, as the first time."""
    first = {seen_matchup(ballot): preferred(ballot) for ballot in mine if not ballot.repeat}
    pairs = [
        (first[seen_matchup(again)], preferred(again))
        for again in mine
        if again.repeat and seen_matchup(again) in first
    ]
    return Proportion(count=sum(one == other for one, other in pairs), total=len(pairs))


def _with_order_of_others(mine: Sequence[Ballot], others: PairCounts) -> Proportion:
    """Leaves out votes on two methods that the others rate alike or have not both seen."""
    seen = {method for method, votes in zip(others.methods, others.votes.sum(axis=1), strict=True) if votes}
    if not seen:
        return Proportion(count=0, total=0)
    ratings = fit_counts(others).ratings
    margins = [
        (ratings[ballot.left] - ratings[ballot.right]) * (1 if ballot.answer == "left" else -1)
        for ballot in counted(mine)
        if not ballot.is_tie and {ballot.left, ballot.right} <= seen
    ]
    clear = [margin for margin in margins if abs(margin) > 1e-6]
    return Proportion(count=sum(margin > 0 for margin in clear), total=len(clear))


def _remarks(
    *, ties: Proportion, left: Proportion, consistent: Proportion, with_order: Proportion, seconds: float | None
) -> Iterator[str]:
    if ties.total >= _ENOUGH_VOTES and 2 * ties.count > ties.total:
        yield f"chose tie every time ({ties})" if ties.count == ties.total else f"chose tie in {ties} votes"
    if coin_p(left) < _STRIKING_P:
        side, count = max(("left", left.count), ("right", left.total - left.count), key=lambda one: one[1])
        share = Proportion(count=count, total=left.total)
        if count == left.total:
            yield f"always chose the {side} report ({share})"
        else:
            yield f"chose the {side} report in {share} decided votes (p = {coin_p(left):.2g})"
    changed = Proportion(count=consistent.total - consistent.count, total=consistent.total)
    if changed.count >= 2 and 2 * changed.count >= changed.total:
        yield f"answered {changed} repeats differently"
    if 2 * with_order.count < with_order.total and coin_p(with_order) < _STRIKING_P:
        yield f"voted with the order of the others in only {with_order} decided votes"
    if ties.total >= _ENOUGH_VOTES and seconds is not None and seconds < _QUICK_SECONDS:
        yield f"took {seconds:.1f} seconds per vote at the median"


# All raters together.


@dataclass(frozen=True, kw_only=True)
class OneRater:
    """A rater without a name. `ratings` are Bradley-Terry's of these votes alone; without votes that count, none."""

    votes: int
    unjudged: int
    ties: Proportion
    chose_left: Proportion
    same_on_repeats: Proportion
    ratings: Mapping[str, float]


@dataclass(frozen=True, kw_only=True)
class ArenaAgreement:
    """How far all raters agree."""

    krippendorff_alpha: float | None  # over raters, nominal; None where nothing can disagree
    shared_matchups: int  # judged by two raters or more, which is all that alpha sees
    same_on_repeats: Proportion
    chose_left: Proportion
    chose_left_p: float  # two-sided exact binomial test against a fair coin
    raters: tuple[OneRater, ...]  # in the order of their first vote


def arena_agreement(ballots: Sequence[Ballot], methods: Sequence[str]) -> ArenaAgreement:
    raters = tuple(_one(mine, methods) for mine in _by_rater(ballots).values())
    units = [
        [{first: "first", second: "second", "": "tie"}[answer] for answer in by_rater.values()]
        for (_, first, second), by_rater in first_answers(ballots).items()
        if len(by_rater) > 1
    ]
    left = _sum(one.chose_left for one in raters)
    return ArenaAgreement(
        krippendorff_alpha=nominal_alpha(units, _MIRRORED),
        shared_matchups=len(units),
        same_on_repeats=_sum(one.same_on_repeats for one in raters),
        chose_left=left,
        chose_left_p=coin_p(left),
        raters=raters,
    )


def nominal_alpha(units: Iterable[Sequence[str]], mirrored: Mapping[str, str]) -> float | None:
    """Krippendorff's alpha for nominal data: 1 - (n - 1) sum_{c != k} o_ck / sum_{c != k} n_c n_k.

    Each unit holds the values that its raters gave; o_ck counts pairs of values within a unit, each weighted by
    1 / (values in the unit - 1). `mirrored` names each value's counterpart where naming the two sides is arbitrary: the
    coincidences are averaged over both namings, so that alpha does not depend on it.
    Source: K. Krippendorff, Computing Krippendorff's alpha-reliability, 2011. None where all values are the same.
    """
    coincidences: defaultdict[tuple[str, str], float] = defaultdict(float)
    for values in units:
        times = Counter(values)
        for one, other in product(times, repeat=2):
            weight = times[one] * (times[other] - (one == other)) / (len(values) - 1)
            coincidences[one, other] += weight / 2
            coincidences[mirrored.get(one, one), mirrored.get(other, other)] += weight / 2
    totals: defaultdict[str, float] = defaultdict(float)
    for (one, _), weight in coincidences.items():
        totals[one] += weight
    count = sum(totals.values())
    observed = sum(weight for (one, other), weight in coincidences.items() if one != other)
    expected = sum(totals[one] * totals[other] for one, other in permutations(totals, 2))
    return None if not expected else 1 - (count - 1) * observed / expected


def _one(mine: Sequence[Ballot], methods: Sequence[str]) -> OneRater:
    judged = [ballot for ballot in mine if ballot.is_judged]
    ties, left = _ties_and_left(judged)
    return OneRater(
        votes=len(mine),
        unjudged=len(mine) - len(judged),
        ties=ties,
        chose_left=left,
        same_on_repeats=repeat_consistency(judged),
        ratings=bradley_terry(mine, methods).ratings if counted(mine) else {},
    )


def _by_rater(ballots: Iterable[Ballot]) -> dict[str, list[Ballot]]:
    found: defaultdict[str, list[Ballot]] = defaultdict(list)
    for ballot in ballots:
        found[ballot.rater].append(ballot)
    return found


def _ties_and_left(judged: Sequence[Ballot]) -> tuple[Proportion, Proportion]:
    """The ties among the votes, and the decided votes for the left report."""
    decided = [ballot for ballot in judged if not ballot.is_tie]
    left = sum(ballot.answer == "left" for ballot in decided)
    return Proportion(count=len(judged) - len(decided), total=len(judged)), Proportion(count=left, total=len(decided))


def _sum(shares: Iterable[Proportion]) -> Proportion:
    found = list(shares)
    return Proportion(count=sum(share.count for share in found), total=sum(share.total for share in found))
