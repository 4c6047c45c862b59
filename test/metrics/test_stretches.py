"""Long runs in few means."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.metrics.displacement import stretch_means, stretched


def test_means_by_hand() -> None:
    assert stretch_means([1, 2, 3, 4, 50], most=3) == [1.5, 3.5, 50]
    assert stretched([1.5, 3.5, 50], length=5) == [1.5, 1.5, 3.5, 3.5, 50]
    assert stretch_means([], most=3) == []
    assert stretched([], length=0) == []


@given(st.integers(1, 10_000))
def test_every_mean_goes_back_to_its_places(length: int) -> None:
    values = [float(number) for number in range(length)]
    means = stretch_means(values)
    assert len(means) <= 100
    again = stretched(means, length=length)
    assert len(again) == length
    size = again.count(again[0])
    # Of 0, 1, 2, ... the mean of a stretch of `size` that starts at s is s + (size - 1) / 2, the last one's less.
    assert all(again[place] == place // size * size + (size - 1) / 2 for place in range(length // size * size))
    assert sum(mean or 0 for mean in again) == pytest.approx(sum(values))


@given(st.lists(st.floats(0, 1e3), min_size=1, max_size=100))
def test_short_runs_stay_as_they_are(values: list[float]) -> None:
    assert stretch_means(values) == values
