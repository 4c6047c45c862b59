"""Cropping a pair of masks to what they cover: everything a surface metric needs lies there."""

import numpy as np
from numpy.typing import NDArray


def crop_to_union(
    *, prediction: NDArray[np.bool_], reference: NDArray[np.bool_]
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Both masks, cut to the bounding box of their union (views, no copies); unchanged where both are empty.

    Beyond the box both masks are background, as they are beyond the image, so no boundary pixel is gained or lost.
    """
    union = prediction | reference
    box = []
    for axis in range(union.ndim):
        others = tuple(other for other in range(union.ndim) if other != axis)
        covered = np.flatnonzero(union.any(axis=others))
        if covered.size == 0:
            return prediction, reference
        box.append(slice(covered[0], covered[-1] + 1))
    return prediction[tuple(box)], reference[tuple(box)]
