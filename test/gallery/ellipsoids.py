"""Round things in small volumes: all that a synthetic organ needs."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def ellipsoid(shape: Sequence[int], centre: Sequence[float], radii: Sequence[float]) -> NDArray[np.bool_]:
    """The voxels within the ellipsoid; everything in voxels along z, y, x."""
    places = np.indices(tuple(shape), dtype=np.float64)
    squares = [((at - middle) / radius) ** 2 for at, middle, radius in zip(places, centre, radii, strict=True)]
    return np.asarray(sum(squares) <= 1)
