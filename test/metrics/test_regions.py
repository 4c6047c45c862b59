"""The regions of two label images: boxes and masks against whole-image masks, for every integer type."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from metrics.masks import Mask
from numpy.typing import NDArray

from podium.metrics.overlap import Region, find_regions

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
@settings(max_examples=150, deadline=None)
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
