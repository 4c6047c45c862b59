"""The published small table: every scheme, every p value, every tau, to the digits given."""

import numpy as np
import pytest
from literal import ranking as literal
from ranking.golden import TABLE, VALUES

from podium.metrics.resampling import Resamples
from podium.tools.ranking.schemes import SCHEMES, RankingOptions, apply_scheme
from podium.tools.ranking.statistics import case_positions, holm_over_pairs, pairwise_p, tau_b

WHOLE = Resamples.whole(8)
THIRD = 1 / 3

EXPECTED = {
    "mean-then-rank": ([0.82, 0.86875, 0.8625, 0.65], [3, 1, 2, 4]),
    "median-then-rank": ([0.89, 0.87, 0.865, 0.715], [1, 2, 3, 4]),
    "quantile-then-rank": ([0.4925, 0.8335, 0.807, 0.245], [3, 1, 2, 4]),
    "rank-then-mean": ([1.375, 2.25, 2.5, 3.625], [1, 2, 3, 4]),
    "rank-then-median": ([1.0, 2.0, 2.5, 4.0], [1, 2, 3, 4]),
    "test-then-rank": ([0.0, THIRD, THIRD, 0.0], [3, 1, 1, 3]),
    "test-then-rank-holm": ([0.0, 0.0, 0.0, 0.0], [1, 1, 1, 1]),
}
P = [
    [np.nan, 0.0900972, 0.135091, 0.0704970],
    [0.930727, np.nan, 0.217475, 0.0111271],
    [0.898364, 0.8219196, np.nan, 0.0103531],
    [0.946552, 0.9929623, 0.992926, np.nan],
]


def ranks(scheme: str) -> np.ndarray:
    return apply_scheme(SCHEMES[scheme], [TABLE], WHOLE, RankingOptions()).ranks[0]


def test_all_schemes_have_a_golden_row() -> None:
    assert EXPECTED.keys() == SCHEMES.keys()


@pytest.mark.parametrize("scheme", EXPECTED)
def test_scores_and_ranks(scheme: str) -> None:
    outcome = apply_scheme(SCHEMES[scheme], [TABLE], WHOLE, RankingOptions())
    scores, positions = EXPECTED[scheme]
    assert outcome.scores[0] == pytest.approx(scores, abs=1e-12)
    assert outcome.ranks[0].tolist() == positions


def test_ranks_in_every_case() -> None:
    assert case_positions(TABLE.values, "higher").tolist() == [
        [1, 1, 1, 1, 1, 1, 1, 4],
        [3, 3, 3, 2, 2, 2, 2, 1],
        [2, 2, 1, 3, 4, 3, 3, 2],
        [4, 4, 4, 4, 2, 4, 4, 3],
    ]


def test_p_values() -> None:
    p = pairwise_p(TABLE.gains(), WHOLE)[0]
    np.testing.assert_allclose(p, P, atol=6e-7)


def test_holm_against_a_calculation_by_hand() -> None:
    # 12 pairs; the smallest is 12 * .01035311, the second 11 * .0111271 = .1223976 and may not be below the first.
    adjusted = holm_over_pairs(pairwise_p(TABLE.gains(), WHOLE)[0])
    assert adjusted[2, 3] == pytest.approx(12 * 0.0103531, abs=1e-6)
    assert adjusted[1, 3] == pytest.approx(12 * 0.0103531, abs=1e-6)
    assert adjusted[0, 3] == pytest.approx(10 * 0.0704970, abs=1e-5)
    assert adjusted[3, 1] == 1.0


def test_tau_between_schemes() -> None:
    mean, rank, test = ranks("mean-then-rank"), ranks("rank-then-mean"), ranks("test-then-rank")
    assert tau_b(mean, rank) == pytest.approx(0.3333, abs=5e-5)
    assert tau_b(mean, test) == pytest.approx(0.8164965809, abs=1e-10)
    assert tau_b(rank, test) == 0.0


def test_a_missing_value_comes_after_all_others_in_its_case() -> None:
    values = np.array([[0.9], [0.9], [0.9], [np.nan]])
    assert case_positions(values, "higher").ravel().tolist() == [1, 1, 1, 2]


def test_the_literal_reading_agrees_with_the_golden_figures() -> None:
    assert literal.means(VALUES, 0.0) == pytest.approx(EXPECTED["mean-then-rank"][0])
    assert literal.medians(VALUES, 0.0) == pytest.approx(EXPECTED["median-then-rank"][0])
    assert literal.quantiles(VALUES, 0.0, 0.05) == pytest.approx(EXPECTED["quantile-then-rank"][0])
    np.testing.assert_allclose(literal.p_table(VALUES, 0.0, higher_is_better=True), P, atol=6e-7)
    assert literal.wins(P) == pytest.approx(EXPECTED["test-then-rank"][0])
