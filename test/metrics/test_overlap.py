"""Dice and IoU: worked figures, policies and MONAI's own answers."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from metrics.label_images import spaced_pairs, worked_example
from metrics.masks import Mask
from monai.metrics import compute_dice, compute_iou

from podium.metrics.overlap import count_voxels, dice, iou


def double_channels(mask: Mask) -> torch.Tensor:
    """MONAI divides in the type of a multi-channel reference; its single-channel path would round to float32."""
    return torch.from_numpy(mask.astype(np.float64)).expand(1, 2, *mask.shape)


def test_figures_of_the_worked_example() -> None:
    prediction, reference = worked_example()
    assert dice(prediction=prediction, reference=reference) == 0.75
    assert iou(prediction=prediction, reference=reference) == 0.6
    assert count_voxels(prediction=prediction, reference=reference).shared == 48


@pytest.mark.parametrize(("prediction", "reference", "expected"), [(0, 0, 1.0), (1, 0, 0.0), (0, 1, 0.0)])
def test_empty_masks_follow_the_policy(prediction: int, reference: int, expected: float) -> None:
    masks = {"prediction": np.full((2, 3), bool(prediction)), "reference": np.full((2, 3), bool(reference))}
    assert dice(**masks) == iou(**masks) == expected


@settings(max_examples=150, deadline=None)
@given(spaced_pairs())
def test_agrees_with_monai(pair: tuple[Mask, Mask, tuple[float, ...]]) -> None:
    prediction, reference, _ = pair
    masks = {"y_pred": double_channels(prediction), "y": double_channels(reference), "include_background": False}
    assert dice(prediction=prediction, reference=reference) == float(compute_dice(**masks))
    assert iou(prediction=prediction, reference=reference) == pytest.approx(float(compute_iou(**masks)), abs=1e-7)
