"""Dice, IoU, volumes and regions: worked figures and literal readings. MONAI: test_engines.py."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from literal import carotid as literal
from metrics.made import Mask, mask_pairs, worked_example
from numpy.typing import NDArray
from properties import examples

from podium.metrics.overlap import (
    Region,
    VoxelCounts,
    count_voxels,
    find_regions,
    relative_volume_difference,
    volume_difference_ml,
    volume_rmse_ml,
    volume_similarity,
    voxel_ml,
)
from podium.metrics.resampling import Resamples
from podium.metrics.surfaces import measure_surfaces


def test_figures_of_the_worked_example() -> None:
    prediction, reference = worked_example()
    counts = count_voxels(prediction=prediction, reference=reference)
    assert (counts.dice(), counts.iou(), counts.shared) == (0.75, 0.6, 48)


@pytest.mark.parametrize(("prediction", "reference", "expected"), [(0, 0, 1.0), (1, 0, 0.0), (0, 1, 0.0)])
def test_only_two_empty_masks_agree(prediction: int, reference: int, expected: float) -> None:
    counts = VoxelCounts(prediction=prediction, reference=reference, shared=0)
    assert counts.dice() == counts.iou() == expected
    assert volume_similarity(prediction=prediction, reference=reference) == expected


# The regions of two label images: boxes and masks against whole-image masks, for every integer type.

TYPES = ["uint8", "int8", "uint16", "int16", "uint32", "int32", "int64", "uint64"]


@st.composite
def label_pairs(draw: st.DrawFn) -> tuple[NDArray[Any], NDArray[Any]]:
    shape = draw(st.lists(st.integers(1, 6), min_size=2, max_size=3).map(tuple))
    values = st.sampled_from([0, 0, 0, 1, 2, 3, 40, 41, 120])
    prediction, reference = (draw(arrays(draw(st.sampled_from(TYPES)), shape, elements=values)) for _ in range(2))
    return prediction, reference


def whole_masks(region: Region) -> tuple[Mask, Mask]:
    """The masks of a region, put back into images of full size."""
    whole = np.zeros((2, *region.reference_labels.shape), np.bool_)
    if region.box is not None:
        whole[(slice(None), *region.box)] = region.masks()
    return whole[0], whole[1]


def literal_mask(labels: NDArray[Any], values: frozenset[int], counted: Mask) -> Mask:
    return np.array([int(value) in values for value in labels.flat], np.bool_).reshape(labels.shape) & counted


REGIONS = {
    "one": frozenset({1}),
    "union": frozenset({2, 3}),
    "absent": frozenset({77}),
    "beyond": frozenset({70_000, 2}),
    "background": frozenset({0}),
    "many": frozenset({*range(38, 50), 300}),
    "none": frozenset[int](),
}


FEW_REGIONS = {name: REGIONS[name] for name in ("one", "union", "background")}  # searched value by value


@pytest.mark.parametrize("regions", [REGIONS, FEW_REGIONS], ids=["many", "few"])
@examples(150)
@given(pair=label_pairs(), ignore=st.sampled_from([None, 3, 120]))
def test_regions_are_the_whole_masks_cut_out(
    regions: Mapping[str, frozenset[int]], pair: tuple[NDArray[Any], NDArray[Any]], ignore: int | None
) -> None:
    prediction, reference = pair
    counted = np.full(reference.shape, True) if ignore is None else reference != ignore
    found = find_regions(prediction=prediction, reference=reference, regions=regions, ignore=ignore)
    assert list(found) == list(regions)
    for name, values in regions.items():
        for ours, labels in zip(whole_masks(found[name]), pair, strict=True):
            np.testing.assert_array_equal(ours, literal_mask(labels, values, counted))


def test_the_box_is_tight_but_for_one_voxel_within_the_image() -> None:
    prediction, reference = np.zeros((2, 9, 9, 9), np.uint8)
    reference[3:5, 0, 4] = 1
    prediction[4, 2, 8] = 1
    region = find_regions(prediction=prediction, reference=reference, regions={"one": frozenset({1})})["one"]
    assert region.box == (slice(2, 6), slice(0, 4), slice(3, 9))
    cut, whole = region.masks(), (prediction == 1, reference == 1)
    for ours, expected in zip(cut, whole, strict=True):
        np.testing.assert_array_equal(ours, expected[region.box])


def test_a_region_that_is_nowhere_has_no_box_and_no_voxels() -> None:
    labels = np.ones((4, 4), np.int16)
    region = find_regions(prediction=labels, reference=labels, regions={"two": frozenset({2})})["two"]
    assert region.box is None
    assert [mask.size for mask in region.masks()] == [0, 0]


def test_images_of_two_shapes_are_an_error() -> None:
    with pytest.raises(ValueError, match="shape"):
        find_regions(prediction=np.zeros((2, 3), int), reference=np.zeros((3, 2), int), regions={})


# Differences of volumes: worked figures, empty masks, and the cohort's root mean square on bootstrap replicates.

SPACING = (2.0, 1.0, 1.0)


@pytest.mark.parametrize(
    ("prediction", "reference", "difference_ml", "relative", "similarity"),
    [
        (64, 64, 0.0, 0.0, 1.0),
        (600, 200, 0.8, 2.0, 0.5),
        (0, 0, 0.0, None, 1.0),
        (0, 500, 1.0, 1.0, 0.0),
        (500, 0, 1.0, None, 0.0),
    ],
)
def test_volumes_in_voxels_of_2_cubic_mm(
    prediction: int, reference: int, difference_ml: float, relative: float | None, similarity: float
) -> None:
    sizes = {"prediction": prediction, "reference": reference}
    assert voxel_ml(SPACING) == voxel_ml((1.0, *SPACING[:2])) == voxel_ml(SPACING[:2]) == 0.002
    assert volume_difference_ml(**sizes, spacing_mm=SPACING) == pytest.approx(difference_ml)
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


# Dice and NSD of images: worked figures, and a literal reading of the rule.


def surface_dice(*, prediction: Mask, reference: Mask, tolerance_px: float) -> float | None:
    return measure_surfaces(prediction=prediction, reference=reference).nsd(tolerance_px)


def block(rows: slice, columns: slice) -> Mask:
    mask = np.zeros((8, 8), dtype=bool)
    mask[rows, columns] = True
    return mask


REFERENCE = block(slice(2, 6), slice(2, 6))
PREDICTION = block(slice(3, 7), slice(2, 6))


@pytest.mark.parametrize(("tolerance_px", "expected"), [(0, 0.5), (1, 1.0), (3, 1.0)])
def test_nsd_of_the_worked_example(tolerance_px: float, expected: float) -> None:
    assert surface_dice(prediction=PREDICTION, reference=REFERENCE, tolerance_px=tolerance_px) == expected


def test_distances_equal_to_the_tolerance_count() -> None:
    """Two single pixels 3 rows and 4 columns apart are exactly 5 apart."""
    prediction, reference = block(slice(0, 1), slice(0, 1)), block(slice(3, 4), slice(4, 5))
    assert surface_dice(prediction=prediction, reference=reference, tolerance_px=5) == 1.0
    assert surface_dice(prediction=prediction, reference=reference, tolerance_px=4.999) == 0.0


def test_pixels_beyond_the_image_are_background() -> None:
    """A full 3x3 image has 8 boundary pixels: its middle touches no background. Its middle alone is one more."""
    full = np.ones((3, 3), dtype=bool)
    middle = np.zeros((3, 3), dtype=bool)
    middle[1, 1] = True
    assert surface_dice(prediction=full, reference=middle, tolerance_px=0) == 0.0
    assert surface_dice(prediction=full, reference=middle, tolerance_px=1) == pytest.approx((4 + 1) / 9, abs=1e-15)


@examples(300)
@given(mask_pairs(), st.sampled_from([0, 1, 1.5, 2, 3, 7]))
def test_agrees_with_the_literal_reading(pair: tuple[Mask, Mask], tolerance_px: float) -> None:
    prediction, reference = pair
    counts = count_voxels(prediction=prediction, reference=reference)
    assert counts.dice() == pytest.approx(literal.dice(prediction, reference), abs=1e-12)
    ours = surface_dice(prediction=prediction, reference=reference, tolerance_px=tolerance_px)
    assert ours == pytest.approx(literal.nsd(prediction, reference, tolerance_px), abs=1e-12)
