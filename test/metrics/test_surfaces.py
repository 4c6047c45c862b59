"""NSD, Hausdorff and mean surface distances: worked figures, the literal reading and the package surface-distance;
test_engines.py compares boundary voxels with MONAI."""

import math
import statistics
import warnings
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st
from literal import surfaces as literal
from metrics.made import Mask, spaced_pairs, worked_example
from monai.metrics import compute_surface_dice
from properties import examples
from scipy.spatial.distance import cdist

from podium.metrics.surfaces import (
    Boundary,
    BoundaryKind,
    SurfaceDistances,
    diagonal_mm,
    measure_surfaces,
    nearest_distances,
)

SPACING = (2.0, 1.0, 1.0)
Spaced = tuple[Mask, Mask, tuple[float, ...]]


def surface_distance_package() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        import surface_distance
    return surface_distance


@pytest.fixture(scope="module")
def worked() -> SurfaceDistances:
    prediction, reference = worked_example()
    return measure_surfaces(prediction=prediction, reference=reference, spacing=SPACING)


def test_boundaries_of_the_worked_example(worked: SurfaceDistances) -> None:
    assert len(worked.prediction.distances) == len(worked.reference.distances) == 56
    assert np.count_nonzero(worked.prediction.distances == 0) == 36


def test_figures_of_the_worked_example(worked: SurfaceDistances) -> None:
    assert worked.nsd(0.0) == pytest.approx(0.642857, abs=1e-6)
    assert worked.nsd(1.0) == 1.0
    assert worked.hausdorff(percentile=100) == worked.hausdorff() == 1.0
    assert worked.assd() == worked.masd() == pytest.approx(0.357143, abs=1e-6)


def test_combining_and_averaging_differ_where_the_boundaries_differ_in_size() -> None:
    """One voxel against a line of five from its place on: distances 0 and 0, 1, 2, 3, 4."""
    reference, prediction = np.zeros((2, 1, 5), np.bool_)
    reference[0, 0] = True
    prediction[0] = True
    found = measure_surfaces(prediction=prediction, reference=reference)
    assert found.hausdorff(percentile=50) == 2.0
    assert found.hausdorff(percentile=50, combine="pooled") == 1.5
    assert found.assd() == pytest.approx(10 / 6)
    assert found.masd() == 1.0


@pytest.mark.parametrize("boundary", ["voxels", "surface"])
@pytest.mark.parametrize(("sides", "nsd"), [((0, 0), 1.0), ((1, 0), 0.0), ((0, 1), 0.0)])
def test_only_two_empty_masks_agree(boundary: BoundaryKind, sides: tuple[int, int], nsd: float) -> None:
    prediction, reference = (np.full((2, 3, 4), bool(side)) for side in sides)
    assert measure_surfaces(prediction=prediction, reference=reference, boundary=boundary).nsd(1.0) == nsd


def test_a_distance_that_equals_the_tolerance_but_for_rounding_counts() -> None:
    """Three voxels of 0.1 mm are 0.30000000000000004 mm in double precision, and 0.3 mm in MONAI's single precision."""
    reference, prediction = np.zeros((2, 1, 9), np.bool_)
    reference[0, 1] = prediction[0, 4] = True
    assert measure_surfaces(prediction=prediction, reference=reference, spacing=(1.0, 0.1)).nsd(0.3) == 1.0
    assert monai_nsd(prediction, reference, (1.0, 0.1), 0.3) == 1.0


def test_diagonal() -> None:
    assert diagonal_mm(shape=(3, 4), spacing_mm=(2.0, 2.0)) == 10.0


@examples(80)
@given(spaced_pairs(), st.sampled_from([0.0, 0.7, 1.4, 2.0, 3.0]))
def test_agrees_with_the_literal_reading(pair: Spaced, tolerance: float) -> None:
    prediction, reference, spacing = pair
    there = literal.directed(prediction, reference, spacing)
    back = literal.directed(reference, prediction, spacing)
    found = measure_surfaces(prediction=prediction, reference=reference, spacing=spacing)
    near = sum(distance <= tolerance + 1e-7 for distance in there + back)
    assert found.nsd(tolerance) == pytest.approx(near / len(there + back), abs=1e-12)
    for share in (50, 95, 100):
        largest = max(literal.percentile(one_way, share) for one_way in (there, back))
        assert found.hausdorff(percentile=share) == pytest.approx(largest, abs=1e-9)
        pooled = literal.percentile(there + back, share)
        assert found.hausdorff(percentile=share, combine="pooled") == pytest.approx(pooled, abs=1e-9)
    assert found.assd() == pytest.approx(statistics.fmean(there + back), abs=1e-9)
    expected = (statistics.fmean(there) + statistics.fmean(back)) / 2
    assert found.masd() == pytest.approx(expected, abs=1e-9)


def channels(mask: Mask) -> torch.Tensor:
    return torch.from_numpy(mask)[None, None]


def monai_nsd(prediction: Mask, reference: Mask, spacing: tuple[float, ...], tolerance: float, **more: Any) -> float:
    pair = (channels(prediction), channels(reference))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        return float(compute_surface_dice(*pair, [tolerance], include_background=True, spacing=spacing, **more))


@pytest.mark.filterwarnings("ignore:Please:DeprecationWarning")  # surface-distance uses old names of SciPy
@examples(80)
@given(spaced_pairs(), st.sampled_from([0.0, 0.7, 1.0, 1.4, 2.0, 3.0]))
@example((np.array([[0, 0], [1, 0]]) > 0, np.array([[1, 1], [0, 0]]) > 0, (1.25, 0.7)), 0.0)  # 50 % are reached exactly
@example((np.array([[0, 1, 0, 0]]) > 0, np.array([[0, 1, 1, 1]]) > 0, (0.7, 1.0)), 0.0)  # half of the area at 0
def test_surface_elements_agree_with_the_package_surface_distance(pair: Spaced, tolerance: float) -> None:
    prediction, reference, spacing = pair
    package = surface_distance_package()
    theirs = package.compute_surface_distances(reference, prediction, spacing)
    found = measure_surfaces(prediction=prediction, reference=reference, spacing=spacing, boundary="surface")
    nsd = package.compute_surface_dice_at_tolerance(theirs, tolerance)
    assert found.nsd(tolerance) == pytest.approx(nsd, abs=1e-9)
    for share in (50, 95, 100):
        robust = package.compute_robust_hausdorff(theirs, share)
        # The package adds areas in another order: where exactly this share is reached, rounding decides what it takes.
        near = [found.hausdorff(percentile=each) for each in (share - 1e-9, share, min(100, share + 1e-9))]
        assert any(each == pytest.approx(robust, abs=1e-9) for each in near)
    average = statistics.fmean(package.compute_average_surface_distance(theirs))
    assert found.masd() == pytest.approx(average, abs=1e-9)


@examples(40)
@given(spaced_pairs(), st.sampled_from([0.0, 1.0, 3.0]))
def test_surface_elements_agree_with_monai(pair: Spaced, tolerance: float) -> None:
    prediction, reference, spacing = pair
    found = measure_surfaces(prediction=prediction, reference=reference, spacing=spacing, boundary="surface")
    padded = [np.pad(mask, 2) for mask in (prediction, reference)]  # MONAI's crop leaves surfaces out at the border
    theirs = monai_nsd(*padded, spacing, tolerance, use_subvoxels=True)
    assert found.nsd(tolerance) == pytest.approx(theirs, abs=1e-5)


@examples(60)
@given(spaced_pairs(), st.integers(1, 3))
def test_background_around_the_masks_changes_nothing(pair: Spaced, margin: int) -> None:
    prediction, reference, spacing = pair
    for boundary in ("voxels", "surface"):
        tight, wide = (
            measure_surfaces(
                prediction=np.pad(prediction, width),
                reference=np.pad(reference, width),
                spacing=spacing,
                boundary=boundary,
            )
            for width in (0, margin)
        )
        assert tight.nsd(1.0) == wide.nsd(1.0)
        assert tight.hausdorff() == wide.hausdorff()


def test_surface_elements_of_one_pixel() -> None:
    """Four corners cut off a square of 3 mm by 4 mm, 2.5 mm each: a contour of 10 mm."""
    pixel = np.ones((1, 1), np.bool_)
    found = measure_surfaces(prediction=pixel, reference=pixel, spacing=(3.0, 4.0), boundary="surface")
    assert len(found.reference.distances) == 4
    assert found.reference.total() == 10.0
    assert math.isclose(found.nsd(0.0) or 0, 1.0)


# Nearest distances against all pairs: few and many elements, near and far, in two and three dimensions.


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
