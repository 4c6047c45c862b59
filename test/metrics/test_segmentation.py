"""Dice and NSD: worked figures, a literal reading of the rule, and MONAI's own answers."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from literal import carotid as literal
from metrics.masks import Mask, mask_pairs
from monai.metrics import compute_surface_dice

from podium.metrics.overlap import bounding_box, dice
from podium.metrics.surfaces import measure_surfaces


def surface_dice(*, prediction: Mask, reference: Mask, tolerance_px: float) -> float | None:
    return measure_surfaces(prediction=prediction, reference=reference).nsd(tolerance_px)


def block(rows: slice, columns: slice) -> Mask:
    mask = np.zeros((8, 8), dtype=bool)
    mask[rows, columns] = True
    return mask


REFERENCE = block(slice(2, 6), slice(2, 6))
PREDICTION = block(slice(3, 7), slice(2, 6))
EMPTY = np.zeros((8, 8), dtype=bool)


def test_dice_of_the_worked_example() -> None:
    assert dice(prediction=PREDICTION, reference=REFERENCE) == 0.75


@pytest.mark.parametrize(("tolerance_px", "expected"), [(0, 0.5), (1, 1.0), (3, 1.0)])
def test_nsd_of_the_worked_example(tolerance_px: float, expected: float) -> None:
    assert surface_dice(prediction=PREDICTION, reference=REFERENCE, tolerance_px=tolerance_px) == expected


@pytest.mark.parametrize(
    ("prediction", "reference", "expected"), [(EMPTY, EMPTY, 1.0), (EMPTY, REFERENCE, 0.0), (PREDICTION, EMPTY, 0.0)]
)
def test_empty_masks_follow_the_policy(prediction: Mask, reference: Mask, expected: float) -> None:
    assert dice(prediction=prediction, reference=reference) == expected
    assert surface_dice(prediction=prediction, reference=reference, tolerance_px=3) == expected


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


@settings(max_examples=300, deadline=None)
@given(mask_pairs(), st.sampled_from([0, 1, 1.5, 2, 3, 7]))
def test_agrees_with_the_literal_reading(pair: tuple[Mask, Mask], tolerance_px: float) -> None:
    prediction, reference = pair
    assert dice(prediction=prediction, reference=reference) == pytest.approx(
        literal.dice(prediction, reference), abs=1e-12
    )
    ours = surface_dice(prediction=prediction, reference=reference, tolerance_px=tolerance_px)
    assert ours == pytest.approx(literal.nsd(prediction, reference, tolerance_px), abs=1e-12)


@pytest.mark.filterwarnings("ignore:monai.metrics.utils get_mask_edges:FutureWarning")  # of MONAI's own making
@settings(max_examples=200, deadline=None)
@given(mask_pairs(), st.sampled_from([0, 1, 3]))
def test_agrees_with_monai_where_monai_answers(pair: tuple[Mask, Mask], tolerance_px: float) -> None:
    prediction, reference = pair
    if not prediction.any() or not reference.any():
        return
    theirs = compute_surface_dice(
        torch.from_numpy(prediction)[None, None],
        torch.from_numpy(reference)[None, None],
        class_thresholds=[float(tolerance_px)],
        include_background=True,
    )
    ours = surface_dice(prediction=prediction, reference=reference, tolerance_px=tolerance_px)
    assert ours == pytest.approx(float(theirs), abs=1e-7)


@settings(max_examples=200, deadline=None)
@given(mask_pairs(), st.sampled_from([0, 1, 3]))
def test_cropping_changes_nothing(pair: tuple[Mask, Mask], tolerance_px: float) -> None:
    prediction, reference = pair
    box = bounding_box(prediction | reference) or ()
    cropped_prediction, cropped_reference = prediction[box], reference[box]
    assert dice(prediction=cropped_prediction, reference=cropped_reference) == dice(
        prediction=prediction, reference=reference
    )
    assert surface_dice(
        prediction=cropped_prediction, reference=cropped_reference, tolerance_px=tolerance_px
    ) == surface_dice(prediction=prediction, reference=reference, tolerance_px=tolerance_px)


@settings(max_examples=100, deadline=None)
@given(mask_pairs())
def test_is_symmetric_and_bounded(pair: tuple[Mask, Mask]) -> None:
    one, other = pair
    there = surface_dice(prediction=one, reference=other, tolerance_px=1)
    assert there == surface_dice(prediction=other, reference=one, tolerance_px=1)
    assert 0.0 <= there <= 1.0
