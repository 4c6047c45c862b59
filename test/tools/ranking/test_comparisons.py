"""What can be claimed of two teams: golden figures, SciPy's tests, and literal readings of the rules."""

import csv
import io
from dataclasses import replace
from itertools import pairwise, product

import numpy as np
import pytest
from challenges.declared.declaring import write_challenge
from hypothesis import given
from hypothesis import strategies as st
from properties import examples
from scipy.stats import ttest_rel
from tools.ranking.files import TEAMS, VALUES, evaluated_and_ranked, printed
from tools.report.page_check import Page

from podium.metrics.declaration import Metric
from podium.metrics.resampling import Resamples
from podium.tools.ranking.comparisons import (
    Comparison,
    cases_needed,
    false_claim_of_shares,
    paired_p_over_pairs,
    permutation_p,
    resolvable_difference,
    variance_shares,
)
from podium.tools.ranking.output import ranking_csv
from podium.tools.ranking.rank import rank
from podium.tools.ranking.result import Claims, Ranking, ranking_from_json, ranking_to_json
from podium.tools.ranking.schemes import (
    MEAN,
    PLATFORM,
    SCHEMES,
    RankingOptions,
    Scheme,
    apply_scheme,
    case_table,
)
from podium.tools.ranking.tables import ScoreTable, TableOptions, TaskScores, table_cohorts
from podium.tools.report.ranking_report import ranking_report
from podium.tools.report.tables import claims_table

pytestmark = pytest.mark.usefixtures("in_process")

METRIC = Metric(name="m", title="M", direction="higher", lowest=0, highest=1, worst=0)
A = [0.91, 0.88, 0.93, 0.85, 0.90, 0.87, 0.92, 0.30]
B = [0.89, 0.86, 0.90, 0.84, 0.88, 0.86, 0.89, 0.83]
C = [0.90, 0.87, 0.93, 0.80, 0.86, 0.84, 0.88, 0.82]
TIED = {"a": [0.1, 0.1, 0.4], "b": [0.1, 0.2, 0.3]}


def comparison(
    values: np.ndarray, *, replicates: int = 400, confidence: float = 0.95, scheme: Scheme = MEAN
) -> Comparison:
    """Teams by their mean of `values[team, case]`."""
    table, cases = case_table(METRIC, values), values.shape[1]
    options = RankingOptions(seed=5, confidence=confidence)
    resamples = Resamples.draw(cases=cases, replicates=replicates, seed=5)
    full, drawn = (apply_scheme(scheme, [table], draws, options) for draws in (Resamples.whole(cases), resamples))
    return Comparison(
        teams=[chr(ord("a") + team) for team in range(len(values))],
        full=full,
        replicates=drawn,
        values=values if scheme is MEAN else None,
        tables=[table],
        resamples=resamples,
        options=options,
    )


def claims(values: np.ndarray, *, replicates: int = 400, scheme: Scheme = MEAN) -> Claims:
    found = comparison(values, replicates=replicates, scheme=scheme).claims()
    assert found is not None
    return found


def test_neighbours_by_literal_drawing() -> None:
    values = np.array([[0.9, 0.4, 0.8], [0.7, 0.6, 0.5], [0.1, 0.2, 0.9]])
    counts = Resamples.draw(cases=3, replicates=400, seed=5).counts
    first, second = comparison(values, confidence=0.5).neighbours
    literal = [np.mean(np.repeat(values[0], times)) - np.mean(np.repeat(values[1], times)) for times in counts]
    assert (first.better, first.worse, second.worse) == ("a", "b", "c")
    assert first.difference == pytest.approx(0.7 - 0.6)
    tail = 0.1586553  # Phi(-1): sqrt(3 / 2) times t = 0.816497 of 2 degrees of freedom at 75 %
    assert first.interval == pytest.approx(tuple(np.quantile(literal, [tail, 1 - tail])), abs=1e-6)
    ahead = np.mean([1.0 if each > 1e-12 else 0.5 if abs(each) <= 1e-12 else 0.0 for each in literal])
    assert first.probability_ahead == pytest.approx(ahead)


def test_false_claims_of_the_golden_table() -> None:
    found = claims(np.array([B, C, A]))
    over_c, c_over_a, over_a = found.pairs
    assert found.method == "t"
    assert (over_c.false_claim, over_c.agreement) == pytest.approx((0.224029, 0.909449), abs=1e-6)
    assert (over_a.false_claim, over_a.agreement) == pytest.approx((0.250754, 0.711286), abs=1e-6)
    assert c_over_a.false_claim == pytest.approx(0.277306, abs=1e-6)
    assert [(each.better, each.worse) for each in found.pairs] == [("a", "b"), ("b", "c"), ("a", "c")]


@given(st.integers(0, 10**6), st.integers(2, 30))
@examples(30)
def test_a_false_claim_of_means_is_the_one_sided_t_test(seed: int, cases: int) -> None:
    values = np.random.default_rng(seed).uniform(0.1, 0.9, (2, cases))
    (found,) = claims(values, replicates=20).pairs
    assert found.false_claim == pytest.approx(ttest_rel(*values, alternative="greater").pvalue, abs=1e-9)


def test_a_false_claim_of_shares_is_that_of_the_dirichlet_distribution() -> None:
    better, worse = np.array([1.0] * 9 + [0.0] * 6), np.array([1.0] * 4 + [0.0] * 8 + [1.0] * 3)
    only_better, only_worse = 5, 3
    drawn = np.random.default_rng(0).dirichlet((only_better + 1, only_worse + 1, 15 - 8 + 2), 100_000)
    assert false_claim_of_shares(better, worse) == pytest.approx(np.mean(drawn[:, 1] >= drawn[:, 0]), abs=0.005)
    found = claims(np.array([better, worse]))
    assert (found.pairs[0].false_claim, found.method) == (false_claim_of_shares(better, worse), "shares")


def test_the_same_lead_in_every_case_is_a_safe_claim_and_equal_teams_have_none() -> None:
    first, second, _ = claims(np.array([[0.9, 0.5, 0.7], [0.8, 0.4, 0.6], [0.8, 0.4, 0.6]])).pairs
    assert first.false_claim == pytest.approx(0.0, abs=1e-12)
    assert (second.false_claim, second.cases_needed, second.permutation_p) == (0.5, None, 1.0)


def test_equal_means_have_no_lead() -> None:
    """As floats, the two means are 0.20000000000000004 and 0.19999999999999998."""
    found = comparison(np.array(list(TIED.values())))
    assert found.full.ranks.tolist() == [[1, 1]]
    (claim,) = found.neighbours
    assert (claim.difference, claim.cases_needed) == (0.0, None)
    assert claim.false_claim == pytest.approx(0.5)


def test_the_resolvable_difference_has_the_power_it_states() -> None:
    """Paired t tests of 4,000 samples with just this true difference."""
    cases, spread = 20, 0.3
    difference = resolvable_difference(spread / cases**0.5, cases=cases)
    samples = np.random.default_rng(1).normal(difference, spread, (4000, cases))
    t = samples.mean(axis=1) / (samples.std(axis=1, ddof=1) / cases**0.5)
    assert np.mean(np.abs(t) > 2.093024) == pytest.approx(0.8, abs=0.03)
    needed = cases_needed(spread / cases**0.5, 0.05, cases=cases)
    assert needed is not None
    resolved = [resolvable_difference(spread / n**0.5, cases=n) <= 0.05 for n in (needed - 1, needed)]
    assert resolved == [False, True]
    assert cases_needed(spread, 1e-9, cases=cases) is None


def test_swaps_of_two_teams_by_all_swaps() -> None:
    """Of six cases, all 64 swaps can be listed."""
    values = np.random.default_rng(3).uniform(size=(3, 6))
    tables = [case_table(METRIC, each) for each in (values, np.round(values[:, ::-1], 1))]
    pairs = list(pairwise(range(3)))
    ranks = sum(
        np.array([[1 + np.sum(t.values[:, c] > v) for c, v in enumerate(row)] for row in t.values]) for t in tables
    )
    for (one, other), found in zip(pairs, permutation_p(tables, pairs, Resamples.whole(6), seed=0), strict=True):
        leads = ranks[other] - ranks[one]
        literal = np.mean([np.dot(signs, leads) >= leads.sum() for signs in product((1, -1), repeat=6)])
        assert found == pytest.approx(literal, abs=0.02)


def test_variance_shares_by_the_moments_of_random_effects() -> None:
    """Many teams and cases with variances 9 (cases), 4 (teams) and 1."""
    generator = np.random.default_rng(0)
    values = generator.normal(0, 2, (400, 1)) + generator.normal(0, 3, (1, 400)) + generator.normal(0, 1, (400, 400))
    shares = variance_shares("M", values)
    assert shares is not None
    assert (shares.case, shares.team, shares.residual) == pytest.approx((9 / 14, 4 / 14, 1 / 14), abs=0.05)


def test_variance_shares_by_hand() -> None:
    """Mean squares of teams 0.75, of cases 3.25, of the residual 0.25: (3.25 - 0.25) / 2, (0.75 - 0.25) / 3, 0.25."""
    shares = variance_shares("M", np.array([[1.0, 2.0, 4.0], [1.0, 1.0, 2.0]]) - 1)
    assert shares is not None
    residual = np.array([[-0.5, 0.0, 0.5], [0.5, 0.0, -0.5]])
    rest, teams, cases = (residual**2).sum() / 2, np.var([4 / 3, 1 / 3], ddof=1), np.var([0, 0.5, 2], ddof=1)
    parts = np.array([cases - rest / 2, teams - rest / 3, rest])
    assert (shares.case, shares.team, shares.residual) == pytest.approx(tuple(parts / parts.sum()))


@pytest.mark.parametrize("values", [np.ones((3, 5)), np.array([[0.1, 0.2]]), np.array([[0.1, -np.inf], [0.2, 0.3]])])
def test_no_variance_shares(values: np.ndarray) -> None:
    assert variance_shares("M", values) is None


def test_rank_intervals_from_tests() -> None:
    """b and c do not differ; both are significantly worse than a."""
    noise = np.random.default_rng(1).normal(0, 0.01, (3, 12))
    assert claims(np.array([[0.9], [0.505], [0.5]]) + noise).rank_intervals == ((1, 1), (2, 3), (2, 3))


@pytest.mark.parametrize("seed", range(4))
def test_rank_intervals_by_literal_counting(seed: int) -> None:
    """Of a scheme whose score is better when lower."""
    skill = np.linspace(0.4, 0, 6)[:, None]
    found = comparison(skill + np.random.default_rng(seed).normal(0, 0.3, (6, 25)), scheme=SCHEMES["rank-then-mean"])
    p, scores = paired_p_over_pairs(found.full, found.replicates, cases=25), found.full.scores[0]
    literal = tuple(
        (
            1 + sum(p[team, other] <= 0.05 and scores[other] < scores[team] for other in range(6)),
            6 - sum(p[team, other] <= 0.05 and scores[other] > scores[team] for other in range(6)),
        )
        for team in range(6)
    )
    assert claims(found.tables[0].values, scheme=SCHEMES["rank-then-mean"]).rank_intervals == literal


def test_without_values_the_share_of_replicates_is_named_as_such() -> None:
    found = claims(np.array([B, C]), scheme=SCHEMES["median-then-rank"])
    (difference,) = comparison(np.array([B, C]), scheme=SCHEMES["median-then-rank"]).neighbours
    assert found.method == "bootstrap"
    assert (found.pairs[0].false_claim, found.pairs[0].agreement) == (1 - difference.probability_ahead, None)


def test_a_team_without_a_score_has_no_claim() -> None:
    metric = Metric(name="m", title="M", direction="higher", lowest=-np.inf, highest=1, worst=-np.inf)
    table = case_table(metric, np.array([[0.9, 0.8, 0.7], [0.5, 0.6, 0.4], [0.1, np.nan, 0.2]]))
    whole, drawn = Resamples.whole(3), Resamples.draw(cases=3, replicates=50, seed=0)
    full, replicates = (apply_scheme(MEAN, [table], draws, RankingOptions()) for draws in (whole, drawn))
    parts = {"full": full, "replicates": replicates, "values": None, "tables": [table], "resamples": drawn}
    found = Comparison(teams=["a", "b", "c"], **parts, options=RankingOptions()).claims()
    assert found is not None
    first, *others = found.pairs
    assert first.false_claim is not None
    assert [(each.worse, each.difference, each.false_claim) for each in others] == [("c", None, None)] * 2
    assert found.rank_intervals[2] is None


def test_one_team_or_one_case_has_no_claims() -> None:
    assert comparison(np.array([[0.5, 0.6]])).claims() is None
    assert comparison(np.array([[0.5], [0.6]])).claims() is None


# In a ranking.

OF_CLASSES = (
    "[cases]\ngroups = '^(?P<group>[a-z]+)_'\n"
    '[values.v]\nkind = "class"\nclasses = { no = 0, yes = 1 }\ntable = "p.csv"\ncolumn = "v"\n'
    '[[metrics]]\nkind = "accuracy"\n[ranking]\nby = "accuracy"\n'
)


def classes(values: list[int]) -> str:
    cases = [f"{'young' if number < 6 else 'old'}_{number:02}" for number in range(len(values))]
    return "case,v\n" + "".join(f"{case},{value}\n" for case, value in zip(cases, values, strict=True))


@pytest.fixture(scope="module")
def accurate(tmp_path_factory: pytest.TempPathFactory) -> Ranking:
    """`good` is right in 10 of 12 cases and `fair` in 8: `good` alone in 3, `fair` alone in 1."""
    root = tmp_path_factory.mktemp("accurate")
    truth = [0, 1] * 6
    wrong = {"good": (0, 11), "fair": (1, 2, 3, 11)}
    teams = {
        team: {"p.csv": classes([1 - value if case in cases else value for case, value in enumerate(truth)])}
        for team, cases in wrong.items()
    }
    folder = write_challenge(root / "truth", OF_CLASSES, {"p.csv": classes(truth)})
    return evaluated_and_ranked(root, folder, teams, RankingOptions(bootstraps=200))


def test_an_accuracy_is_a_share_of_correct_cases(accurate: Ranking) -> None:
    """I(1/2) of Beta(4, 2): 1 - (1 + 5 + 10 + 10) / 32 = 6 / 32."""
    assert accurate.claims is not None
    assert accurate.claims.method == "shares"
    assert accurate.claims.pairs[0].false_claim == pytest.approx(6 / 32)


def test_the_worst_group_and_its_gap(accurate: Ranking) -> None:
    """Of `good`, 5 of 6 are right in both groups; of `fair`, 3 of 6 young and 5 of 6 old ones."""
    assert accurate.claims is not None
    good, fair = accurate.groups[0].worst
    assert good is not None
    assert fair is not None
    assert (good.value, good.gap) == pytest.approx((5 / 6, 0))
    assert (fair.figure, fair.group, fair.value) == ("Accuracy", "young", 0.5)
    assert fair.gap == pytest.approx(8 / 12 - 0.5)
    assert (
        "Worst group: young, Accuracy 0.5000, 0.1667 worse than over all cases."
        in Page(ranking_report(accurate).page).all_words
    )
    (_, last) = csv.DictReader(io.StringIO(ranking_csv(accurate)))
    assert (last["worst_group"], float(last["worst_group_gap"])) == ("young", pytest.approx(1 / 6))


@pytest.mark.parametrize("scheme", [MEAN.name, PLATFORM])
def test_equal_means_share_the_rank(scheme: str) -> None:
    values = {(team, str(case)): value for team, row in TIED.items() for case, value in enumerate(row)}
    tasks = {"": TaskScores(groups=dict.fromkeys("012", ""), values={"Dice": values})}
    table = ScoreTable(name="t", teams=list(TIED), metrics=["Dice"], directions={"Dice": "higher"}, tasks=tasks)
    (cohort,) = table_cohorts(table, TableOptions())
    assert [team.rank for team in rank(cohort, RankingOptions(scheme=scheme)).teams] == [1, 1]


@pytest.fixture(scope="module")
def golden() -> Ranking:
    """Table A of the worked example; the missing value of D counts as 0."""
    values = {
        (team, f"c{case}"): value for team, row in zip(TEAMS, VALUES, strict=True) for case, value in enumerate(row)
    }
    groups = {f"c{case}": "early" if case < 4 else "late" for case in range(8)}
    table = ScoreTable(
        name="golden",
        teams=TEAMS,
        metrics=["Dice"],
        directions={"Dice": "higher"},
        tasks={"": TaskScores(groups=groups, values={"Dice": values})},
    )
    (cohort,) = table_cohorts(table, TableOptions(worst={"Dice": 0.0}))
    return rank(cohort, RankingOptions())


def test_the_golden_table_of_four_teams(golden: Ranking) -> None:
    assert golden.claims is not None
    found = {(each.better, each.worse): each.false_claim for each in golden.claims.pairs}
    assert list(found) == [("B", "C"), ("C", "A"), ("A", "D"), ("B", "A"), ("B", "D")]
    assert found["B", "C"] == pytest.approx(0.224029, abs=1e-6)
    assert found["B", "A"] == pytest.approx(0.250754, abs=1e-6)
    assert found["C", "A"] == pytest.approx(0.277306, abs=1e-6)
    assert golden.claims.pairs[:3] == golden.differences
    assert golden.methods.bootstraps == 4000, "at least 20 / 0.005738 resamples"
    assert [each and each.group for each in golden.groups[0].worst] == ["late", "late", "late", "early"]
    assert ranking_from_json(ranking_to_json(golden)) == golden


def test_a_sentence_per_team(golden: Ranking) -> None:
    """B leads C by 0.00625; 8 cases resolve (2.364624 + 0.896030) * 0.0219985 / sqrt(8) = 0.02536."""
    assert golden.claims is not None
    first, *_, last = golden.claims.sentences
    assert len(golden.claims.sentences) == 4
    assert first == (
        "B's lead over C (0.0062) is smaller than what 8 cases can resolve (0.0254); the probability that the claim is "
        "false is 22 %: not a safe claim."
    )
    assert last == "D leads no other team."
    assert printed(golden).replace("\n", " ").count(first) == 1


def test_claims_on_the_page_and_in_the_table(golden: Ranking) -> None:
    page = Page(ranking_report(golden).page)
    rows = page.table("Team", "Other team", "Difference in Dice")
    assert [row[:2] for row in rows] == [["B", "C"], ["C", "A"], ["A", "D"], ["B", "A"], ["B", "D"]]
    assert rows[0][4:8] == ["0.0254", "100", "0.91", "22 %: not safe"]
    assert rows[4][7] == "3 %"
    assert golden.claims is not None
    assert all(sentence in page.all_words for sentence in golden.claims.sentences)
    (first, *_) = csv.DictReader(io.StringIO(ranking_csv(golden)))
    assert float(first["false_claim"]) == pytest.approx(0.224029, abs=1e-6)
    assert (first["rank_by_tests_low"], first["rank_by_tests_high"], first["cases_needed"]) == ("1", "4", "100")


def test_without_a_bootstrap_there_are_no_claims(golden: Ranking) -> None:
    without = replace(golden, claims=None, differences=())
    assert claims_table(without) is None
    assert "false_claim" in ranking_csv(without).splitlines()[0]
