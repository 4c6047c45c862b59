"""The vectorised tests against SciPy's own, on data full of ties and zeros, and in every replicate."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from literal import ranking as literal

from podium.metrics.resampling import Resamples
from podium.tools.ranking.statistics import holm_over_pairs, pairwise_p, share_of_significant_wins

COARSE = st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0])


@given(hnp.arrays(np.float64, st.tuples(st.just(3), st.integers(1, 30)), elements=st.one_of(COARSE, st.floats(0, 1))))
@settings(max_examples=80, deadline=None)
def test_p_is_scipys(values: np.ndarray) -> None:
    p = pairwise_p(values, Resamples.whole(values.shape[1]))[0]
    expected = literal.p_table(values.tolist(), 0.0, higher_is_better=True)
    np.testing.assert_allclose(p, expected, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(holm_over_pairs(p), literal.holm(expected), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("cases", [40, 5000])  # single and double precision
def test_replicates_are_tests_of_the_drawn_cases(cases: int) -> None:
    generator = np.random.default_rng(8)
    values = np.round(generator.random((3, cases)), 2)  # ties of sizes as well as of cases drawn twice
    resamples = Resamples.draw(cases=cases, replicates=4, seed=2)
    p = pairwise_p(values, resamples)
    for replicate, counts in enumerate(resamples.counts):
        expected = literal.p_table(np.repeat(values, counts, axis=1).tolist(), 0.0, higher_is_better=True)
        np.testing.assert_allclose(p[replicate], expected, rtol=1e-9)


def test_the_number_of_threads_changes_no_bit() -> None:
    values = np.random.default_rng(1).random((6, 50))
    resamples = Resamples.draw(cases=50, replicates=30, seed=2)
    np.testing.assert_array_equal(pairwise_p(values, resamples, workers=1), pairwise_p(values, resamples, workers=3))


def test_infinite_worst_values_are_equal_to_each_other() -> None:
    values = -np.array([[1.0, math.inf, 2.0, math.inf], [3.0, math.inf, math.inf, 1.0]])
    p = pairwise_p(values, Resamples.whole(4))[0]
    # Differences 2, 0, infinite, -infinite: ranks 1, 2.5, 2.5; W+ = 3.5 of 6, n = 3, one tie of two.
    deviation = math.sqrt((3 * 4 * 7 - (8 - 2) / 2) / 24)
    assert p[0, 1] == pytest.approx(0.5 * math.erfc((3.5 - 3 - 0.5) / deviation / math.sqrt(2)))


def test_teams_that_never_differ_have_no_p_and_no_wins() -> None:
    p = pairwise_p(np.ones((2, 5)), Resamples.whole(5))[0]
    assert np.isnan(p).all()
    assert share_of_significant_wins(p, alpha=0.05).tolist() == [0.0, 0.0]
