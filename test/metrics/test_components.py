"""Centre-line Dice and the error in components: worked figures, empty masks and literal readings."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from literal import lesion_matching as literal
from metrics.made import Mask, spaced_pairs
from properties import examples
from skimage.morphology import skeletonize

from podium.metrics.components import Connectivity, cldice, component_error

Spaced = tuple[Mask, Mask, tuple[float, ...]]


def test_cldice_of_two_lines() -> None:
    """Lines are their own centre lines: 3 of 4 voxels are within the other, and 3 of 6."""
    prediction, reference = np.zeros((2, 3, 9), np.bool_)
    prediction[1, 1:5] = True
    reference[1, 2:8] = True
    assert cldice(prediction=prediction, reference=reference) == pytest.approx(2 * 0.75 * 0.5 / 1.25)


def test_cldice_looks_at_the_centre_line_only() -> None:
    """The centre line of a bar three wide is within a bar one wide but for a voxel at its end; Dice is 0.5."""
    prediction, reference = np.zeros((2, 9, 40), np.bool_)
    prediction[3:6, 2:38] = True
    reference[4, 2:38] = True
    line = np.count_nonzero(skeletonize(prediction))
    assert line == 35
    precision = (line - 1) / line
    assert cldice(prediction=prediction, reference=reference) == pytest.approx(2 * precision / (precision + 1))


def test_cldice_of_masks_without_a_centre_line() -> None:
    """scikit-image's 3-D skeleton of a cube of 2x2x2 voxels is empty."""
    cube = np.pad(np.ones((2, 2, 2), np.bool_), 1)
    assert not skeletonize(cube).any()
    assert cldice(prediction=cube, reference=cube) == 1.0


def test_cldice_is_zero_where_nothing_meets() -> None:
    prediction, reference = np.zeros((2, 3, 9), np.bool_)
    prediction[0], reference[2] = True, True
    assert cldice(prediction=prediction, reference=reference) == 0.0


@examples(80)
@given(spaced_pairs(), st.integers(0, 2))
def test_cldice_agrees_with_the_formula_on_any_crop(pair: Spaced, margin: int) -> None:
    """The whole image, of which the masks are a part, has background round them."""
    whole = [np.pad(mask, 3) for mask in pair[:2]]
    lines = [skeletonize(mask) for mask in whole]
    if not all(line.any() for line in lines):
        return
    precision = (lines[0] & whole[1]).sum() / lines[0].sum()
    sensitivity = (lines[1] & whole[0]).sum() / lines[1].sum()
    expected = 2 * precision * sensitivity / (precision + sensitivity) if precision + sensitivity else 0.0
    prediction, reference = (np.pad(mask, margin) for mask in pair[:2])
    assert cldice(prediction=prediction, reference=reference) == pytest.approx(expected, abs=1e-12)


def test_cldice_of_a_region_in_one_slice_is_that_of_the_whole_volume() -> None:
    """scikit-image keeps another line of the slice alone than of the slice in a volume."""
    slab, corner = np.ones((1, 4, 4), np.bool_), np.zeros((1, 4, 4), np.bool_)
    corner[0, 0, 0] = True
    whole = cldice(prediction=np.pad(slab, 2), reference=np.pad(corner, 2))
    assert whole is not None
    assert cldice(prediction=slab, reference=corner) == whole > 0


def test_component_error_of_voxels_that_meet_at_corners() -> None:
    """Two voxels at a corner: two components by faces and edges, one by corners."""
    prediction = np.zeros((2, 2, 2), np.bool_)
    prediction[0, 0, 0] = prediction[1, 1, 1] = True
    reference = np.ones((2, 2, 2), np.bool_)
    errors = [component_error(prediction=prediction, reference=reference, connectivity=c) for c in (6, 18, 26)]
    assert errors == [1, 1, 0]
    assert component_error(prediction=~reference, reference=prediction, connectivity=6) == 2


@examples(80)
@given(spaced_pairs(empty=True), st.sampled_from([6, 18, 26]))
def test_component_error_agrees_with_the_literal_reading(pair: Spaced, connectivity: Connectivity) -> None:
    prediction, reference, _ = pair
    expected = abs(len(literal.components(prediction, connectivity)) - len(literal.components(reference, connectivity)))
    assert component_error(prediction=prediction, reference=reference, connectivity=connectivity) == expected
