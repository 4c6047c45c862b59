"""The main job: a cohort of metrics.json files in, a `Ranking` out."""

import platform
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import scipy

from podium import __version__
from podium.errors import UsageError
from podium.metrics.resampling import Resamples
from podium.ranking.documents import Cohort
from podium.ranking.facts import Facts, gather_facts
from podium.ranking.methods import MethodFacts, sentences
from podium.ranking.notes import notes
from podium.ranking.official import MissingFigure, Official, official_ranking
from podium.ranking.options import ALPHA, CONFIDENCE, OFFICIAL, RankingOptions
from podium.ranking.rankings import deciding_ranks, scheme_rankings, taus_between
from podium.ranking.result import Methods, Ranking, SchemeRanking
from podium.ranking.schemes import SCHEMES
from podium.ranking.sections import aggregate_columns, case_metrics, significance, team_lines


def rank(cohort: Cohort, options: RankingOptions) -> Ranking:
    """Everything about one cohort, its teams in the order of the deciding scheme, equals by name."""
    ordered = _in_final_order(cohort, options)
    facts = gather_facts(ordered, options)
    official = _official(facts, options)
    resamples = (
        Resamples.draw(cases=len(facts.cases), replicates=options.bootstraps, seed=options.seed)
        if options.bootstraps and facts.cases
        else None
    )
    schemes = scheme_rankings(facts, official, resamples, options)
    deciding = next(scheme for scheme in schemes if scheme.scheme == options.scheme)
    common = ordered.common
    return Ranking(
        challenge=common.challenge,
        title=common.title,
        version=common.version,
        division=ordered.division,
        settings=common.settings,
        deciding_scheme=options.scheme,
        teams=team_lines(facts, official, deciding),
        cases=tuple(facts.cases),
        statuses=tuple(tuple(rows[case].status for case in facts.cases) for rows in facts.rows),
        columns=aggregate_columns(facts, official),
        metrics=case_metrics(facts),
        schemes=tuple(schemes),
        scheme_taus=taus_between(schemes),
        significance=tuple(significance(table, workers=options.workers) for table in facts.in_schemes),
        methods=_methods(facts, official, deciding, options, division=ordered.division),
        notes=tuple(notes(facts, official, schemes[0].why_no_stability if official else None, options)),
    )


def _in_final_order(cohort: Cohort, options: RankingOptions) -> Cohort:
    facts = gather_facts(cohort, options)
    if options.scheme in SCHEMES and not facts.in_schemes:
        raise UsageError(
            f"The scheme '{options.scheme}' ranks by single cases, and the files hold none "
            '(per_case = "none", or figures that are not published).'
        )
    ranks = deciding_ranks(facts, _official(facts, options), options)
    last = len(ranks) + 1
    order = sorted(range(len(ranks)), key=lambda team: (ranks[team] or last, facts.teams[team]))
    return replace(cohort, files=[cohort.files[team] for team in order])


def _official(facts: Facts, options: RankingOptions) -> Official | None:
    """None where the files do not have what the official rule compares, and another scheme was asked for."""
    try:
        return official_ranking(facts, options.arena)
    except MissingFigure:
        if options.scheme == OFFICIAL:
            raise
        return None


def _methods(
    facts: Facts,
    official: Official | None,
    deciding: SchemeRanking,
    options: RankingOptions,
    *,
    division: Mapping[str, str],
) -> Methods:
    versions = {
        "Podium": __version__,
        "Python": platform.python_version(),
        "NumPy": np.__version__,
        "SciPy": scipy.__version__,
    }
    common = facts.files[0].content
    prose = sentences(
        MethodFacts(
            title=common.title,
            version=common.version,
            division=division,
            teams=len(facts.teams),
            cases=common.counts.expected,
            rule=facts.rule,
            deciding=deciding,
            metrics=[table.metric for table in facts.in_schemes],
            bootstraps=options.bootstraps if facts.cases else 0,
            seed=options.seed,
            confidence=CONFIDENCE,
            alpha=ALPHA,
            versions=versions,
            is_arena_decided=official is not None and official.ratings is not None,
        )
    )
    return Methods(
        podium_version=versions["Podium"],
        python_version=versions["Python"],
        numpy_version=versions["NumPy"],
        scipy_version=versions["SciPy"],
        seed=options.seed,
        bootstraps=options.bootstraps,
        confidence=CONFIDENCE,
        alpha=ALPHA,
        quantile=options.quantile,
        sentences=tuple(prose),
    )
