"""Random pairs of 2-D and 3-D masks and label images, with spacings."""

import numpy as np
from hypothesis import strategies as st
from metrics.masks import Mask, mask_pairs
from metrics.volumes import volume_pairs
from numpy.typing import NDArray

Labels = NDArray[np.int64]
SIZES = st.sampled_from([0.5, 0.7, 1.0, 1.25, 3.0])


@st.composite
def spaced_pairs(draw: st.DrawFn, *, empty: bool = False) -> tuple[Mask, Mask, tuple[float, ...]]:
    """(prediction, reference, spacing in mm), 2-D or 3-D; both masks have voxels unless `empty`."""
    pairs = st.one_of(mask_pairs(), volume_pairs().map(lambda pair: (pair[0] > 0, pair[1] > 0)))
    if not empty:
        pairs = pairs.filter(lambda pair: bool(pair[0].any() and pair[1].any()))
    prediction, reference = draw(pairs)
    return prediction, reference, draw(st.tuples(*[SIZES] * reference.ndim))


def worked_example() -> tuple[Mask, Mask]:
    """(prediction, reference) of the golden figures, 6x8x8 voxels of (2, 1, 1) mm, z first."""
    reference, prediction = np.zeros((2, 6, 8, 8), np.bool_)
    reference[1:5, 2:6, 2:6] = True
    prediction[1:5, 3:7, 2:6] = True
    return prediction, reference
