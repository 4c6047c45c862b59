"""How far the raters agree: with each other, with themselves on repeats, and with a fair coin on left and right."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations, product

from podium.arena.raters.rater_figures import Share, coin_p, preferred, repeat_consistency, seen_matchup
from podium.arena.ratings.ballots import Ballot
from podium.arena.ratings.bradley_terry import bradley_terry
from podium.arena.ratings.pair_counts import counted

_MIRRORED = {"first": "second", "second": "first", "tie": "tie"}


@dataclass(frozen=True, kw_only=True)
class OneRater:
    """A rater without a name. `ratings` are Bradley-Terry's of these votes alone; without votes that count, none."""

    votes: int
    unjudged: int
    ties: Share
    chose_left: Share
    same_on_repeats: Share
    ratings: Mapping[str, float]


@dataclass(frozen=True, kw_only=True)
class ArenaAgreement:
    """krippendorff_alpha  over raters, nominal; None where nothing can disagree
    shared_matchups     judged by two raters or more, which is all that alpha sees
    chose_left_p        two-sided exact binomial test against a fair coin
    raters              in the order of their first vote
    """

    krippendorff_alpha: float | None
    shared_matchups: int
    same_on_repeats: Share
    chose_left: Share
    chose_left_p: float
    raters: tuple[OneRater, ...]


def arena_agreement(ballots: Sequence[Ballot], methods: Sequence[str]) -> ArenaAgreement:
    by_rater: defaultdict[str, list[Ballot]] = defaultdict(list)
    for ballot in ballots:
        by_rater[ballot.rater].append(ballot)
    raters = tuple(_one(mine, methods) for mine in by_rater.values())
    units = [judged for judged in _units(ballots) if len(judged) > 1]
    left = _sum(one.chose_left for one in raters)
    return ArenaAgreement(
        krippendorff_alpha=nominal_alpha(units, _MIRRORED),
        shared_matchups=len(units),
        same_on_repeats=_sum(one.same_on_repeats for one in raters),
        chose_left=left,
        chose_left_p=coin_p(left),
        raters=raters,
    )


def nominal_alpha(units: Iterable[Sequence[str]], mirrored: Mapping[str, str] | None = None) -> float | None:
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
            if mirrored is None:
                coincidences[one, other] += weight
            else:
                coincidences[one, other] += weight / 2
                coincidences[mirrored[one], mirrored[other]] += weight / 2
    totals: defaultdict[str, float] = defaultdict(float)
    for (one, _), weight in coincidences.items():
        totals[one] += weight
    count = sum(totals.values())
    observed = sum(weight for (one, other), weight in coincidences.items() if one != other)
    expected = sum(totals[one] * totals[other] for one, other in permutations(totals, 2))
    return None if not expected else 1 - (count - 1) * observed / expected


def _units(ballots: Iterable[Ballot]) -> list[list[str]]:
    """The first answers to every matchup, one from each rater who judged it."""
    judged: defaultdict[tuple[str, str, str], dict[str, str]] = defaultdict(dict)
    for ballot in counted(ballots):
        matchup = seen_matchup(ballot)
        named = {matchup[1]: "first", matchup[2]: "second", "": "tie"}
        judged[matchup].setdefault(ballot.rater, named[preferred(ballot)])
    return [list(by_rater.values()) for by_rater in judged.values()]


def _one(mine: Sequence[Ballot], methods: Sequence[str]) -> OneRater:
    judged = [ballot for ballot in mine if ballot.is_judged]
    decided = [ballot for ballot in judged if not ballot.is_tie]
    return OneRater(
        votes=len(mine),
        unjudged=len(mine) - len(judged),
        ties=Share(count=len(judged) - len(decided), total=len(judged)),
        chose_left=Share(count=sum(ballot.answer == "left" for ballot in decided), total=len(decided)),
        same_on_repeats=repeat_consistency(judged),
        ratings=bradley_terry(mine, methods).ratings if counted(mine) else {},
    )


def _sum(shares: Iterable[Share]) -> Share:
    found = list(shares)
    return Share(count=sum(share.count for share in found), total=sum(share.total for share in found))
