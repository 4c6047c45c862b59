"""The teams under every scheme, each with what its bootstrap says."""

from collections.abc import Sequence

import numpy as np

from podium.metrics.resampling import Resamples
from podium.ranking.facts import Facts
from podium.ranking.kendall import tau_b
from podium.ranking.live_leaderboard import live_leaderboard
from podium.ranking.official import Official, official_replicates
from podium.ranking.options import ALPHA, CONFIDENCE, OFFICIAL, PLATFORM, RankingOptions
from podium.ranking.plain import plain_row
from podium.ranking.positions import Ranks
from podium.ranking.result import SchemeRanking, Table
from podium.ranking.schemes import SCHEMES, SIDE_BY_SIDE, Scheme, SchemeOptions, SchemeOutcome, apply_scheme
from podium.ranking.stability import stability


def deciding_ranks(facts: Facts, official: Official | None, options: RankingOptions) -> Sequence[int | None]:
    """The ranks of the final table alone, without any bootstrap."""
    if options.scheme == OFFICIAL and official is not None:
        return _ranks(official.outcome)
    if options.scheme == PLATFORM:
        return live_leaderboard(facts, options.platform_method).ranks
    return _ranks(_full(SCHEMES[options.scheme], facts, options))


def scheme_rankings(
    facts: Facts, official: Official | None, resamples: Resamples | None, options: RankingOptions
) -> list[SchemeRanking]:
    """The official rule, the general schemes side by side, and the deciding one where it is not one of these."""
    rankings = [_official(facts, official, resamples)] if official else []
    schemes = list(SIDE_BY_SIDE)
    if options.scheme in SCHEMES and SCHEMES[options.scheme] not in schemes:
        schemes.append(SCHEMES[options.scheme])
    if facts.in_schemes:
        rankings += [_general(scheme, facts, resamples, options) for scheme in schemes]
    if options.scheme == PLATFORM:
        rankings.append(live_leaderboard(facts, options.platform_method))
    return rankings


def _official(facts: Facts, official: Official, resamples: Resamples | None) -> SchemeRanking:
    names = (OFFICIAL, "Official", facts.rule.words)
    if official.ratings is not None:
        reason = "The arena decides among the finalists, and resampling the cases says nothing about its votes."
        return _ranking(names, official.outcome, None, reason)
    replicates = official_replicates(facts, resamples) if resamples else None
    why_not = None if replicates is not None else _why_not(facts, resamples)
    return _ranking(names, official.outcome, replicates, why_not)


def _general(scheme: Scheme, facts: Facts, resamples: Resamples | None, options: RankingOptions) -> SchemeRanking:
    replicates = (
        apply_scheme(scheme, facts.in_schemes, resamples, _scheme_options(options)).ranks if resamples else None
    )
    why_not = None if replicates is not None else _why_not(facts, resamples)
    full = _full(scheme, facts, options)
    words = scheme.words.format(quantile=options.quantile)
    return _ranking((scheme.name, scheme.title, words), full, replicates, why_not)


def _ranking(
    names: tuple[str, str, str], full: SchemeOutcome, replicates: Ranks | None, why_not: str | None
) -> SchemeRanking:
    name, title, words = names
    return SchemeRanking(
        scheme=name,
        title=title,
        words=words,
        score_title=full.score_title,
        score_direction=full.direction,
        ranks=_ranks(full),
        scores=plain_row(full.scores[0]),
        stability=None if replicates is None else stability(replicates, full.ranks[0], confidence=CONFIDENCE),
        why_no_stability=why_not,
    )


def _why_not(facts: Facts, resamples: Resamples | None) -> str:
    if not facts.cases:
        return "The files hold no single cases, so none can be drawn."
    if resamples is None:
        return "No bootstrap was asked for."
    if facts.is_anonymous:
        return (
            "The rows are anonymous and do not contain everything the official score is computed from, so it cannot be "
            "recomputed."
        )
    return "The rows do not contain everything the official score is computed from, so it cannot be recomputed."


def _full(scheme: Scheme, facts: Facts, options: RankingOptions) -> SchemeOutcome:
    return apply_scheme(scheme, facts.in_schemes, Resamples.whole(len(facts.cases)), _scheme_options(options))


def _scheme_options(options: RankingOptions) -> SchemeOptions:
    return SchemeOptions(quantile=options.quantile, alpha=ALPHA, workers=options.workers)


def _ranks(outcome: SchemeOutcome) -> tuple[int, ...]:
    return tuple(outcome.ranks[0].tolist())


def taus_between(rankings: Sequence[SchemeRanking]) -> Table:
    """Kendall's tau-b between every two schemes; a team that a scheme leaves unranked is behind all others there."""
    ranks = np.array([[rank or len(ranking.ranks) + 1 for rank in ranking.ranks] for ranking in rankings])
    return tuple(plain_row(tau_b(ranks, reference)) for reference in ranks)
