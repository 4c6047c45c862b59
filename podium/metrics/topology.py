"""Whether two masks have the same course and the same pieces: centre-line Dice and the error in components."""

import numpy as np
from numpy.typing import NDArray

from podium.metrics.components import Connectivity, label_components
from podium.metrics.policy import AGREEMENT, Policy

Mask = NDArray[np.bool_]


def cldice(*, prediction: Mask, reference: Mask, policy: Policy = AGREEMENT) -> float | None:
    """clDice = 2 Tp Ts / (Tp + Ts), between 0 and 1, higher is better (Shit et al. 2021).

    Tp is the share of the prediction's centre line within the reference, Ts the share of the reference's centre line
    within the prediction. Centre lines are scikit-image's `skeletonize`, 2-D (Zhang) or 3-D (Lee); of some masks, such
    as a cube of 2x2x2 voxels, Lee's method leaves nothing, and such a mask is its own centre line. clDice is 0 where
    neither line meets the other mask. Empty masks follow the policy (default: both empty 1, one empty 0).
    """
    sizes = {"prediction": int(prediction.any()), "reference": int(reference.any())}
    if policy.applies(**sizes):
        return policy.value(**sizes)
    precision = _covered_line(prediction, by=reference)
    sensitivity = _covered_line(reference, by=prediction)
    return 2 * precision * sensitivity / (precision + sensitivity) if precision + sensitivity else 0.0


def component_error(*, prediction: Mask, reference: Mask, connectivity: Connectivity) -> int:
    """|components of P - components of G|, 0 is best (the error in the Betti number 0). 2-D or 3-D."""
    return abs(_count(prediction, connectivity) - _count(reference, connectivity))


def _covered_line(mask: Mask, *, by: Mask) -> float:
    from skimage.morphology import skeletonize

    # Background all round: of a mask that fills an image of one slice Lee's method keeps another line than of the same
    # mask in a larger image, from which it may have been cut.
    line = skeletonize(mask) if mask.ndim == 2 else skeletonize(np.pad(mask, 1))[1:-1, 1:-1, 1:-1]
    if not line.any():
        line = mask
    return int(np.count_nonzero(line & by)) / int(np.count_nonzero(line))


def _count(mask: Mask, connectivity: Connectivity) -> int:
    return label_components(mask[None] if mask.ndim == 2 else mask, connectivity=connectivity).count
