"""Teams compared by the score that decides: groups that do not differ, and what can be claimed of two teams."""

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations, pairwise
from typing import Literal

import numpy as np
from scipy.special import betainc, ndtri, stdtr, stdtrit

from podium.metrics import Floats
from podium.metrics.resampling import Resamples, per_patient, percentile_interval
from podium.tools.ranking.result import Claims, Difference, VarianceShares, plain_table
from podium.tools.ranking.schemes import CaseTable, RankingOptions, SchemeOutcome, positions_in_cases
from podium.tools.ranking.statistics import holm, max_t_p, significant

_POWER, _LEVEL = 0.8, 0.05  # of the test whose smallest resolvable difference is given
_SWAPS, _SWAPS_AT_ONCE = 10_000, 1_000
_MOST_CASES = 1_000_000  # a lead that needs more is no lead


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """What the teams are compared by, in the order of the final table: scores and ranks on all cases, `full`, and in
    every replicate."""

    teams: Sequence[str]
    full: SchemeOutcome
    replicates: SchemeOutcome
    values: Floats | None  # `[team, case]` whose means are the scores; None where the scores are no such means
    tables: Sequence[CaseTable]  # the per-case metrics that teams are ranked by
    resamples: Resamples  # of the cases, as those of `replicates`; where patients are known, tests are on their means
    options: RankingOptions
    by_permutation: bool = False

    @cached_property
    def _holm_p(self) -> Floats:
        return paired_p_over_pairs(self.full, self.replicates, cases=self._units)

    @cached_property
    def _means(self) -> tuple[Floats, Resamples] | None:
        return None if self.values is None else self.resamples.by_patient(self.values)

    @cached_property
    def _units(self) -> int:
        return self.resamples.by_patient(np.empty((0, self.resamples.cases)))[1].cases

    @cached_property
    def p(self) -> Floats:
        """`[team, team]`, two-sided, adjusted over all pairs; with `by_permutation` by permutation tests."""
        if self.by_permutation:
            pairs = list(combinations(range(len(self.teams)), 2))
            found = permutation_p(self.tables, pairs, self.resamples, seed=self.options.seed)
            return _symmetric(holm(np.array(found, dtype=np.float64)), teams=len(self.teams))
        return self._holm_p if self._means is None else max_t_over_pairs(*self._means)

    @property
    def _method(self) -> Literal["t", "shares", "bootstrap"]:
        return "bootstrap" if self._means is None else "shares" if np.isin(self._means[0], (0, 1)).all() else "t"

    def groups(self) -> tuple[tuple[int | None, ...], tuple[float | None, ...]]:
        """`rank_groups` by tests of all pairs."""
        return rank_groups(self.full.scores[0], self.p, alpha=self.options.alpha)

    @cached_property
    def neighbours(self) -> tuple[Difference, ...]:
        """Every team compared with the next one."""
        return self._differences(list(pairwise(range(len(self.teams)))))

    def claims(self) -> Claims | None:
        """None for a single team or case."""
        if len(self.teams) < 2 or self._units < 2:
            return None
        winner = self._differences([(0, other) for other in range(2, len(self.teams))])
        shares = (variance_shares(table.metric.title, table.filled()) for table in self.tables)
        return Claims(
            method=self._method,
            pairs=(*self.neighbours, *winner),
            p=plain_table(self.p),
            rank_intervals=self._rank_intervals(),
            variance_shares=tuple(each for each in shares if each is not None),
        )

    def _rank_intervals(self) -> tuple[tuple[int, int] | None, ...]:
        scores = self.full.scores[0] if self.full.direction == "higher" else -self.full.scores[0]
        better = (self._holm_p <= self.options.alpha) & (scores > scores[:, None])
        ends = zip((1 + better.sum(axis=1)).tolist(), (scores.size - better.sum(axis=0)).tolist(), strict=True)
        return tuple(pair if np.isfinite(score) else None for pair, score in zip(ends, scores, strict=True))

    def _differences(self, pairs: Sequence[tuple[int, int]]) -> tuple[Difference, ...]:
        permuted = permutation_p(self.tables, pairs, self.resamples, seed=self.options.seed)
        return tuple(self._difference(*pair, p) for pair, p in zip(pairs, permuted, strict=True))

    def _difference(self, one: int, other: int, permuted: float | None) -> Difference:
        difference, drawn = score_difference(self.full, self.replicates, one, other)
        first, second = self.replicates.ranks[:, one], self.replicates.ranks[:, other]
        cases = self._units
        found = Difference(
            better=self.teams[one],
            worse=self.teams[other],
            difference=difference if np.isfinite(difference) else None,
            interval=percentile_interval(drawn, confidence=self.options.confidence, cases=cases),
            probability_ahead=float(np.where(first == second, 0.5, first < second).mean()),
        )
        if found.difference is None or found.interval is None or cases < 2:
            return found
        if self._means is None:
            false, error, agreement = 1 - found.probability_ahead, standard_error(drawn, cases=cases), None
        else:
            pair = self._means[0][[one, other]]
            of_figures = false_claim_of_shares if self._method == "shares" else false_claim_of_means
            false = of_figures(*(pair if self.full.direction == "higher" else -pair))
            error = float((pair[0] - pair[1]).std(ddof=1)) / math.sqrt(cases)
            agreement = float(np.asarray(np.corrcoef(pair))[0, 1]) if (pair != pair[:, :1]).any(axis=1).all() else None
        return replace(
            found,
            false_claim=false,
            agreement=agreement,
            resolvable=resolvable_difference(error, cases=cases),
            cases_needed=cases_needed(error, abs(difference), cases=cases),
            permutation_p=permuted,
        )


# What can be claimed of two teams.


def false_claim_of_means(better: Floats, worse: Floats) -> float:
    """The probability that the mean of the worse team is in truth at least that of the better one, given their figures
    of the same cases: F(t) with t = sqrt(n) (mean of worse - mean of better) / standard deviation of the differences,
    whose square is s_A^2 + s_B^2 - 2 s_A s_B r, and n - 1 degrees of freedom.

    Bayesian with an uninformative prior. Source: E. Christodoulou et al., False promises in medical imaging AI?
    Assessing validity of outperformance claims, arXiv:2505.04720, 2025.
    """
    differences = worse - better
    spread = float(differences.std(ddof=1))
    if spread <= 1e-12 * float(np.abs(differences).max()):
        return float(0.5 + 0.5 * np.sign(differences.mean()))
    return float(stdtr(differences.size - 1, math.sqrt(differences.size) * float(differences.mean()) / spread))


def false_claim_of_shares(better: Floats, worse: Floats) -> float:
    """`false_claim_of_means` for shares of correct cases: with Dirichlet(better only + 1, worse only + 1, rest + 2)
    over the cases, the probability that the second component is larger than the first.

    The first one divided by the sum of the two has a Beta(better only + 1, worse only + 1) distribution, whatever the
    rest: this is its probability below 1/2, to which the share of draws from the Dirichlet distribution converges.
    """
    return float(betainc(1 + np.count_nonzero(better > worse), 1 + np.count_nonzero(worse > better), 0.5))


def standard_error(drawn: Floats, *, cases: int) -> float:
    """Of a figure, by its replicates: their standard deviation, which is too small by sqrt((n - 1) / n)."""
    return float(drawn[np.isfinite(drawn)].std()) * math.sqrt(cases / (cases - 1))


def resolvable_difference(error: float, *, cases: int) -> float:
    """The smallest true difference that a two-sided paired t test at 5 % finds with a power of 80 %, by its standard
    error over this many cases."""
    return error * float(stdtrit(cases - 1, 1 - _LEVEL / 2) + stdtrit(cases - 1, _POWER))


def cases_needed(error: float, difference: float, *, cases: int) -> int | None:
    """The smallest number of cases with which `resolvable_difference` is at most this difference; None if there is none
    up to a million, and for a difference of 0."""

    def enough(n: int) -> bool:
        return resolvable_difference(error * math.sqrt(cases / n), cases=n) <= difference

    found = 2 + bisect_left(range(2, _MOST_CASES + 1), True, key=enough)
    return found if difference > 0 and found <= _MOST_CASES else None


def permutation_p(
    tables: Sequence[CaseTable], pairs: Sequence[tuple[int, int]], resamples: Resamples, *, seed: int
) -> list[float | None]:
    """Of every pair: the share of 10,000 random swaps of its two teams, each case swapped or not, in which the
    difference of the ranks, summed over cases and metrics, is at least the observed one. None without a metric. The
    cases of one patient are swapped together.

    As the organisers of BraTS publish it (PermRanker).
    """
    if not tables or not pairs:
        return [None] * len(pairs)
    ranks = np.zeros((len(tables[0].values), resamples.cases))
    for table in tables:
        ranks[:, table.defined] += positions_in_cases(table)
    if resamples.patients is not None:
        ranks = per_patient(ranks, resamples.patients)
    leads = np.array([ranks[other] - ranks[one] for one, other in pairs], np.float32).T  # whole, far below 2^24
    generator, reached = np.random.default_rng(seed), np.zeros(len(pairs))
    for _ in range(_SWAPS // _SWAPS_AT_ONCE):
        signs = 2 * generator.integers(0, 2, (_SWAPS_AT_ONCE, len(leads)), dtype=np.int8).astype(np.float32) - 1
        reached += np.count_nonzero(signs @ leads >= leads.sum(axis=0), axis=0)
    return list((reached / _SWAPS).tolist())


def variance_shares(metric: str, values: Floats) -> VarianceShares | None:
    """Of case, team and residual in `values[team, case]`: two-way random effects by analysis of variance, negative
    estimates being 0. None where nothing varies, a value is infinite, or there is a single team or case."""
    teams, cases = values.shape
    if min(teams, cases) < 2 or not np.isfinite(values).all():
        return None
    mean, of_teams, of_cases = values.mean(), values.mean(axis=1), values.mean(axis=0)
    residual = values - of_teams[:, None] - of_cases + mean
    rest = float((residual**2).sum()) / ((teams - 1) * (cases - 1))
    team = max(0.0, float(of_teams.var(ddof=1)) - rest / cases)
    case = max(0.0, float(of_cases.var(ddof=1)) - rest / teams)
    total = team + case + rest
    if not total > 0:
        return None
    return VarianceShares(metric=metric, case=case / total, team=team / total, residual=rest / total)


# Groups of teams that do not differ.


def max_t_over_pairs(values: Floats, resamples: Resamples) -> Floats:
    """`p[team, team]` from `values[team, case]`, whose means are the scores: `max_t_p` over all pairs."""
    first, second = np.triu_indices(len(values), k=1)
    return _symmetric(max_t_p(values[first] - values[second], resamples), teams=len(values))


def paired_p_over_pairs(full: SchemeOutcome, replicates: SchemeOutcome, *, cases: int) -> Floats:
    """`p[team, team]` for scores that are no means of case values: `paired_p`, by Holm's method over all pairs. NaN
    where a score is not finite."""
    teams = full.scores.shape[1]
    p = [paired_p(full, replicates, *pair, cases=cases) for pair in combinations(range(teams), 2)]
    return _symmetric(holm(np.array(p)), teams=teams)


def _symmetric(of_pairs: Floats, *, teams: int) -> Floats:
    p = np.full((teams, teams), np.nan)
    p[np.triu_indices(teams, k=1)] = of_pairs
    return np.asarray(np.fmax(p, p.T))


def rank_groups(scores: Floats, p: Floats, *, alpha: float) -> tuple[tuple[int | None, ...], tuple[float | None, ...]]:
    """The group of every team (from 1), in the order of the final table, and the adjusted p-value against the group's
    first team, which itself has None. A team without a finite score is in no group.

    The best team is the anchor of the first group. A team that does not differ from it at `alpha`, adjusted over all
    pairs of teams (`p[team, team]`), belongs to its group; the best team outside is the next anchor.
    """
    left = np.flatnonzero(np.isfinite(scores)).tolist()
    groups: list[int | None] = [None] * scores.size
    adjusted: list[float | None] = [None] * scores.size
    group = 0
    while left:
        group += 1
        anchor, *others = left
        groups[anchor] = group
        for other in others:
            if not p[anchor, other] <= alpha:
                groups[other], adjusted[other] = group, float(p[anchor, other])
        left = [team for team in others if groups[team] is None]
    return tuple(groups), tuple(adjusted)


def score_difference(full: SchemeOutcome, replicates: SchemeOutcome, first: int, second: int) -> tuple[float, Floats]:
    """Of the scores of two teams, and in every replicate; 0 for equal scores (`significant`), and none for two infinite
    worst values."""
    with np.errstate(invalid="ignore"):
        first_score, second_score = significant(full.scores[0, [first, second]])
        return float(first_score - second_score), replicates.scores[:, first] - replicates.scores[:, second]


def paired_p(full: SchemeOutcome, replicates: SchemeOutcome, first: int, second: int, *, cases: int) -> float:
    """Two-sided p-value of the difference of two teams, from the expanded percentile interval that ends at 0.

    Where few replicates are beyond 0, their share cannot be resolved: p is then that of a normal bootstrap
    distribution, t = difference / (its standard deviation times sqrt(n / (n - 1))) with n - 1 degrees of freedom, which
    for a mean over n cases is the paired t test apart from the noise of the draws. The larger of the two p counts. 1
    where there is no evidence (one case, equal scores), NaN for infinite scores. Replicates without a value are left
    out.
    """
    difference, drawn = score_difference(full, replicates, first, second)
    drawn = drawn[~np.isnan(drawn)]
    if not np.isfinite(difference):
        return np.nan
    if cases < 2 or difference == 0 or not drawn.size or not np.isfinite(drawn).all():
        return 1.0
    error = standard_error(drawn, cases=cases)
    beyond = (np.sign(difference) * drawn < 0).mean() + (drawn == 0).mean() / 2
    t = min(abs(difference) / error if error else np.inf, -float(ndtri(beyond)) * math.sqrt((cases - 1) / cases))
    return min(1.0, float(2 * stdtr(cases - 1, -t)))
