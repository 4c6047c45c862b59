"""The method of a ranking in prose that can go into a paper."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from podium.challenges.ranking_rule import RankingRule
from podium.metrics.declaration import Metric
from podium.ranking.options import OFFICIAL
from podium.ranking.result import SchemeRanking


@dataclass(frozen=True, kw_only=True)
class MethodFacts:
    """What the sentences are made of."""

    title: str
    version: str
    division: Mapping[str, str]
    teams: int
    cases: int
    rule: RankingRule
    deciding: SchemeRanking
    metrics: Sequence[Metric]
    bootstraps: int
    seed: int
    confidence: float
    alpha: float
    versions: Mapping[str, str]
    is_arena_decided: bool


def sentences(facts: MethodFacts) -> Iterator[str]:
    """One statement per sentence, in the order of a methods section."""
    teams = "1 team" if facts.teams == 1 else f"{facts.teams} teams"
    cases = "1 case" if facts.cases == 1 else f"{facts.cases} cases"
    division = "".join(f", {name} {value}" for name, value in facts.division.items())
    yield f"{teams} took part in {facts.title} (version {facts.version}{division}), evaluated on {cases}."
    yield f"By the official rule, {facts.rule.words}."
    is_official = facts.deciding.scheme == OFFICIAL
    if not is_official:
        yield f"The table shown here follows another scheme instead: {facts.deciding.words}."
    if is_official and facts.rule.tie_breaks:
        names = ", then ".join(f"{each.direction} {each.title.lower()}" for each in facts.rule.tie_breaks)
        yield f"Teams with equal scores are ordered by {names}; teams equal in that too share the smaller position."
    else:
        yield "Teams with equal scores share the smaller position (1, 1, 3)."
    if facts.rule.finalists is not None:
        best = f"The best {facts.rule.finalists} teams by the official rule go on to pairwise comparison by experts"
        yield f"{best}, whose ratings decided among them." if facts.is_arena_decided else f"{best}."
    yield (
        "A case without a prediction, or with one that could not be read, counts with the worst "
        "value of all that teams are ranked by; the same cases count for every team."
    )
    if facts.bootstraps:
        yield (
            f"The stability of the ranking was assessed with {facts.bootstraps:,} bootstrap replicates over cases, "
            f"drawn with replacement by a PCG64 generator with seed {facts.seed}; a case drawn twice counts twice."
        )
        yield (
            f"We report the {facts.confidence:.0%} percentile interval of every team's rank, the frequency of every "
            "rank, the probability of winning (a shared first place counting as an equal part of a win), and Kendall's "
            "tau-b of every replicate to the full ranking."
        )
    if facts.metrics and facts.teams > 1:
        names = " and ".join(metric.title for metric in facts.metrics)
        several = ", each metric giving positions whose mean is ranked" if len(facts.metrics) > 1 else ""
        yield (
            f"For comparison, teams were also ranked by {names}{several}, under the schemes mean-then-rank, "
            "median-then-rank, rank-then-mean, rank-then-median and test-then-rank."
        )
        yield (
            "Pairs of teams were compared with one-sided paired Wilcoxon signed-rank tests (normal approximation with "
            f"continuity correction, zero differences dropped) at a level of {facts.alpha:g}, without adjustment in "
            f"test-then-rank and with Holm's adjustment over all {facts.teams * (facts.teams - 1)} ordered pairs in "
            "the significance map."
        )
    yield f"Computed with {', '.join(f'{name} {version}' for name, version in facts.versions.items())}."
