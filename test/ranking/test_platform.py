"""The live leaderboard's ranking: the published table, and who is left out."""

import pytest

from podium.metrics.declaration import Direction
from podium.tools.ranking.official import platform_ranking
from podium.tools.ranking.schemes import PlatformMethod

SUBMISSIONS = {
    "0": (0.0, 0.0),
    "1": (0.5, 0.2),
    "2": (1.0, 0.3),
    "3": (0.7, 0.4),
    "4": (0.5, 0.5),
    "5": (1.0, None),
    "6": (None, 0.3),
}
UNRANKED = [0, 0]

TABLE: list[tuple[tuple[PlatformMethod, ...], tuple[Direction, Direction], list[int], list[float]]] = [
    (("absolute",), ("higher", "higher"), [5, 3, 1, 2, 3], [5, 3, 1, 2, 3]),
    (("mean", "median"), ("higher", "higher"), [5, 4, 1, 1, 1], [5, 3.5, 2, 2, 2]),
    (("mean", "median"), ("higher", "lower"), [3, 2, 1, 3, 5], [3, 2.5, 2, 3, 4]),
    (("absolute",), ("lower", "lower"), [1, 2, 5, 4, 2], [1, 2, 5, 4, 2]),
    (("mean", "median"), ("lower", "higher"), [2, 2, 5, 2, 1], [3, 3, 4, 3, 1.5]),
    (("mean", "median"), ("lower", "lower"), [1, 2, 4, 4, 3], [1, 2, 4, 4, 3.5]),
]


@pytest.mark.parametrize(
    ("method", "directions", "ranks", "scores"),
    [(method, *row) for methods, *row in TABLE for method in methods],
)
def test_the_published_table(
    method: PlatformMethod, directions: tuple[Direction, Direction], ranks: list[int], scores: list[float]
) -> None:
    places = platform_ranking(SUBMISSIONS, directions, method)
    assert [place.rank for place in places.values()] == ranks + UNRANKED
    assert [place.score for place in places.values()] == [*scores, None, None]


def test_mean_and_median_differ_over_three_columns() -> None:
    # Positions: a 1, 1, 3; b 2, 2, 1; c 3, 3, 2. Means 5/3, 5/3, 8/3; medians 1, 2, 3.
    submissions = {"a": (3.0, 3.0, 1.0), "b": (2.0, 2.0, 3.0), "c": (1.0, 1.0, 2.0)}
    directions: list[Direction] = ["higher"] * 3
    mean = platform_ranking(submissions, directions, "mean")
    median = platform_ranking(submissions, directions, "median")
    assert [place.rank for place in mean.values()] == [1, 1, 3]
    assert [place.rank for place in median.values()] == [1, 2, 3]


def test_nobody_can_be_ranked() -> None:
    assert platform_ranking({"a": (None,)}, ["higher"], "mean")["a"].rank == 0
