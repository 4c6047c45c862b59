"""The teams under every scheme, each with what its bootstrap says."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from podium.metrics import Floats
from podium.metrics.resampling import Resamples
from podium.ranking.facts import Facts
from podium.ranking.intervals import percentile_intervals
from podium.ranking.kendall import tau_b
from podium.ranking.live_leaderboard import live_leaderboard
from podium.ranking.official import Official, official_replicates, rank_by_case
from podium.ranking.options import OFFICIAL, PLATFORM, RankingOptions
from podium.ranking.plain import plain_row
from podium.ranking.result import SchemeRanking, Table
from podium.ranking.schemes import SCHEMES, SIDE_BY_SIDE, Scheme, SchemeOptions, SchemeOutcome, apply_scheme
from podium.ranking.stability import stability


@dataclass(frozen=True, kw_only=True)
class Ranked:
    """One scheme: its ranking, and what it was made from, on all cases and in every replicate; None where a scheme
    has none."""

    ranking: SchemeRanking
    full: SchemeOutcome | None = None
    replicates: SchemeOutcome | None = None


@dataclass(frozen=True, kw_only=True)
class Bootstrap:
    """The draws, and the figures of the leaderboard in each: dotted path to `[replicate, team]`."""

    resamples: Resamples
    figures: Mapping[str, Floats]


def deciding_ranks(facts: Facts, official: Official | None, options: RankingOptions) -> Sequence[int | None]:
    """The ranks of the final table alone, without any bootstrap."""
    if options.scheme == OFFICIAL and official is not None:
        return _ranks(official.outcome)
    if options.scheme == PLATFORM:
        return live_leaderboard(facts, options.platform_method).ranks
    return _ranks(_full(SCHEMES[options.scheme], facts, options))


def scheme_rankings(
    facts: Facts, official: Official | None, bootstrap: Bootstrap | None, options: RankingOptions
) -> list[Ranked]:
    """The official rule, the general schemes side by side, and the deciding one where it is not one of these."""
    rankings = [_official(facts, official, bootstrap, options)] if official else []
    schemes = list(SIDE_BY_SIDE)
    if options.scheme in SCHEMES and SCHEMES[options.scheme] not in schemes:
        schemes.append(SCHEMES[options.scheme])
    if facts.in_schemes:
        rankings += [_general(scheme, facts, bootstrap, options) for scheme in schemes]
    if options.scheme == PLATFORM:
        rankings.append(Ranked(ranking=live_leaderboard(facts, options.platform_method)))
    return rankings


def _official(facts: Facts, official: Official, bootstrap: Bootstrap | None, options: RankingOptions) -> Ranked:
    names = (OFFICIAL, "Official", official.rule.words)
    replicates = None
    if bootstrap:
        replicates = (
            rank_by_case(facts, official.rule, bootstrap.resamples)
            if official.rule.by_case
            else official_replicates(facts, official.rule, bootstrap.figures)
        )
    if official.ratings is not None:
        reason = "The arena decides among the finalists, and resampling the cases says nothing about its votes."
        return _ranked(names, official.outcome, replicates, reason, options)
    why_not = None if replicates is not None else _why_not(facts, bootstrap)
    return _ranked(names, official.outcome, replicates, why_not, options)


def _general(scheme: Scheme, facts: Facts, bootstrap: Bootstrap | None, options: RankingOptions) -> Ranked:
    replicates = (
        apply_scheme(scheme, facts.in_schemes, bootstrap.resamples, _scheme_options(options), facts.weights)
        if bootstrap
        else None
    )
    why_not = None if replicates is not None else _why_not(facts, bootstrap)
    full = _full(scheme, facts, options)
    words = scheme.words.format(quantile=options.quantile)
    return _ranked((scheme.name, scheme.title, words), full, replicates, why_not, options)


def _ranked(
    names: tuple[str, str, str],
    full: SchemeOutcome,
    replicates: SchemeOutcome | None,
    why_not: str | None,
    options: RankingOptions,
) -> Ranked:
    """Where there is a reason why not, the replicates tell of the score alone, not of the rank."""
    name, title, words = names
    confidence = options.confidence
    ranks = replicates.ranks if replicates is not None and why_not is None else None
    ranking = SchemeRanking(
        scheme=name,
        title=title,
        words=words,
        score_title=full.score_title,
        score_direction=full.direction,
        ranks=_ranks(full),
        scores=plain_row(full.scores[0]),
        score_intervals=None if replicates is None else percentile_intervals(replicates.scores, confidence=confidence),
        stability=None if ranks is None else stability(ranks, full.ranks[0], confidence=confidence),
        why_no_stability=why_not,
    )
    return Ranked(ranking=ranking, full=full, replicates=None if ranks is None else replicates)


def _why_not(facts: Facts, bootstrap: Bootstrap | None) -> str:
    if not facts.cases:
        return "The files hold no single cases, so none can be drawn."
    if bootstrap is None:
        return "No bootstrap was asked for."
    if facts.is_anonymous:
        return (
            "The rows are anonymous and do not contain everything the official score is computed from, so it cannot be "
            "recomputed."
        )
    return "The rows do not contain everything the official score is computed from, so it cannot be recomputed."


def _full(scheme: Scheme, facts: Facts, options: RankingOptions) -> SchemeOutcome:
    whole = Resamples.whole(len(facts.cases))
    return apply_scheme(scheme, facts.in_schemes, whole, _scheme_options(options), facts.weights)


def _scheme_options(options: RankingOptions) -> SchemeOptions:
    return SchemeOptions(quantile=options.quantile, alpha=options.alpha, workers=options.workers)


def _ranks(outcome: SchemeOutcome) -> tuple[int, ...]:
    return tuple(outcome.ranks[0].tolist())


def taus_between(rankings: Sequence[SchemeRanking]) -> Table:
    """Kendall's tau-b between every two schemes; a team that a scheme leaves unranked is behind all others there."""
    ranks = np.array([[rank or len(ranking.ranks) + 1 for rank in ranking.ranks] for ranking in rankings])
    return tuple(plain_row(tau_b(ranks, reference)) for reference in ranks)
