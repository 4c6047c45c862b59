"""Pure functions on arrays, labels and strings; they know no challenge and no file."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
