"""How much of two masks is the same: Dice and IoU."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from podium.metrics.policy import AGREEMENT, Policy


@dataclass(frozen=True, kw_only=True)
class VoxelCounts:
    """|P|, |G| and |P∩G|: all that overlap and volume metrics need to know of two masks."""

    prediction: int
    reference: int
    shared: int

    def dice(self, policy: Policy = AGREEMENT) -> float | None:
        """DSC = 2|P∩G| / (|P| + |G|), between 0 and 1, higher is better; empty masks follow the policy."""
        if policy.applies(prediction=self.prediction, reference=self.reference):
            return policy.value(prediction=self.prediction, reference=self.reference)
        return 2 * self.shared / (self.prediction + self.reference)

    def iou(self, policy: Policy = AGREEMENT) -> float | None:
        """IoU = |P∩G| / |P∪G| (Jaccard), between 0 and 1, higher is better; empty masks follow the policy."""
        if policy.applies(prediction=self.prediction, reference=self.reference):
            return policy.value(prediction=self.prediction, reference=self.reference)
        return self.shared / (self.prediction + self.reference - self.shared)


def count_voxels(*, prediction: NDArray[np.bool_], reference: NDArray[np.bool_]) -> VoxelCounts:
    """The counts of two masks of one shape."""
    return VoxelCounts(
        prediction=int(np.count_nonzero(prediction)),
        reference=int(np.count_nonzero(reference)),
        shared=int(np.count_nonzero(prediction & reference)),
    )


def dice(*, prediction: NDArray[np.bool_], reference: NDArray[np.bool_], policy: Policy = AGREEMENT) -> float | None:
    """DSC = 2|P∩G| / (|P| + |G|), between 0 and 1, higher is better. Source: MONAI's `compute_dice`.

    Empty masks follow the policy (default: both empty 1, one empty 0). The counts are whole numbers and the quotient is
    rounded once, which is what MONAI gives for float64 masks (a test compares them); torch is not needed.
    """
    return count_voxels(prediction=prediction, reference=reference).dice(policy)


def iou(*, prediction: NDArray[np.bool_], reference: NDArray[np.bool_], policy: Policy = AGREEMENT) -> float | None:
    """IoU = |P∩G| / |P∪G|, between 0 and 1, higher is better. Source: MONAI's `compute_iou`; otherwise as `dice`."""
    return count_voxels(prediction=prediction, reference=reference).iou(policy)
