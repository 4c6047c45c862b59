"""How the volumes of two masks differ, from their numbers of voxels; where they are is no matter here."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from podium.metrics.policy import AGREEMENT, RELATIVE_TO_REFERENCE, Policy
from podium.metrics.resampling import Floats, Resamples


def voxel_ml(spacing_mm: Sequence[float]) -> float:
    """The volume of one voxel in ml, from its three sizes in mm."""
    depth, height, width = spacing_mm
    return depth * height * width / 1000


def volume_difference_ml(*, prediction: int, reference: int, spacing_mm: Sequence[float]) -> float:
    """|Vp - Vg| in ml of two numbers of voxels; 0 is best. An empty mask has the volume 0."""
    return abs(prediction - reference) * voxel_ml(spacing_mm)


def relative_volume_difference(
    *, prediction: int, reference: int, policy: Policy = RELATIVE_TO_REFERENCE
) -> float | None:
    """|Vp - Vg| / Vg of two numbers of voxels; 0 is best, there is no upper bound, and an empty prediction has 1.

    By default None where the reference is empty.
    """
    if policy.applies(prediction=prediction, reference=reference):
        return policy.value(prediction=prediction, reference=reference)
    return abs(prediction - reference) / reference


def volume_similarity(*, prediction: int, reference: int, policy: Policy = AGREEMENT) -> float | None:
    """1 - |Vp - Vg| / (Vp + Vg) of two numbers of voxels, between 0 and 1, higher is better (Taha and Hanbury 2015).

    Empty masks follow the policy (default: both empty 1, one empty 0).
    """
    if policy.applies(prediction=prediction, reference=reference):
        return policy.value(prediction=prediction, reference=reference)
    return 1 - abs(prediction - reference) / (prediction + reference)


def volume_rmse_ml(differences_ml: ArrayLike, resamples: Resamples) -> Floats:
    """The root of the mean squared volume difference over each replicate's cases, in ml; lower is better.

    `differences_ml` has one value per case. NaN where a replicate holds no case.
    """
    return np.sqrt(resamples.mean(np.square(np.asarray(differences_ml, np.float64))))
