"""The box that a mask covers: everything a surface metric needs lies there."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Box = tuple[slice, ...]


def bounding_box(mask: NDArray[Any]) -> Box | None:
    """The smallest box that holds every non-zero voxel, None where there is none."""
    box: list[slice] = []
    rest = mask
    for axis in range(mask.ndim):
        # Each axis is cut before the next is looked at, so the later ones see less and less.
        covered = np.flatnonzero(rest.any(axis=tuple(other for other in range(mask.ndim) if other != axis)))
        if covered.size == 0:
            return None
        box.append(slice(int(covered[0]), int(covered[-1]) + 1))
        rest = mask[tuple(box)]
    return tuple(box)
