"""Dice: how much of two masks is shared."""

import numpy as np
from numpy.typing import NDArray

from podium.metrics.policy import AGREEMENT, Policy


def dice(*, prediction: NDArray[np.bool_], reference: NDArray[np.bool_], policy: Policy = AGREEMENT) -> float | None:
    """DSC = 2|P∩G| / (|P| + |G|), between 0 and 1, higher is better. Source: MONAI's `compute_dice`.

    Empty masks follow the policy (default: both empty 1, one empty 0). MONAI divides in the dtype of a multi-channel
    reference, so the masks go in as float64: the counts are exact and the quotient is rounded once. Its single-channel
    path would give float32, off in the eighth digit.
    """
    sizes = {"prediction": int(prediction.any()), "reference": int(reference.any())}
    if policy.applies(**sizes):
        return policy.value(**sizes)
    import torch
    from monai.metrics.meandice import compute_dice

    def with_background_channel(mask: NDArray[np.bool_]) -> torch.Tensor:
        # The background channel is never looked at; repeating the mask there costs no memory.
        return torch.from_numpy(mask.astype(np.float64)).expand(1, 2, *mask.shape)

    values = compute_dice(
        y_pred=with_background_channel(prediction), y=with_background_channel(reference), include_background=False
    )
    return float(values)
