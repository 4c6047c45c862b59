"""The rules of Dice and NSD as one would first write them: SciPy over the full image, nothing cropped or shared."""

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import binary_erosion, distance_transform_edt


def dice_and_nsd(
    *, prediction: NDArray[np.bool_], reference: NDArray[np.bool_], tolerance_px: float
) -> tuple[float, float]:
    """One erosion per mask, one Euclidean distance transform per boundary. Neither mask may be empty."""
    dice = 2 * np.count_nonzero(prediction & reference) / (np.count_nonzero(prediction) + np.count_nonzero(reference))
    edges = [mask ^ binary_erosion(mask) for mask in (prediction, reference)]
    to_prediction, to_reference = (distance_transform_edt(~edge) for edge in edges)
    near = np.count_nonzero(to_reference[edges[0]] <= tolerance_px) + np.count_nonzero(
        to_prediction[edges[1]] <= tolerance_px
    )
    return dice, near / sum(np.count_nonzero(edge) for edge in edges)
