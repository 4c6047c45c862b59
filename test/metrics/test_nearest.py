"""Nearest distances against all pairs: few and many elements, near and far, in two and three dimensions."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from podium.metrics.surfaces import Boundary, nearest_distances


def random_boundary(seed: int, shape: tuple[int, ...], count: int) -> Boundary:
    places = np.random.default_rng(seed).choice(np.prod(shape), count, replace=False)
    return Boundary(shape=shape, places=np.sort(places))


@pytest.mark.parametrize("scale", [(1.0, 1.0, 1.0), (5.0, 0.7, 0.7), (0.3, 2.0, 1.1)])
@pytest.mark.parametrize("count", [20, 1500])
@pytest.mark.parametrize("goals", [1, 40, 2500])
def test_is_the_least_of_all_distances(scale: tuple[float, ...], count: int, goals: int) -> None:
    start, goal = random_boundary(1, (16, 17, 18), count), random_boundary(2, (16, 17, 18), goals)
    expected = cdist(start.coordinates() * scale, goal.coordinates() * scale).min(axis=1)
    np.testing.assert_allclose(nearest_distances(start, goal, np.array(scale)), expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("goals", [3, 1200])
def test_in_two_dimensions(goals: int) -> None:
    start, goal = random_boundary(3, (60, 70), 1400), random_boundary(4, (60, 70), goals)
    expected = cdist(start.coordinates() * (1.0, 3.0), goal.coordinates() * (1.0, 3.0)).min(axis=1)
    np.testing.assert_allclose(nearest_distances(start, goal, np.array([1.0, 3.0])), expected, rtol=0, atol=1e-9)


def test_nothing_to_reach_is_infinitely_far() -> None:
    some, none = random_boundary(5, (9, 9), 4), random_boundary(5, (9, 9), 0)
    assert nearest_distances(some, none, np.ones(2)).tolist() == [np.inf] * 4
    assert len(nearest_distances(none, some, np.ones(2))) == 0
