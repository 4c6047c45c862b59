"""Normalised surface Dice of two masks in pixels."""

import numpy as np
from numpy.typing import NDArray

from podium.metrics.policy import AGREEMENT, Policy
from podium.metrics.surface_distances import measure_surfaces


def surface_dice(
    *,
    prediction: NDArray[np.bool_],
    reference: NDArray[np.bool_],
    tolerance_px: float,
    policy: Policy = AGREEMENT,
) -> float | None:
    """NSD = (P-boundary within the tolerance of G's + G-boundary within the tolerance of P's) / (both boundaries).

    Boundary = mask xor its erosion by the 4-neighbour cross, pixels beyond the image counting as background; distances
    are Euclidean in pixels and compared with `<=`. Between 0 and 1, higher is better. The definition is that of MONAI's
    `compute_surface_dice`. Empty masks follow the policy (default: both empty 1, one empty 0).
    """
    return measure_surfaces(prediction=prediction, reference=reference).nsd(tolerance_px, policy=policy)
