"""Normalised surface Dice: how much of two boundaries agrees within a tolerance."""

import numpy as np
from numpy.typing import NDArray

from podium.metrics.policy import AGREEMENT, Policy


def surface_dice(
    *,
    prediction: NDArray[np.bool_],
    reference: NDArray[np.bool_],
    tolerance_px: float,
    policy: Policy = AGREEMENT,
) -> float | None:
    """NSD = (P-boundary within the tolerance of G's + G-boundary within the tolerance of P's) / (both boundaries).

    Boundary = mask xor its erosion by the 4-neighbour cross, pixels beyond the image counting as background; distances
    are Euclidean in pixels and compared with `<=`. Between 0 and 1, higher is better. Boundaries and distances are
    MONAI's, the two steps of its `compute_surface_dice`; calling them apart skips its tensor cropping, which takes most
    of the time on one pair, and leaves a quotient of two integers instead of a float32. Empty masks follow the policy
    (default: both empty 1, one empty 0).
    """
    sizes = {"prediction": int(prediction.any()), "reference": int(reference.any())}
    if policy.applies(**sizes):
        return policy.value(**sizes)
    from monai.metrics.utils import get_mask_edges, get_surface_distance

    prediction_edge, reference_edge = get_mask_edges(prediction, reference, crop=False)
    distances = (
        get_surface_distance(prediction_edge, reference_edge),
        get_surface_distance(reference_edge, prediction_edge),
    )
    boundary = sum(len(one_way) for one_way in distances)
    within = sum(int(np.count_nonzero(one_way <= tolerance_px)) for one_way in distances)
    return within / boundary
