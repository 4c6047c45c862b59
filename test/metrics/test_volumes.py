"""Differences of volumes: worked figures, empty masks, and the cohort's root mean square on bootstrap replicates."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from metrics.label_images import worked_example

from podium.metrics.overlap import (
    count_voxels,
    relative_volume_difference,
    volume_difference_ml,
    volume_rmse_ml,
    volume_similarity,
    voxel_ml,
)
from podium.metrics.resampling import Resamples

SPACING = (2.0, 1.0, 1.0)


def test_figures_of_the_worked_example() -> None:
    prediction, reference = worked_example()
    counts = count_voxels(prediction=prediction, reference=reference)
    sizes = {"prediction": counts.prediction, "reference": counts.reference}
    assert volume_difference_ml(**sizes, spacing_mm=SPACING) == 0.0
    assert relative_volume_difference(**sizes) == 0.0
    assert volume_similarity(**sizes) == 1.0


def test_volumes_that_differ() -> None:
    """600 and 200 voxels of 2 mm³."""
    assert voxel_ml(SPACING) == voxel_ml((1.0, *SPACING[:2])) == voxel_ml(SPACING[:2]) == 0.002
    assert volume_difference_ml(prediction=600, reference=200, spacing_mm=SPACING) == pytest.approx(0.8)
    assert relative_volume_difference(prediction=600, reference=200) == 2.0
    assert volume_similarity(prediction=600, reference=200) == 0.5


@pytest.mark.parametrize(
    ("prediction", "reference", "difference_ml", "relative", "similarity"),
    [(0, 0, 0.0, None, 1.0), (0, 500, 1.0, 1.0, 0.0), (500, 0, 1.0, None, 0.0)],
)
def test_empty_masks(
    prediction: int, reference: int, difference_ml: float, relative: float | None, similarity: float
) -> None:
    sizes = {"prediction": prediction, "reference": reference}
    assert volume_difference_ml(**sizes, spacing_mm=SPACING) == difference_ml
    assert relative_volume_difference(**sizes) == relative
    assert volume_similarity(**sizes) == similarity


def test_root_mean_square_over_cases() -> None:
    assert volume_rmse_ml(squares=np.array([25.0, 0.0]), cases=np.array([4.0, 1.0])).tolist() == [2.5, 0.0]


@given(st.lists(st.floats(0, 1e4), min_size=1, max_size=12), st.integers(0, 99))
def test_root_mean_square_of_every_replicate(differences: list[float], seed: int) -> None:
    resamples = Resamples.draw(cases=len(differences), replicates=5, seed=seed)
    totals = resamples.total([(difference**2, 1) for difference in differences])
    found = volume_rmse_ml(squares=totals[:, 0], cases=totals[:, 1])
    for value, counts in zip(found, resamples.counts, strict=True):
        drawn = np.repeat(differences, counts)
        assert value == pytest.approx(math.sqrt(math.fsum(drawn**2) / len(drawn)), rel=1e-12)
