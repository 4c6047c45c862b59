"""The method of a ranking in prose that can go into a paper."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from podium.challenges.board import RankingRule
from podium.metrics.declaration import Metric
from podium.ranking.options import OFFICIAL, RankingOptions
from podium.ranking.result import Arena, SchemeRanking

_RATINGS = {"elo-averaged": "averaged Elo ratings", "elo": "Elo ratings", "bradley-terry": "Bradley-Terry ratings"}
_MISSING = {
    "worst": "A missing value counts as the worst value of its metric; the same cases count for every team.",
    "exclude": "A case that lacks a team's value of a metric was left out of that metric for all teams.",
    "error": "No value is missing.",
}


@dataclass(frozen=True, kw_only=True)
class MethodFacts:
    """What the sentences are made of; `missing` says how a table's missing values count, None for a challenge."""

    title: str
    version: str
    division: Mapping[str, str]
    teams: int
    cases: int
    rule: RankingRule | None
    missing: str | None
    deciding: SchemeRanking
    metrics: Sequence[Metric]
    weights: Sequence[float]
    options: RankingOptions
    bootstraps: int
    versions: Mapping[str, str]
    arena: Arena | None
    not_resampled: Sequence[str]


def sentences(facts: MethodFacts) -> Iterator[str]:
    """One statement per sentence, in the order of a methods section."""
    teams = "1 team" if facts.teams == 1 else f"{facts.teams} teams"
    cases = "1 case" if facts.cases == 1 else f"{facts.cases} cases"
    parts = [f"version {facts.version}"] if facts.version else []
    parts += [f"{name} {value}" for name, value in facts.division.items()]
    shown = f" ({', '.join(parts)})" if parts else ""
    yield f"{teams} took part in {facts.title}{shown}, evaluated on {cases}."
    yield from _about_the_rule(facts)
    if facts.missing is not None:
        yield _MISSING[facts.missing]
    else:
        yield (
            "A case without a prediction, or with one that could not be read, counts with the worst "
            "value of all that teams are ranked by; the same cases count for every team."
        )
    if facts.bootstraps:
        yield from _about_the_bootstrap(facts)
    if facts.metrics and facts.teams > 1:
        yield from _about_the_schemes(facts)
    yield f"Computed with {', '.join(f'{name} {version}' for name, version in facts.versions.items())}."


def _about_the_rule(facts: MethodFacts) -> Iterator[str]:
    rule, is_official = facts.rule, facts.deciding.scheme == OFFICIAL
    if rule is None:
        names = " and ".join(metric.title for metric in facts.metrics)
        yield f"For the table shown here, {facts.deciding.words} ({names})."
    else:
        yield f"By the official rule, {rule.words}."
        if not is_official:
            yield f"The table shown here follows another scheme instead: {facts.deciding.words}."
    if is_official and rule is not None and rule.tie_breaks:
        names = ", then ".join(f"{each.direction} {each.title.lower()}" for each in rule.tie_breaks)
        yield f"Teams with equal scores are ordered by {names}; teams equal in that too share the smaller position."
    else:
        yield "Teams with equal scores share the smaller position (1, 1, 3)."
    if rule is not None and rule.finalists is not None:
        best = f"The best {rule.finalists} teams by the official rule go on to pairwise comparison by experts"
        yield f"{best}, whose ratings decided among them." if facts.arena else f"{best}."
    if facts.arena is not None:
        yield from _about_the_arena(facts.arena)


def _about_the_arena(arena: Arena) -> Iterator[str]:
    rating = _RATINGS.get(arena.decided_by, "ratings")
    if arena.votes is not None and arena.raters is not None and arena.cases is not None:
        yield f"In this arena {arena.raters} raters gave {arena.votes} votes on {arena.cases} cases."
    has_groups = any(team is not None and team.group is not None for team in arena.teams)
    if has_groups:
        shared = (
            "teams of one group are ordered by their ratings all the same"
            if arena.ties_broken
            else "teams of one group share the rank"
        )
        yield (
            f"Finalists are ordered by their {rating}; those whose intervals (percentile bootstrap over cases of the "
            f"Bradley-Terry rating) overlap, be it by way of a third, form a group, and {shared}."
        )
    else:
        yield f"Finalists are ordered by their {rating}."
    if arena.stop_rule_holds is not None:
        held = "held" if arena.stop_rule_holds else "did not hold"
        yield f"The arena's stop rule {held} when the ratings were taken."


def _about_the_bootstrap(facts: MethodFacts) -> Iterator[str]:
    options, confidence = facts.options, f"{facts.options.confidence * 100:g} %"
    yield (
        f"The stability of the ranking was assessed with {facts.bootstraps:,} bootstrap replicates over cases, "
        f"drawn with replacement by a PCG64 generator with seed {options.seed}; a case drawn twice counts twice."
    )
    yield (
        f"We report the {confidence} percentile interval of every team's rank, the frequency of every "
        "rank, the probability of winning (a shared first place counting as an equal part of a win), and Kendall's "
        "tau-b of every replicate to the full ranking."
    )
    yield (
        f"Scores, means and differences between neighbours have {confidence} percentile intervals from the same "
        "replicates, the cases of both teams being drawn together; the probability that the better of two neighbours "
        "is ahead is its share of the replicates, an equal rank counting half."
    )
    if facts.arena is None and facts.deciding.stability is not None and facts.teams > 1:
        yield (
            "Teams form a group with the best team from which they do not differ: two-sided paired tests of the score "
            "(the difference over its bootstrap standard error, t distribution with one degree of freedom less than "
            f"there are cases), Holm-adjusted over the comparisons with that team, at a level of {options.alpha:g}; "
            "the best team outside leads the next group."
        )
    if facts.not_resampled:
        yield f"Not resampled, since it is one figure per team: {', '.join(facts.not_resampled)}."


def _about_the_schemes(facts: MethodFacts) -> Iterator[str]:
    weighted = len(set(facts.weights)) > 1
    names = " and ".join(
        f"{metric.title} (weight {weight:g})" if weighted else metric.title
        for metric, weight in zip(facts.metrics, facts.weights, strict=True)
    )
    mean = "weighted mean" if weighted else "mean"
    several = f", each metric giving positions whose {mean} is ranked" if len(facts.metrics) > 1 else ""
    yield (
        f"For comparison, teams were also ranked by {names}{several}, under the schemes mean-then-rank, "
        "median-then-rank, rank-then-mean, rank-then-median and test-then-rank."
    )
    yield (
        "Pairs of teams were compared with one-sided paired Wilcoxon signed-rank tests (normal approximation with "
        f"continuity correction, zero differences dropped) at a level of {facts.options.alpha:g}, without adjustment "
        f"in test-then-rank and with Holm's adjustment over all {facts.teams * (facts.teams - 1)} ordered pairs in "
        "the significance map."
    )
